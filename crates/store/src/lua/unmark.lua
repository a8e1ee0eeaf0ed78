-- Commits the end of a block, or of a mute.
--
-- Keys:       log, clock, and blocking:<u>; or log, clock, muting:<u> and mute_ends:<u>, of the user u.
-- Arguments:  the highest version seen of this partition (0 if none), the kind of the log entry, the user u, and whom they blocked or
--             muted.
-- Returns:    1 if there was one or 0, and the version (where nothing changed, the partition's last).
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. Again, it is the end of nothing.
-- Cost:       O(log marks).

local kind, user, other = ARGV[2], ARGV[3], ARGV[4]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local clock, seen = tonumber(redis.call('GET', KEYS[2]) or '0'), tonumber(ARGV[1])
local since = redis.call('ZSCORE', KEYS[3], other)
local ends = since and KEYS[4] and redis.call('ZSCORE', KEYS[4], other)
if not since or ends and tonumber(ends) <= now then return { 0, string.format('%.0f', math.max(clock, seen)) } end

local version = string.format('%.0f', math.max(now, clock + 1, seen + 1))
redis.call('XADD', KEYS[1], version .. '-0', kind, user .. ' ' .. other .. ' ' .. since)
redis.call('SET', KEYS[2], version)
redis.call('ZREM', KEYS[3], other)
if ends then redis.call('ZREM', KEYS[4], other) end
return { 1, version }
