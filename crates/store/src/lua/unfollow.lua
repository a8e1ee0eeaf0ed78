-- Commits the end of a follow. Ending what is not there is a change too: it supersedes older rows of an import, and removes
-- a half edge from the followee's list.
--
-- Keys:       log, pending, clock, following:<u>, left:<u>, feed:<u> of the follower u.
-- Arguments:  the highest version seen of this partition (0 if none), the follower u, the followee, and for how many
--             seconds `left` is kept.
-- Returns:    the version, the score of the removed edge (0 if there was none), and 1 if the follower has an inbox or 0.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. Again, it is a removal of nothing.
-- Cost:       O(log list), at most 18 rows. All checks and reads come before the first write, which is the log entry.

local seen, follower, followee, kept = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local clock = tonumber(redis.call('GET', KEYS[3]) or '0')
local version = string.format('%.0f', math.max(now, clock + 1, seen + 1))
local score = redis.call('ZSCORE', KEYS[4], followee) or '0'
local expired = redis.call('ZRANGE', KEYS[5], '-inf', now - kept * 1000000, 'BYSCORE', 'LIMIT', 0, 16)

redis.call('XADD', KEYS[1], version .. '-0', '-', follower .. ' ' .. followee .. ' ' .. score)
redis.call('SET', KEYS[3], version)
redis.call('ZADD', KEYS[2], version, version)
if score ~= '0' then redis.call('ZREM', KEYS[4], followee) end
redis.call('HDEL', KEYS[6], 'm:' .. followee)
if #expired > 0 then redis.call('ZREM', KEYS[5], unpack(expired)) end
redis.call('ZADD', KEYS[5], version, followee)
redis.call('EXPIRE', KEYS[5], kept)
return { version, score, redis.call('EXISTS', KEYS[6]) }
