-- Tells whom of some users somebody blocks and mutes.
--
-- Keys:       blocking:<u>, muting:<u> and mute_ends:<u> of the user u.
-- Arguments:  the users, 1 to 1,000.
-- Returns:    a text for each: since when they are blocked, since when they are muted, and until when, in microseconds or 0, with blanks in
--             between.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(users log marks).

local none = {}
local function scores(key) return redis.call('EXISTS', key) == 1 and redis.call('ZMSCORE', key, unpack(ARGV)) or none end
local blocked, muted, ends = scores(KEYS[1]), scores(KEYS[2]), scores(KEYS[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local marks = {}
for at = 1, #ARGV do
  local is_over = ends[at] and tonumber(ends[at]) <= now
  marks[at] = (blocked[at] or '0') .. ' ' .. (not is_over and muted[at] or '0') .. ' ' .. (not is_over and ends[at] or '0')
end
return marks
