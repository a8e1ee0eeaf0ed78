-- Writes down how far an import is, unless somebody else has taken it over.
--
-- Keys:       import:<id>.
-- Arguments:  who is at it; for how many seconds it is remembered; how many rows are written, a hash of them, the counts and the faults
--             of them.
-- Returns:    1, or 0 if somebody else has it; then nothing is written.
-- Slot rule:  the key carries the hash tag of the id's partition.
-- Idempotent: yes.
-- Cost:       O(1); at most some 10 KB of faults.

if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'rows', ARGV[3], 'content', ARGV[4], 'counts', ARGV[5], 'faults', ARGV[6])
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
