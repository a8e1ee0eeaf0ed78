-- Removes what is left of a deleted user whose lists are empty.
--
-- Keys:       operations, state:<u>; following:<u>, followers:<u>, posts:<u>, following:<u>:parts, posts:<u>:parts, aside:<u> and hidden:<u> of the
--             user u; then every other key that the user may have in this partition.
-- Arguments:  the user u.
-- Returns:    1, or 0 if a list is not empty, and nothing was done.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. The time of the first end stands.
-- Cost:       O(keys).

for key = 3, 9 do
  if redis.call('EXISTS', KEYS[key]) == 1 then return 0 end
end
redis.call('UNLINK', unpack(KEYS, 10))
local time = redis.call('TIME')
redis.call('HSETNX', KEYS[2], 'done', string.format('%.0f', time[1] * 1000000 + time[2]))
redis.call('ZREM', KEYS[1], ARGV[1], 'turn:' .. ARGV[1])
return 1
