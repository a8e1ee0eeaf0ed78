-- Reads on in a list from a place, which need not be taken.
--
-- Keys:       the head of the list, and its parts.
-- Arguments:  'down' (newest first) or 'up' (oldest first); the place: score and member. Oldest first, what is at or above it is
--             read; newest first, what is below it. The most entries, at most 1,000; and a score beyond which nothing is wanted.
-- Returns:    members and scores in turn with blanks in between, one text for each part that was read. Fewer entries than asked for: there are no more within that
--             score.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(log list * log ties + entries), at most 1,000 entries.

local found = read_list(open_list(1), ARGV[1] == 'down', ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]))
if #needs > 1 then return needs end
for part, rows in ipairs(found) do found[part] = table.concat(rows, ' ') end
return found
