-- Finds the place of an entry in a list, whether or not the entry is there: how many entries come before it.
--
-- Keys:       a ZSET of user id -> microseconds.
-- Arguments:  the entry's score and member.
-- Returns:    the number of entries before it, oldest first (by score, then by the bytes of the member).
-- Slot rule:  one key.
-- Idempotent: reads only.
-- Cost:       O(log list * log ties): a binary search among the entries with the same score, at most 40 rows.

return count_before(KEYS[1], ARGV[1], ARGV[2])
