-- Remembers that a user does not want somebody to be recommended.
--
-- Keys:       dismissed:<u>.
-- Arguments:  who was dismissed; how many dismissals are remembered.
-- Returns:    1.
-- Slot rule:  a single key.
-- Idempotent: yes. Again, it counts as the newest.
-- Cost:       O(log dismissals).

local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], string.format('%.0f', time[1] * 1000000 + time[2]), ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -tonumber(ARGV[2]) - 1)
return 1
