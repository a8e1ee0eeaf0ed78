-- Tells how far a partition has come, and which changes up to a version may lack their other half. Posts are left out: others deliver
-- them.
--
-- Keys:       clock, pending, log.
-- Arguments:  the version; what a call before told to go on after (0 at first); the most entries (1 to 64).
-- Returns:    the last version given out; what to go on after ('' if these are all); then for each entry, oldest first, its version and its
--             log fields; no fields where the log no longer has it. An entry of many rows counts if one of them has the version.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(entries log pending). Stops once the entries read have 64 changes, so that it reads at most 127.

local MOST_ROWS = 64

local version, most = tonumber(ARGV[1]), tonumber(ARGV[3])
local told, changes = { redis.call('GET', KEYS[1]) or '0', '' }, 0
local up_to = string.format('%.0f', version + MOST_ROWS)
local pending = redis.call('ZRANGE', KEYS[2], '(' .. ARGV[2], up_to, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
for at = 1, #pending, 2 do
  if changes >= 64 then
    told[2] = pending[at - 1]
    return told
  end
  local id = pending[at]
  local entry = redis.call('XRANGE', KEYS[3], id .. '-0', id .. '-0')[1]
  local fields = entry and entry[2] or {}
  if fields[1] ~= 'p' and tonumber(id) - #fields / 2 < version then
    changes = changes + #fields / 2
    told[#told + 1] = { id, fields }
  end
end
if #pending == 2 * most then told[2] = pending[#pending] end
return told
