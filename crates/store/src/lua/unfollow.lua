-- Commits the end of a follow. Ending what is not there is a change too: it supersedes older rows of an import, and removes
-- a half edge from the followee's list.
--
-- Keys:       log, pending, clock, following:<u>, following:<u>:parts, following:<u>:ids, left:<u>, feed:<u>, aside:<u>, kept:<u>,
--             kept_since:<u> of the follower u.
-- Arguments:  the highest version seen of this partition (0 if none), the follower u, the followee, for how many
--             seconds `left` is kept, 1 if the feed is to keep what the followee published while followed or 0, and of how many it may
--             keep that.
-- Returns:    the version, the score of the removed edge (0 if there was none), and 1 if the follower has an inbox or 0.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. Again, it is a removal of nothing.
-- Cost:       O(log list), at most 20 rows; for an edge in a segment a look into each segment, at most 800. All checks and reads come before the first write, which is the log entry.

local seen, follower, followee, kept = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4])
local keeps, most_kept = ARGV[5] == '1', tonumber(ARGV[6])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local clock = tonumber(redis.call('GET', KEYS[3]) or '0')
local version = string.format('%.0f', math.max(now, clock + 1, seen + 1))
local list = open_following(4)
local part, segment, score
if redis.call('ZSCORE', list.head, followee) or list.is_long and redis.call('SISMEMBER', list.ids, followee) == 1 then
  part, segment, score = search(list, followee, math.huge)
  if #needs > 1 then return needs end
else
  part, segment, score = '', KEYS[9], redis.call('ZSCORE', KEYS[9], followee)
end
score = score or '0'
-- Of a followee of whom something is kept, all was in the feed again while they were followed again.
local kept_since, let_go = redis.call('ZSCORE', KEYS[11], followee), {}
if keeps and not kept_since and redis.call('ZCARD', KEYS[10]) >= most_kept then
  let_go = redis.call('ZRANGE', KEYS[10], 0, 0)
end
if not kept_since or tonumber(kept_since) > tonumber(score) then kept_since = score end
local has_inbox = redis.call('EXISTS', KEYS[8])
local expired = redis.call('ZRANGE', KEYS[7], '-inf', now - kept * 1000000, 'BYSCORE', 'LIMIT', 0, 16)

redis.call('XADD', KEYS[1], version .. '-0', '-', follower .. ' ' .. followee .. ' ' .. score)
redis.call('SET', KEYS[3], version)
redis.call('ZADD', KEYS[2], version, version)
if score ~= '0' then
  take_out(list, part, segment, followee)
  drop_empty(list, part, segment)
end
if not keeps then
  redis.call('HDEL', KEYS[8], 'm:' .. followee)
  redis.call('ZREM', KEYS[10], followee)
  redis.call('ZREM', KEYS[11], followee)
elseif score ~= '0' then
  for _, former in ipairs(let_go) do
    redis.call('ZREM', KEYS[10], former)
    redis.call('ZREM', KEYS[11], former)
  end
  redis.call('ZADD', KEYS[10], version, followee)
  redis.call('ZADD', KEYS[11], kept_since, followee)
  -- The inbox may lack some of it.
  if has_inbox == 1 then redis.call('HSET', KEYS[8], 'm:' .. followee, 'k' .. kept_since .. ' ' .. version) end
end
if #expired > 0 then redis.call('ZREM', KEYS[7], unpack(expired)) end
redis.call('ZADD', KEYS[7], version, followee)
redis.call('EXPIRE', KEYS[7], kept)
return { version, score, has_inbox }
