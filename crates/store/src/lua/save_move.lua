-- Keeps how far the moves of a user's follows are.
--
-- Keys:       state:<u>.
-- Arguments:  the version of the operation, where it is, how many edges it has done since it said so last, and 1 if all that the user follows
--             is done now, whether aside or not, or 0.
-- Returns:    1; or 0 if there is a newer operation; or 2 if follows of the user went from one list to the other since the walk over both
--             began, so that it has to begin anew.
-- Slot rule:  one key.
-- Idempotent: no: again, the edges count twice. That is only what is told of progress.
-- Cost:       O(1).

if redis.call('HGET', KEYS[1], 'version') ~= ARGV[1] or redis.call('HEXISTS', KEYS[1], 'done') == 1 then return 0 end
redis.call('HINCRBY', KEYS[1], 'moved', ARGV[3])
if ARGV[4] == '1' and redis.call('HDEL', KEYS[1], 'again') == 1 then
  redis.call('HDEL', KEYS[1], 'place')
  return 2
end
redis.call('HSET', KEYS[1], 'place', ARGV[2])
return 1
