-- Keeps how far a post is on its way to its author's followers.
--
-- Keys:       post:<a>:<p>.
-- Arguments:  how many followers it has passed, and the place: score and id of the last of them; empty if these were all.
-- Returns:    1, or 0 if there is no such post, and nothing was done.
-- Slot rule:  one key.
-- Idempotent: yes. The time of the first end stands.
-- Cost:       O(1).

if redis.call('HEXISTS', KEYS[1], 'version') == 0 then return 0 end
redis.call('HSET', KEYS[1], 'passed', ARGV[1])
if ARGV[2] == '' then
  local time = redis.call('TIME')
  redis.call('HDEL', KEYS[1], 'place')
  redis.call('HSETNX', KEYS[1], 'delivered_at', string.format('%.0f', time[1] * 1000000 + time[2]))
else
  redis.call('HSET', KEYS[1], 'place', ARGV[2])
end
return 1
