-- Takes an import over, from whoever was at it, and tells how far it is.
--
-- Keys:       import:<id>.
-- Arguments:  who takes it; and for how many seconds it is remembered.
-- Returns:    how many rows are written, a hash of them, the counts and the faults of them; nil each of an import that has not come to
--             a checkpoint.
-- Slot rule:  the key carries the hash tag of the id's partition.
-- Idempotent: yes.
-- Cost:       O(1); at most some 10 KB of faults.

local known = redis.call('HMGET', KEYS[1], 'rows', 'content', 'counts', 'faults')
redis.call('HSET', KEYS[1], 'owner', ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
return known
