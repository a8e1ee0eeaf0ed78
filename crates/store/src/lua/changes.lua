-- Reads on in the log of a partition from a place.
--
-- Keys:       log.
-- Arguments:  the place: a version, and how many entries the log had ever got at log_place.lua; and the most entries, at most 32.
-- Returns:    1 if the log no longer has all entries after log_place.lua, or 0; then for each entry, oldest first, its version and its
--             fields. Fewer than asked for: these are the last.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(log list + changes), at most 32 entries of up to 64 changes each.

local added, gone = log_figures(KEYS[1])
local told = { gone > tonumber(ARGV[2]) and 1 or 0 }
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '(' .. ARGV[1] .. '-0', '+', 'COUNT', ARGV[3])) do
  told[#told + 1] = { entry[1]:match('^%d+'), entry[2] }
end
return told
