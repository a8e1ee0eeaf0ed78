-- Keeps how far the followers of an author are told how the author's posts reach them, and ends that.
--
-- Keys:       operations, delivery:<a>.
-- Arguments:  the author's name in `operations`, the version of the turn, and the place: score and id of the last follower who was told; empty if
--             these were all.
-- Returns:    1, or 0 if this turn is over, and nothing was done.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes.
-- Cost:       O(log operations).

local known = redis.call('HMGET', KEYS[2], 'version', 'mode')
if known[1] ~= ARGV[2] or known[2] ~= 'turning' and known[2] ~= 'returning' then
  redis.call('ZREM', KEYS[1], ARGV[1])
  return 0
end
if ARGV[3] ~= '' then
  redis.call('HSET', KEYS[2], 'place', ARGV[3])
  return 1
end
if known[2] == 'turning' then
  redis.call('HSET', KEYS[2], 'mode', 'pull')
  redis.call('HDEL', KEYS[2], 'place')
else
  redis.call('UNLINK', KEYS[2])
end
redis.call('ZREM', KEYS[1], ARGV[1])
return 1
