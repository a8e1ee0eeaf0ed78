-- Reads the oldest changes of a partition whose other half may not be applied yet.
--
-- Keys:       log, pending.
-- Arguments:  the least age in microseconds, the most entries (1 to 64).
-- Returns:    for each entry its version and its log fields; no fields where the log no longer has it.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(entries log pending). Stops once the entries read have 64 changes, so that it reads at most 127.

local time = redis.call('TIME')
local until_version = time[1] * 1000000 + time[2] - tonumber(ARGV[1])
local versions = redis.call('ZRANGE', KEYS[2], '-inf', string.format('%.0f', until_version), 'BYSCORE', 'LIMIT', 0, ARGV[2])
local due, changes = {}, 0
for _, version in ipairs(versions) do
  if changes >= 64 then break end
  local entry = redis.call('XRANGE', KEYS[1], version .. '-0', version .. '-0')[1]
  local fields = entry and entry[2] or {}
  changes = changes + #fields / 2
  due[#due + 1] = { version, fields }
end
return due
