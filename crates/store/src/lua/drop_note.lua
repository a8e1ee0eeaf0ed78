-- Drops the note of a like that is not there.
--
-- Keys:       liked:<u>:<n> of the user u.
-- Arguments:  the post's member, and the time of the note that is meant; one that was made since stays.
-- Returns:    nothing.
-- Slot rule:  one key.
-- Idempotent: yes.
-- Cost:       O(log likes of the part).

local noted = redis.call('ZSCORE', KEYS[1], ARGV[1])
if noted and tonumber(noted) == tonumber(ARGV[2]) then redis.call('ZREM', KEYS[1], ARGV[1]) end
return redis.status_reply('OK')
