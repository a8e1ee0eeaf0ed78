-- Reads the format of a keyspace; creates it where there is none.
--
-- Keys:       format.
-- Arguments:  the format number, the number of partitions and the token key for a new keyspace.
-- Returns:    the format number, the number of partitions and the token key of the keyspace.
-- Slot rule:  one key.
-- Idempotent: yes. What is there is never changed.
-- Cost:       O(1).

if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'format', ARGV[1], 'partitions', ARGV[2], 'token_key', ARGV[3])
end
return redis.call('HMGET', KEYS[1], 'format', 'partitions', 'token_key')
