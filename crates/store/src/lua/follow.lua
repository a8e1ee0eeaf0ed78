-- Commits new follows of one partition: Follow, and batches of an import.
--
-- Keys:       log, pending, clock; then following:<u>, following:<u>:parts, following:<u>:ids, left:<u>, feed:<u> and state:<u> of
--             each follower u.
-- Arguments:  the highest version seen of this partition (0 if none), the most anyone may follow, where the follows come
--             from ('' if unknown); then for each follower, in the order of the keys: u, the number n of its rows, and n times
--             the followee and followed_at in microseconds (0 or in the future: now).
-- Returns:    the version of the first new follow (they count up from there, in the order of the rows; where nothing is
--             new, the partition's last version), one letter a row (c created, e existing, s superseded, l over the limit, u
--             the follower is not active),
--             and a score a row (followed_at; 0 where there is none, or where an existing edge is in a segment), with blanks in
--             between.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. An edge that exists is returned unchanged and writes nothing.
-- Cost:       O(rows log list), at most 64 rows. All checks and reads come before the first write, which is the log entry.

local seen, most, source = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local time = redis.call('TIME')
local clock = tonumber(redis.call('GET', KEYS[3]) or '0')
local first = math.max(time[1] * 1000000 + time[2], clock + 1, seen + 1)

local any_is_long, any_has_left, any_has_feed = any_exists(5, 6), any_exists(7, 6), any_exists(8, 6)
local any_has_state = any_exists(9, 6)

local letters, scores, log, writes = {}, {}, {}, {}
local version = first
local key, argument = 4, 4
while key < #KEYS do
  local follower, rows = ARGV[argument], tonumber(ARGV[argument + 1])
  argument = argument + 2
  local followees = {}
  for row = 1, rows do followees[row] = ARGV[argument + 2 * (row - 1)] end
  local list = open_following(key, any_is_long and nil)
  local is_active = not any_has_state or redis.call('EXISTS', KEYS[key + 5]) == 0
  local following = redis.call('ZMSCORE', list.head, unpack(followees))
  local sealed = list.is_long and redis.call('SMISMEMBER', list.ids, unpack(followees)) or {}
  local left = any_has_left and redis.call('ZMSCORE', KEYS[key + 3], unpack(followees)) or {}
  local count = length(list)
  local added, returned, fresh = {}, {}, {}
  for row = 1, rows do
    local followee, at = followees[row], tonumber(ARGV[argument + 2 * row - 1])
    local letter, score = 'c', '0'
    if not is_active then
      letter = 'u'
    elseif following[row] or fresh[followee] then
      letter, score = 'e', following[row] or fresh[followee]
    elseif sealed[row] == 1 then
      letter = 'e'
    elseif at > 0 and left[row] and at <= tonumber(left[row]) then
      letter = 's'
    elseif count >= most then
      letter = 'l'
    else
      -- Never above the version: a later re-follow must have the higher score.
      score = string.format('%.0f', at > 0 and math.min(at, version) or version)
      fresh[followee] = score
      count = count + 1
      version = version + 1
      added[#added + 1] = { score, followee }
      if left[row] then returned[#returned + 1] = followee end
      log[#log + 1] = '+'
      log[#log + 1] = follower .. ' ' .. followee .. ' ' .. score .. (source ~= '' and ' ' .. source or '')
    end
    letters[#letters + 1] = letter
    scores[#scores + 1] = score
  end
  if #added > 0 then
    plan_rows(list, added)
    writes[#writes + 1] = { list, added, returned }
  end
  key = key + 6
  argument = argument + 2 * rows
end
if #needs > 1 then return needs end
if #writes == 0 then
  return { string.format('%.0f', math.max(clock, seen)), table.concat(letters), table.concat(scores, ' ') }
end

local last = string.format('%.0f', version - 1)
redis.call('XADD', KEYS[1], last .. '-0', unpack(log))
redis.call('SET', KEYS[3], last)
redis.call('ZADD', KEYS[2], last, last)
for _, write in ipairs(writes) do
  local list, added, returned = unpack(write)
  add_rows(list)
  if #returned > 0 then redis.call('ZREM', KEYS[list.index + 3], unpack(returned)) end
  if any_has_feed and redis.call('EXISTS', KEYS[list.index + 4]) == 1 then
    -- The followees' posts are not in the inbox yet: scrolls fetch them until they are merged.
    local merging = {}
    for _, row in ipairs(added) do
      merging[#merging + 1] = 'm:' .. row[2]
      merging[#merging + 1] = row[1]
    end
    redis.call('HSET', KEYS[list.index + 4], unpack(merging))
  end
end
return { string.format('%.0f', first), table.concat(letters), table.concat(scores, ' ') }
