-- Tells whom somebody mutes now.
--
-- Keys:       muting:<u> and mute_ends:<u> of the user u.
-- Arguments:  none.
-- Returns:    their ids.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(mutes), at most 5,000.

local muted = redis.call('ZRANGE', KEYS[1], 0, -1)
if #muted == 0 then return muted end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000000 + time[2])
local is_over = {}
for _, other in ipairs(redis.call('ZRANGE', KEYS[2], '-inf', now, 'BYSCORE')) do is_over[other] = true end
local left = {}
for _, other in ipairs(muted) do
  if not is_over[other] then left[#left + 1] = other end
end
return left
