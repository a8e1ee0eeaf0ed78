-- Tells how far the log of a partition is, so that it can be read from there later on. See changes.lua.
--
-- Keys:       log, clock.
-- Arguments:  none.
-- Returns:    the last version given out, and how many entries the log ever got.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(1).

local added = log_figures(KEYS[1])
return { redis.call('GET', KEYS[2]) or '0', added }
