-- Reads on in the follows that are put aside, oldest first.
--
-- Keys:       aside:<u>.
-- Arguments:  the score and the member after which to go on ('0' and '' from the start), and the most entries.
-- Returns:    members and scores in turn, as ZRANGE gives them.
-- Slot rule:  one key.
-- Idempotent: reads only.
-- Cost:       O(log list + entries).

local first = count_before(KEYS[1], ARGV[1], ARGV[2] .. '\0')
return redis.call('ZRANGE', KEYS[1], first, first + tonumber(ARGV[3]) - 1, 'WITHSCORES')
