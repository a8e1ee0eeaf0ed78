-- Commits a mute, or another end of one.
--
-- Keys:       log, clock, muting:<u>, mute_ends:<u> and state:<u> of the muter u.
-- Arguments:  the highest version seen of this partition (0 if none), the muter u, who is muted, until when in microseconds (0: for good),
--             and how many anyone may mute.
-- Returns:    a letter (c created, e existing, l over the limit, p the end is not in the future, u the muter is not active), the version
--             (where nothing changed, the partition's last), and since when they are muted.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. Again, it gives the first time.
-- Cost:       O(log mutes), and 64 mutes that ended.

local muter, muted, ends = ARGV[2], ARGV[3], ARGV[4]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local clock, seen = tonumber(redis.call('GET', KEYS[2]) or '0'), tonumber(ARGV[1])
local last = string.format('%.0f', math.max(clock, seen))
if redis.call('HEXISTS', KEYS[5], 'state') == 1 then return { 'u', last, '0' } end
if ends ~= '0' and tonumber(ends) <= now then return { 'p', last, '0' } end
local since, until_now = redis.call('ZSCORE', KEYS[3], muted), redis.call('ZSCORE', KEYS[4], muted)
if until_now and tonumber(until_now) <= now then since = false end
if since and tonumber(until_now or '0') == tonumber(ends) then return { 'e', last, since } end
local ended = redis.call('ZRANGE', KEYS[4], '-inf', string.format('%.0f', now), 'BYSCORE', 'LIMIT', 0, 64)
local left = redis.call('ZCARD', KEYS[3]) - #ended
if not since and left >= tonumber(ARGV[5]) then return { 'l', last, '0' } end

local version = string.format('%.0f', math.max(now, clock + 1, seen + 1))
redis.call('XADD', KEYS[1], version .. '-0', 'm', muter .. ' ' .. muted .. ' ' .. (since or version) .. ' ' .. ends)
redis.call('SET', KEYS[2], version)
if #ended > 0 then
  redis.call('ZREM', KEYS[3], unpack(ended))
  redis.call('ZREM', KEYS[4], unpack(ended))
end
redis.call('ZADD', KEYS[3], since or version, muted)
if ends == '0' then redis.call('ZREM', KEYS[4], muted) else redis.call('ZADD', KEYS[4], ends, muted) end
return { since and 'e' or 'c', version, since or version }
