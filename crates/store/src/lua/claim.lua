-- Takes a piece of work that one instance at a time does, or keeps it.
--
-- Keys:       a string: who has the work.
-- Arguments:  the instance's name, for how many milliseconds it has the work.
-- Returns:    1, or 0 if somebody else has it.
-- Slot rule:  one key.
-- Idempotent: yes.
-- Cost:       O(1).

local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
