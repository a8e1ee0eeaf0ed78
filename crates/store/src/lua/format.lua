-- Reads the format of a keyspace; creates it where there is none, and raises an older one unless an instance is running that knows
-- only that one.
--
-- Keys:       format, instances.
-- Arguments:  the format number; the number of partitions and the token key for a new keyspace; the older format number.
-- Returns:    the format number, the number of partitions and the token key of the keyspace, and 1 if it is wholly of that format.
-- Slot rule:  every key carries the same hash tag.
-- Idempotent: yes. What is there is never changed, but for the format number.
-- Cost:       O(log instances).

local format = redis.call('HGET', KEYS[1], 'format')
if not format then
  redis.call('HSET', KEYS[1], 'format', ARGV[1], 'partitions', ARGV[2], 'token_key', ARGV[3], 'converted', '1')
elseif format == ARGV[4] and redis.call('HGET', KEYS[1], 'partitions') == ARGV[2] then
  local time = redis.call('TIME')
  local running = redis.call('ZCOUNT', KEYS[2], string.format('(%.0f', time[1] * 1000 + math.floor(time[2] / 1000)), '+inf')
  if running == 0 then redis.call('HSET', KEYS[1], 'format', ARGV[1], 'converted', '0') end
end
return redis.call('HMGET', KEYS[1], 'format', 'partitions', 'token_key', 'converted')
