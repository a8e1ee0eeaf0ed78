-- Reads an author's timeline, whether a reader is on the author's list of followers, and whether readers pull the author's posts: in one
-- look, so that every post is either read here, or pushed to that reader, or pulled.
--
-- Keys:       posts:<a>, posts:<a>:parts, followers:<a>, followers:<a>:parts, delivery:<a> of the author a.
-- Arguments:  the place to go on from, newest first: score (empty: from the newest) and member, which comes after what is read;
--             the most posts, at most 1,000; the reader (empty: nobody is asked about), and the score that the reader must
--             have on the list.
-- Returns:    1 if the reader is on the list with that score, 0 if not, or the id of the shard that tells; 1 if readers are to pull the posts, or
--             0; then members and scores in turn, newest first, for each part.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(log list * log ties + posts), at most 1,000 posts.

local score, member, limit, reader, since = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local is_listed, shard, mode = false, nil, nil
if reader ~= '' then
  local followers = open_list(3)
  local name = part_at(followers, since, reader)
  shard = shard_of(name)
  local key = not shard and key_of_part(followers, name)
  mode = redis.call('HGET', KEYS[5], 'mode')
  is_listed = key and tonumber(redis.call('ZSCORE', key, reader) or '0') == tonumber(since)
end
local read = read_list(open_list(1), true, score, member, limit, 0)
if #needs > 1 then return needs end
return { shard or is_listed and 1 or 0, (mode == 'turning' or mode == 'pull') and 1 or 0, read }
