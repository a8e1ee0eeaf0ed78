-- Ends the moves of a user's follows.
--
-- Keys:       operations, state:<u>; then the keys of the user's inbox.
-- Arguments:  the user u, the version of the operation, and for how many seconds it is remembered if the user is active.
-- Returns:    1; or 0 if there is a newer operation, and nothing was done.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes.
-- Cost:       O(keys).

if redis.call('HGET', KEYS[2], 'version') ~= ARGV[2] then return 0 end
if redis.call('HEXISTS', KEYS[2], 'done') == 1 then return 1 end
local time = redis.call('TIME')
redis.call('HSET', KEYS[2], 'done', string.format('%.0f', time[1] * 1000000 + time[2]))
redis.call('HDEL', KEYS[2], 'place', 'again')
redis.call('ZREM', KEYS[1], ARGV[1])
if redis.call('HEXISTS', KEYS[2], 'state') == 0 then
  redis.call('EXPIRE', KEYS[2], ARGV[3])
  -- Posts of the time in between were not delivered to it.
  redis.call('UNLINK', unpack(KEYS, 3))
end
return 1
