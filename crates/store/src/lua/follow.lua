-- Commits new follows of one partition: Follow, and batches of an import.
--
-- Keys:       log, pending, clock; then following:<u>, following:<u>:parts, following:<u>:ids, left:<u>, feed:<u>, state:<u>,
--             blocking:<u>, aside:<u> and, if follows an hour are limited, rate:<u> of each follower u.
-- Arguments:  the highest version seen of this partition (0 if none), the most anyone may follow, how many follows an hour anyone may
--             make (0: as many as they like), where the follows come from ('' if unknown); then for each follower, in the order of the
--             keys: u, the number n of its rows, and n times the followee and followed_at in microseconds (0 or in the future: now).
-- Returns:    the version of the first new follow (they count up from there, in the order of the rows; where nothing is
--             new, the partition's last version), one letter a row (c created, e existing, s superseded, l over the limit, u
--             the follower is not active, or the edge is put aside since the followee is not),
--             and a score a row (followed_at; 0 where there is none, or where an existing edge is in a segment), with blanks in
--             between.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. An edge that exists is returned unchanged and writes nothing.
-- Cost:       O(rows log list), at most 64 rows. All checks and reads come before the first write, which is the log entry.

local seen, most, per_hour, source = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local clock = tonumber(redis.call('GET', KEYS[3]) or '0')
local first = math.max(now, clock + 1, seen + 1)

local HOUR = 3600000000
local STEP = per_hour > 0 and 9 or 8
local any_is_long, any_has_left, any_has_feed = any_exists(5, STEP), any_exists(7, STEP), any_exists(8, STEP)
local any_has_state, any_blocks, any_has_aside = any_exists(9, STEP), any_exists(10, STEP), any_exists(11, STEP)

local letters, scores, log, writes = {}, {}, {}, {}
local version = first
local key, argument = 4, 5
while key < #KEYS do
  local follower, rows = ARGV[argument], tonumber(ARGV[argument + 1])
  argument = argument + 2
  local followees = {}
  for row = 1, rows do followees[row] = ARGV[argument + 2 * (row - 1)] end
  local list = open_following(key, any_is_long and nil)
  local is_active = not any_has_state or redis.call('HEXISTS', KEYS[key + 5], 'state') == 0
  local following = redis.call('ZMSCORE', list.head, unpack(followees))
  local sealed = list.is_long and redis.call('SMISMEMBER', list.ids, unpack(followees)) or {}
  local left = any_has_left and redis.call('ZMSCORE', KEYS[key + 3], unpack(followees)) or {}
  local blocked = any_blocks and redis.call('ZMSCORE', KEYS[key + 6], unpack(followees)) or {}
  local aside = any_has_aside and redis.call('ZMSCORE', KEYS[key + 7], unpack(followees)) or {}
  -- Each follow weighs on the follower for its part of an hour, one after the other; an hour's weight is the most.
  local rate = STEP == 9 and KEYS[key + 8]
  local weight_ends = rate and math.max(now, tonumber(redis.call('GET', rate) or '0')) or 0
  local count = length(list) + (any_has_aside and redis.call('ZCARD', KEYS[key + 7]) or 0)
  local added, returned, fresh = {}, {}, {}
  for row = 1, rows do
    local followee, at = followees[row], tonumber(ARGV[argument + 2 * row - 1])
    local letter, score = 'c', '0'
    if not is_active or aside[row] then
      letter = 'u'
    elseif blocked[row] then
      letter = 'b'
    elseif following[row] or fresh[followee] then
      letter, score = 'e', following[row] or fresh[followee]
    elseif sealed[row] == 1 then
      letter = 'e'
    elseif at > 0 and left[row] and at <= tonumber(left[row]) then
      letter = 's'
    elseif count >= most then
      letter = 'l'
    elseif rate and weight_ends + HOUR / per_hour > now + HOUR then
      letter, score = 'r', string.format('%.0f', math.ceil(weight_ends + HOUR / per_hour - now - HOUR))
    else
      -- Never above the version: a later re-follow must have the higher score.
      score = string.format('%.0f', at > 0 and math.min(at, version) or version)
      fresh[followee] = score
      count = count + 1
      version = version + 1
      if rate then weight_ends = weight_ends + HOUR / per_hour end
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
    writes[#writes + 1] = { list, added, returned, rate, weight_ends }
  end
  key = key + STEP
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
  local list, added, returned, rate, weight_ends = unpack(write)
  add_rows(list)
  if rate then
    weight_ends = string.format('%.0f', weight_ends)
    redis.call('SET', rate, weight_ends, 'PXAT', string.format('%.0f', weight_ends / 1000 + 1))
  end
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
