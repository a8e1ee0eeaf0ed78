-- Renews an instance's lease and tells which instances are running.
--
-- Keys:       instances.
-- Arguments:  the instance's name, for how many milliseconds the lease holds.
-- Returns:    the names of all instances whose lease holds, at most 1,000.
-- Slot rule:  one key.
-- Idempotent: yes.
-- Cost:       O(instances).

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[2])), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
return redis.call('ZRANGE', KEYS[1], 0, 999)
