-- Trims the log of a partition to what may still be needed.
--
-- Keys:       log, pending, trimmed.
-- Arguments:  for how many microseconds a settled entry is kept, and how much greater than its version the score of a pending
--             one may be.
-- Returns:    how many entries were removed.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes.
-- Cost:       O(entries removed), about 1,000 at most, whole stream nodes only. Nothing that is pending is removed.
--
-- `trimmed` becomes the newest entry that is old enough to be removed, whether or not it was: what was removed is at or before it, and
-- it is of no use to remember less, for who has not read it yet is late.

local time = redis.call('TIME')
local oldest = time[1] * 1000000 + time[2] - tonumber(ARGV[1])
local pending = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2]
if pending then oldest = math.min(oldest, tonumber(pending) - tonumber(ARGV[2])) end
if oldest < 1 then return 0 end
oldest = string.format('%.0f-0', oldest)
local newest = redis.call('XREVRANGE', KEYS[1], '(' .. oldest, '-', 'COUNT', 1)[1]
if not newest then return 0 end
local version = newest[1]:match('^%d+')
local before = redis.call('GET', KEYS[3])

local removed = redis.call('XTRIM', KEYS[1], 'MINID', '~', oldest, 'LIMIT', 1000)
if removed > 0 and (not before or tonumber(before) < tonumber(version)) then redis.call('SET', KEYS[3], version) end
return removed
