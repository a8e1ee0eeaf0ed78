-- Tells of which authors, not followed any more, somebody keeps posts.
--
-- Keys:       kept:<u> and kept_since:<u> of the reader u.
-- Arguments:  none.
-- Returns:    for each in turn the author, and the first and the last time of what is kept.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(authors), at most 1,000.

local authors = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
if #authors == 0 then return authors end
local since = {}
local times = redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES')
for row = 1, #times, 2 do since[times[row]] = times[row + 1] end
local kept = {}
for row = 1, #authors, 2 do
  for _, fact in ipairs({ authors[row], since[authors[row]], authors[row + 1] }) do kept[#kept + 1] = fact end
end
return kept
