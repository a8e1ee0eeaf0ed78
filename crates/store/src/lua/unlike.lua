-- Commits the end of a like.
--
-- Keys:       log, clock; then post:<a>:<p>, likes:<a>:<p> and the part likes:<a>:<p>:<n> of the user who liked the post p of the author a.
-- Arguments:  the highest version seen of this partition (0 if none), the user, the author, and the post id.
-- Returns:    a letter (r removed, n there was none); the version of the change, or the partition's last one if there was none; and how many
--             like the post.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. Again, there is none.
-- Cost:       O(1). All checks and reads come before the first write, which is the log entry.

local seen, user, author, post = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local clock = tonumber(redis.call('GET', KEYS[2]) or '0')
local facts = redis.call('HMGET', KEYS[3], 'version', 'likes')
local set
for key = 4, 5 do
  if facts[1] and redis.call('SISMEMBER', KEYS[key], user) == 1 then set = KEYS[key] end
end
if not set then return { 'n', string.format('%.0f', math.max(clock, seen)), tonumber(facts[2] or '0') } end
local time = redis.call('TIME')
local version = string.format('%.0f', math.max(time[1] * 1000000 + time[2], clock + 1, seen + 1))
redis.call('XADD', KEYS[1], version .. '-0', 'L', user .. ' ' .. author .. ' ' .. post)
redis.call('SET', KEYS[2], version)
redis.call('SREM', set, user)
return { 'r', version, redis.call('HINCRBY', KEYS[3], 'likes', -1) }
