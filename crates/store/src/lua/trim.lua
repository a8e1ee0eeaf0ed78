-- Trims the log of a partition to what may still be needed.
--
-- Keys:       log, pending.
-- Arguments:  for how many microseconds a settled entry is kept, and how much greater than its version the score of a pending
--             one may be.
-- Returns:    how many entries were removed.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes.
-- Cost:       O(entries removed), about 1,000 at most, whole stream nodes only. Nothing that is pending is removed.

local time = redis.call('TIME')
local oldest = time[1] * 1000000 + time[2] - tonumber(ARGV[1])
local pending = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2]
if pending then oldest = math.min(oldest, tonumber(pending) - tonumber(ARGV[2])) end
if oldest < 1 then return 0 end
return redis.call('XTRIM', KEYS[1], 'MINID', '~', string.format('%.0f-0', oldest), 'LIMIT', 1000)
