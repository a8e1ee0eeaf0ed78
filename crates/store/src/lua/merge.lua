-- Merges entries of timelines into an inbox, and completes what they were read for.
--
-- Keys:       inbox:<u>, feed:<u>, following:<u> of the reader u.
-- Arguments:  the inbox's name, the most entries of an inbox, a place below which the entries are not complete (score, empty if
--             they are, and member), 1 if the inbox has all it needs now or 0; the number of authors that are now being merged, and
--             each with the score of its edge; the number of authors that are wholly merged, and each with the score of its
--             edge; then score and member of each entry.
-- Returns:    1, or 0 if the inbox has another name by now, and nothing was done.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes.
-- Cost:       O((entries + authors) log list + removed), at most 64 entries, 64 authors, and the inbox's cap of removed entries.

local inbox, feed, following = KEYS[1], KEYS[2], KEYS[3]
local name, cap, score, member, is_filled = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5] == '1'
local facts = redis.call('HMGET', feed, 'name', 'floor')
if facts[1] ~= name then return 0 end
local floor = facts[2]

local at = 6
local function authors()
  local first, last = at + 1, at + 2 * tonumber(ARGV[at])
  at = last + 1
  return first, last
end
local first_merging, last_merging = authors()
local first_merged, last_merged = authors()

local added = {}
for entry = at, #ARGV, 2 do
  if is_above_floor(floor, ARGV[entry], ARGV[entry + 1]) then
    added[#added + 1] = ARGV[entry]
    added[#added + 1] = ARGV[entry + 1]
  end
end
if #added > 0 then
  redis.call('ZADD', inbox, unpack(added))
  trim(inbox, feed, cap)
end

if score ~= '' and is_above_floor(redis.call('HGET', feed, 'floor'), score, member) then
  redis.call('HSET', feed, 'floor', score .. ' ' .. member)
  -- With what is at the place itself; the sentinel, of rank 0, stays.
  local beyond = count_before(inbox, score, member .. '\0') - 1
  if beyond > 0 then redis.call('ZREMRANGEBYRANK', inbox, 1, beyond) end
end
for author = first_merging, last_merging, 2 do
  local since = redis.call('ZSCORE', following, ARGV[author])
  if since and tonumber(since) == tonumber(ARGV[author + 1]) then
    redis.call('HSET', feed, 'm:' .. ARGV[author], ARGV[author + 1])
  end
end
for author = first_merged, last_merged, 2 do
  if redis.call('HGET', feed, 'm:' .. ARGV[author]) == ARGV[author + 1] then
    redis.call('HDEL', feed, 'm:' .. ARGV[author])
  end
end
if is_filled then redis.call('HDEL', feed, 'building') end
return 1
