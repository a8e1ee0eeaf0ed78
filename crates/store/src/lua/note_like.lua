-- Notes that a user is about to like a post, or does, so that the like is found when the user is deleted.
--
-- Keys:       liked:<u>:<n>, state:<u> and blocking:<u> of the user u.
-- Arguments:  the post's member, its author, and 1 if the like is committed or 0. A like that is about to be gets a new note, a committed one
--             keeps what it has.
-- Returns:    a letter: n there is a new note, k there was one, u the user is not active, or deleted if the like is committed, b the user blocks
--             the author.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes. Each note has a time of its own.
-- Cost:       O(log likes of the part).

local is_committed = ARGV[3] == '1'
local state = redis.call('HGET', KEYS[2], 'state')
if state and (state == 'deleted' or not is_committed) then return 'u' end
if is_committed then
  if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 'k' end
elseif redis.call('ZSCORE', KEYS[3], ARGV[2]) then
  return 'b'
end
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], string.format('%.0f', time[1] * 1000000 + time[2]), ARGV[1])
return 'n'
