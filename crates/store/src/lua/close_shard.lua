-- Removes a shard of a user who was deleted, and what a move may have left in it. For a while the shard is remembered as closed, so that
-- no change or copy that is still on its way brings it back.
--
-- Keys:       the shard's head, its parts, its facts, and its removals.
-- Arguments:  for how many seconds it is remembered.
-- Returns:    1 if there is more to remove, or 0.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes.
-- Cost:       O(log list), at most 64 segments.

local MOST = 64

local list, facts, segments = open_list(1), KEYS[3], {}
local names = list.is_long and redis.call('ZRANGE', list.parts, 1, MOST) or {}
for at, name in ipairs(names) do segments[at] = key_of_part(list, name) end
if #needs > 1 then return needs end

redis.call('HSET', facts, 'closed', 1)
redis.call('EXPIRE', facts, ARGV[1])
if #names > 0 then
  redis.call('UNLINK', unpack(segments))
  redis.call('ZREM', list.parts, unpack(names))
end
if #names == MOST then return 1 end
redis.call('UNLINK', list.head, list.parts, KEYS[4])
return 0
