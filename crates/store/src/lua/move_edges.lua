-- Puts follows aside whose followees are not active any more, or brings them back. The followees' lists stay as they are.
--
-- Keys:       log, clock; then following:<u>, following:<u>:parts, following:<u>:ids, aside:<u>, aside:<u>:marks, state:<u> and feed:<u>
--             of each follower u.
-- Arguments:  the highest version seen of this partition (0 if none), for how many seconds marks are kept; then for each follower, in the
--             order of the keys: u, the number n of its rows, and n times 'h' (put aside) or 's' (bring back), the followee, the version of the
--             followee's state, and the score of the edge.
-- Returns:    the version of the last change (0 if there is none), and how many follows were moved.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes, and a move for an older state of the followee than one that was seen does nothing.
-- Cost:       O(rows log list), at most 64 rows; for an edge that is not where its score belongs a look into each segment, at most 800.
--             All checks and reads come before the first write, which is the log entry.

local seen, kept = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local clock = tonumber(redis.call('GET', KEYS[2]) or '0')
local first = math.max(now, clock + 1, seen + 1)

local STEP = 7
local any_is_long, any_has_aside, any_has_marks = any_exists(4, STEP), any_exists(6, STEP), any_exists(7, STEP)

-- Where a follow is in the list: the part, its key, and the score.
local function find(list, followee, score)
  local name = part_at(list, score, followee)
  local part = key_of_part(list, name)
  local since = part and redis.call('ZSCORE', part, followee)
  if since then return name, part, since end
  if follows_each(list, { followee })[1] then return search(list, followee, math.huge) end
end

local log, writes = {}, {}
local key, argument = 3, 3
while key < #KEYS do
  local follower, rows = ARGV[argument], tonumber(ARGV[argument + 1])
  local list = open_following(key, any_is_long and nil)
  local put, brought, marks = {}, {}, {}
  for at = argument + 2, argument + 1 + 4 * rows, 4 do
    local kind, followee, version, score = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
    local mark = any_has_marks and redis.call('ZSCORE', KEYS[key + 4], followee)
    if not mark or tonumber(mark) <= tonumber(version) then
      marks[#marks + 1] = version
      marks[#marks + 1] = followee
      if kind == 'h' then
        local name, part, since = find(list, followee, score)
        if since then put[#put + 1] = { name, part, followee, since } end
        score = since
      else
        score = any_has_aside and redis.call('ZSCORE', KEYS[key + 3], followee)
        if score then brought[#brought + 1] = { score, followee } end
      end
      if score then
        log[#log + 1] = kind
        log[#log + 1] = follower .. ' ' .. followee .. ' ' .. score
      end
    end
  end
  if not list.is_long then list.head_entries = redis.call('ZCARD', list.head) end
  plan_rows(list, brought)
  writes[#writes + 1] = { list, put, brought, marks }
  key = key + STEP
  argument = argument + 2 + 4 * rows
end
if #needs > 1 then return needs end

local last = string.format('%.0f', first + #log / 2 - 1)
if #log > 0 then
  redis.call('XADD', KEYS[1], last .. '-0', unpack(log))
  redis.call('SET', KEYS[2], last)
end

-- The feed takes the posts of those who are back from their timelines until they are merged into it.
local function tell_feed(feed, put, brought)
  if #put + #brought == 0 or redis.call('EXISTS', feed) == 0 then return end
  for _, entry in ipairs(put) do redis.call('HDEL', feed, 'm:' .. entry[3]) end
  for _, row in ipairs(brought) do redis.call('HSET', feed, 'm:' .. row[2], row[1]) end
end

for _, write in ipairs(writes) do
  local list, put, brought, marks = unpack(write)
  local aside, known, state = KEYS[list.index + 3], KEYS[list.index + 4], KEYS[list.index + 5]
  for _, entry in ipairs(put) do
    take_out(list, entry[1], entry[2], entry[3])
    redis.call('ZADD', aside, entry[4], entry[3])
  end
  add_rows(list)
  for _, row in ipairs(brought) do redis.call('ZREM', aside, row[2]) end
  for _, entry in ipairs(put) do drop_empty(list, entry[1], entry[2]) end
  if #marks > 0 then
    local expired = redis.call('ZRANGE', known, '-inf', now - kept * 1000000, 'BYSCORE', 'LIMIT', 0, 8 * #marks)
    if #expired > 0 then redis.call('ZREM', known, unpack(expired)) end
    redis.call('ZADD', known, 'GT', unpack(marks))
    redis.call('EXPIRE', known, kept)
  end
  tell_feed(KEYS[list.index + 6], put, brought)
  -- An operation about the follower walks over both lists, and may have missed what went from one to the other.
  if #put + #brought > 0 and redis.call('HEXISTS', state, 'moved') == 1 and redis.call('HEXISTS', state, 'done') == 0 then
    redis.call('HSET', state, 'again', 1)
  end
end
return { #log > 0 and last or '0', #log / 2 }
