-- Tells which of some users follow a user, by the lists of those users, and since when.
--
-- Keys:       following:<u> and following:<u>:ids of each user u, at most 64.
-- Arguments:  the user whom they may follow.
-- Returns:    for each the score of the edge, or 'm' if it is in a segment, or nil if there is none.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(users).

local told, followee = {}, ARGV[1]
for key = 1, #KEYS, 2 do
  local score = redis.call('ZSCORE', KEYS[key], followee)
  told[#told + 1] = score or redis.call('SISMEMBER', KEYS[key + 1], followee) == 1 and 'm'
end
return told
