-- Commits the ends of several follows of one follower: BatchUnfollow. Each is what unfollow.lua commits, but the list is not
-- searched: the caller says since when it believes each edge to be there.
--
-- Keys:       log, pending, clock, following:<u>, following:<u>:parts, following:<u>:ids, left:<u>, feed:<u>, aside:<u>,
--             kept:<u>, kept_since:<u> of the follower u.
-- Arguments:  the highest version seen of this partition (0 if none), the follower u, for how many seconds `left` is kept; then for
--             each row the followee, each once, and since when they are followed in microseconds (0 if not at all).
-- Returns:    the version of the first end (they count up from there, in the order of the rows; 0 if there is none); for each row the
--             score of the removed edge (0 if there was none), or 'm' if there is one since another time, which stays, with
--             blanks in between; and 1 if the follower has an inbox or 0.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. Again, they are removals of nothing.
-- Cost:       O(rows log list), at most 64 rows. All checks and reads come before the first write, which is the log entry.

local seen, follower, kept = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local clock = tonumber(redis.call('GET', KEYS[3]) or '0')
local first = math.max(now, clock + 1, seen + 1)
local list = open_following(4)

local followees = {}
for argument = 4, #ARGV, 2 do followees[#followees + 1] = ARGV[argument] end
local heads = redis.call('ZMSCORE', list.head, unpack(followees))
local aside = redis.call('EXISTS', KEYS[9]) == 1 and redis.call('ZMSCORE', KEYS[9], unpack(followees)) or {}
local sealed = list.is_long and redis.call('SMISMEMBER', list.ids, unpack(followees)) or {}

local scores, log, ends = {}, {}, {}
local version = first
for row, followee in ipairs(followees) do
  local name, key, score = '', list.head, heads[row]
  local is_missed = false
  if not score and sealed[row] == 1 then
    local since = ARGV[2 * row + 3]
    name = part_at(list, since, followee)
    key = key_of_part(list, name)
    score = key and redis.call('ZSCORE', key, followee)
    is_missed = not score
  elseif not score and aside[row] then
    key, score = KEYS[9], aside[row]
  end
  scores[row] = is_missed and 'm' or score or '0'
  if not is_missed then
    ends[#ends + 1] = { name, key, followee, string.format('%.0f', version), score }
    log[#log + 1] = '-'
    log[#log + 1] = follower .. ' ' .. followee .. ' ' .. scores[row]
    version = version + 1
  end
end
if #needs > 1 then return needs end
local has_inbox = redis.call('EXISTS', KEYS[8])
if #ends == 0 then return { '0', table.concat(scores, ' '), has_inbox } end
local expired = redis.call('ZRANGE', KEYS[7], '-inf', now - kept * 1000000, 'BYSCORE', 'LIMIT', 0, 128)

local last = string.format('%.0f', version - 1)
redis.call('XADD', KEYS[1], last .. '-0', unpack(log))
redis.call('SET', KEYS[3], last)
redis.call('ZADD', KEYS[2], last, last)
if #expired > 0 then redis.call('ZREM', KEYS[7], unpack(expired)) end
local left, merging, ended_followees = {}, {}, {}
for at, row in ipairs(ends) do
  local name, key, followee, ended, score = unpack(row, 1, 5)
  if score then take_out(list, name, key, followee) end
  left[2 * at - 1], left[2 * at] = ended, followee
  merging[at], ended_followees[at] = 'm:' .. followee, followee
end
-- After all are taken out: without parts there would be nothing to count in.
for _, row in ipairs(ends) do drop_empty(list, row[1], row[2]) end
redis.call('ZADD', KEYS[7], unpack(left))
redis.call('EXPIRE', KEYS[7], kept)
if has_inbox == 1 then redis.call('HDEL', KEYS[8], unpack(merging)) end
for key = 10, 11 do redis.call('ZREM', KEYS[key], unpack(ended_followees)) end
return { string.format('%.0f', first), table.concat(scores, ' '), has_inbox }
