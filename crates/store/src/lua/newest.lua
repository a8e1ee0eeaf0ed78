-- Gives how long a list is, and who is newest on it, as far as they are at hand.
--
-- Keys:       the head of the list, and its parts.
-- Arguments:  the most users.
-- Returns:    the number of entries, and users, newest first: fewer than asked for where more lie in segments.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(users), at most 128.

return { length(open_list(1)), redis.call('ZRANGE', KEYS[1], 0, tonumber(ARGV[1]) - 1, 'REV') }
