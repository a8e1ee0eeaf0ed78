-- Tells whether a list has an entry.
--
-- Keys:       the head of the list, and its parts.
-- Arguments:  the score and the member.
-- Returns:    1 or 0.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(log list).

local list = open_list(1)
local key = key_of_part(list, part_at(list, ARGV[1], ARGV[2]))
if #needs > 1 then return needs end
return tonumber(redis.call('ZSCORE', key, ARGV[2]) or '0') == tonumber(ARGV[1]) and 1 or 0
