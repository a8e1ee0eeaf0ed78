-- Reads the log of a partition after a position, and tells whether something is missing there.
--
-- Keys:       log, trimmed.
-- Arguments:  the version of the last entry that was read (0: none), and the most entries (1 to 16).
-- Returns:    0 if entries after the position may have been trimmed, else 1; then each entry: its id and its fields.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(entries log list). An entry has at most 64 changes, so that it reads at most 1,024.

local position, most = ARGV[1], ARGV[2]
local trimmed = redis.call('GET', KEYS[2])
if trimmed and tonumber(position) < tonumber(trimmed) then
  -- A log is trimmed from its beginning: nothing after an entry that is there is missing.
  local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
  if not first or tonumber(first[1]:match('^%d+')) > tonumber(position) then return { 0 } end
end
local answer = redis.call('XRANGE', KEYS[1], '(' .. position .. '-0', '+', 'COUNT', most)
table.insert(answer, 1, 1)
return answer
