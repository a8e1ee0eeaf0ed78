-- Commits a like.
--
-- Keys:       log, clock; then post:<a>:<p>, likes:<a>:<p>, the part likes:<a>:<p>:<n> of the user who likes, state:<a> and blocking:<a> of
--             the author a.
-- Arguments:  the highest version seen of this partition (0 if none), the user who likes, the author, the post id, and how many the first set takes.
-- Returns:    a letter (c created, e it was there, n there is no such post, u the author is not active, b the author blocks the user); the version of
--             the change, or the partition's last one if there was none; and how many like the post.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. Again, it was there.
-- Cost:       O(log blocks). All checks and reads come before the first write, which is the log entry.

local seen, user, author, post, room = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local clock = tonumber(redis.call('GET', KEYS[2]) or '0')
local last = string.format('%.0f', math.max(clock, seen))
if redis.call('HEXISTS', KEYS[6], 'state') == 1 then return { 'u', last, 0 } end
if redis.call('ZSCORE', KEYS[7], user) then return { 'b', last, 0 } end
local facts = redis.call('HMGET', KEYS[3], 'version', 'likes')
if not facts[1] then return { 'n', last, 0 } end
if redis.call('SISMEMBER', KEYS[4], user) == 1 or redis.call('SISMEMBER', KEYS[5], user) == 1 then
  return { 'e', last, tonumber(facts[2]) }
end
local is_full = redis.call('SCARD', KEYS[4]) >= room
local time = redis.call('TIME')
local version = string.format('%.0f', math.max(time[1] * 1000000 + time[2], clock + 1, seen + 1))
redis.call('XADD', KEYS[1], version .. '-0', 'l', user .. ' ' .. author .. ' ' .. post)
redis.call('SET', KEYS[2], version)
redis.call('SADD', is_full and KEYS[5] or KEYS[4], user)
if is_full then redis.call('HSET', KEYS[3], 'like_parts', 1) end
return { 'c', version, redis.call('HINCRBY', KEYS[3], 'likes', 1) }
