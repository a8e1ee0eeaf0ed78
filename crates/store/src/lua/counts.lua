-- Counts the entries of lists.
--
-- Keys:       the head of each list, and its parts.
-- Arguments:  none.
-- Returns:    the number of entries of each list.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(lists).

local counts = {}
for key = 1, #KEYS, 2 do counts[#counts + 1] = length(open_list(key)) end
return counts
