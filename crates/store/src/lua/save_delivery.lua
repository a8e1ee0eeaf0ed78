-- Keeps how far a post is on its way to its author's followers. At the end it is not pending any more.
--
-- Keys:       pending, post:<a>:<p>.
-- Arguments:  the version of the post's commit, how many followers it has passed, and the place: score and id of the last of them; empty
--             if these were all.
-- Returns:    1, or 0 if there is no such post, and nothing was kept.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. The time of the first end stands.
-- Cost:       O(log pending).

local is_done = ARGV[3] == ''
if is_done then redis.call('ZREM', KEYS[1], ARGV[1]) end
if redis.call('HEXISTS', KEYS[2], 'version') == 0 then return 0 end
redis.call('HSET', KEYS[2], 'passed', ARGV[2])
if is_done then
  local time = redis.call('TIME')
  redis.call('HDEL', KEYS[2], 'place')
  redis.call('HSETNX', KEYS[2], 'delivered_at', string.format('%.0f', time[1] * 1000000 + time[2]))
else
  redis.call('HSET', KEYS[2], 'place', ARGV[3])
end
return 1
