-- Finds the place of an entry in a list, whether or not the entry is there: how many entries come before it.
--
-- Keys:       a ZSET of user id -> microseconds.
-- Arguments:  the entry's score and member.
-- Returns:    the number of entries before it, oldest first (by score, then by the bytes of the member).
-- Slot rule:  one key.
-- Idempotent: reads only.
-- Cost:       O(log list * log ties): a binary search among the entries with the same score, at most 40 rows.

local key, score, member = KEYS[1], ARGV[1], ARGV[2]
local low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
local high = low + redis.call('ZCOUNT', key, score, score)
while low < high do
  local middle = math.floor((low + high) / 2)
  if redis.call('ZRANGE', key, middle, middle)[1] < member then low = middle + 1 else high = middle end
end
return low
