-- Reads an author's timeline, and whether a reader is on the author's list of followers: in one look, so that every post is
-- either read here or pushed to that reader.
--
-- Keys:       posts:<a>, followers:<a> of the author a.
-- Arguments:  the place to go on from, newest first: score (empty: from the newest) and member, which comes after what is read;
--             the most posts, at most 1,000; the reader (empty: nobody is asked about), and the score that the reader must
--             have on the list.
-- Returns:    1 if the reader is on the list with that score, or 0; then members and scores in turn, newest first.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(log list * log ties + posts), at most 1,000 posts.

local posts, followers = KEYS[1], KEYS[2]
local score, member, limit, reader, since = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local listed = reader ~= '' and tonumber(redis.call('ZSCORE', followers, reader) or '0') == tonumber(since)
local read
if score == '' then
  read = redis.call('ZRANGE', posts, 0, limit - 1, 'REV', 'WITHSCORES')
else
  local skipped = redis.call('ZCARD', posts) - count_before(posts, score, member)
  read = redis.call('ZRANGE', posts, skipped, skipped + limit - 1, 'REV', 'WITHSCORES')
end
return { listed and 1 or 0, read }
