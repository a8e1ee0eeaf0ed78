-- Reads on in a list from a place, which need not be taken.
--
-- Keys:       the head of the list, and its parts.
-- Arguments:  'down' (newest first) or 'up' (oldest first); the place: score and member. Oldest first, what is at or above it is
--             read; newest first, what is below it. The most entries, at most 1,000; a score beyond which nothing is wanted; the id
--             of a segment after which nothing is wanted ('' if there is none); and 'members', or '' for scores as well.
-- Returns:    members and scores in turn, or members, with blanks in between, one text for each part that was read. Fewer entries than asked for: there
--             are no more within that score. Or the list goes on in a shard, which the last element tells then: its id; member and
--             score of its bound; and the same of the bound of the shard before, if there is one.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(log list * log ties + entries), at most 1,000 entries.

local list = open_list(1)
local found, shard = read_list(
  list, ARGV[1] == 'down', ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], ARGV[7] == 'members'
)
if #needs > 1 then return needs end
for part, rows in ipairs(found) do found[part] = table.concat(rows, ' ') end
if shard then
  local bounds = redis.call('ZRANGE', list.parts, math.max(1, shard - 1), shard, 'WITHSCORES')
  local at, is_first = #bounds - 1, #bounds == 2
  local told = { shard_of(bounds[at]), bounds[at]:match('^[^ ]+'), bounds[at + 1] }
  if not is_first then told[4], told[5] = bounds[1]:match('^[^ ]+'), bounds[2] end
  found[#found + 1] = told
end
return found
