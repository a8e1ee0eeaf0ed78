-- Reads on in whom somebody blocks or mutes, newest first. Mutes that ended are left out.
--
-- Keys:       blocking:<u>; or muting:<u> and mute_ends:<u>, of the user u.
-- Arguments:  the place to go on from: score (empty: from the newest) and member, which comes after what is read; the most entries, at
--             most 1,000.
-- Returns:    the number of entries looked at; for each that still holds: member, score, and until when in microseconds (0: for good).
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(log marks * log ties + entries).

local score, member, most = ARGV[1], ARGV[2], tonumber(ARGV[3])
local skipped = score == '' and 0 or redis.call('ZCARD', KEYS[1]) - count_before(KEYS[1], score, member)
local rows = redis.call('ZRANGE', KEYS[1], skipped, skipped + most - 1, 'REV', 'WITHSCORES')
local members = {}
for row = 1, #rows, 2 do members[#members + 1] = rows[row] end
local ends = KEYS[2] and #members > 0 and redis.call('ZMSCORE', KEYS[2], unpack(members)) or {}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local found = {}
for at, other in ipairs(members) do
  if not ends[at] or tonumber(ends[at]) > now then
    found[#found + 1] = other
    found[#found + 1] = rows[2 * at]
    found[#found + 1] = ends[at] or '0'
  end
end
return { #members, rows[#rows - 1] or '', rows[#rows] or '0', found }
