-- Commits the end of follows that their followees' partitions do not take, or no longer. Unlike an unfollow it leaves nothing behind:
-- the follower may follow again, and rows of an import are not superseded, as far as the followee's partition lets them.
--
-- Keys:       log, pending, clock; then following:<u>, following:<u>:parts, following:<u>:ids, feed:<u> and aside:<u> of each follower u.
-- Arguments:  the highest version seen of this partition (0 if none); then for each follower, in the order of the keys: u, the number n
--             of its rows, and n times the followee and the score of the edge.
-- Returns:    the version of the first change (they count up from there, in the order of the rows; where nothing changed, the
--             partition's last version); one letter a row (r removed, n there is no such edge); and one a follower (y has an inbox,
--             n has none).
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. Again, there is no such edge. An edge of another score is another edge, and stays.
-- Cost:       O(rows log list), at most 64 rows. All checks and reads come before the first write, which is the log entry.

local seen = tonumber(ARGV[1])
local time = redis.call('TIME')
local clock = tonumber(redis.call('GET', KEYS[3]) or '0')
local first = math.max(time[1] * 1000000 + time[2], clock + 1, seen + 1)
local any_is_long = any_exists(5, 5)

local letters, inboxes, log, writes = {}, {}, {}, {}
local key, argument = 4, 2
while key < #KEYS do
  local follower, rows = ARGV[argument], tonumber(ARGV[argument + 1])
  local list, found = open_following(key, any_is_long and nil), {}
  for at = argument + 2, argument + 2 * rows, 2 do
    local followee, score = ARGV[at], ARGV[at + 1]
    local name = part_at(list, score, followee)
    local part = key_of_part(list, name)
    local since = part and redis.call('ZSCORE', part, followee)
    if not since then
      name, part, since = '', KEYS[key + 4], redis.call('ZSCORE', KEYS[key + 4], followee)
    end
    local is_there = since and tonumber(since) == tonumber(score)
    letters[#letters + 1] = is_there and 'r' or 'n'
    if is_there then
      found[#found + 1] = { name, part, followee }
      log[#log + 1] = '-'
      log[#log + 1] = follower .. ' ' .. followee .. ' ' .. score
    end
  end
  writes[#writes + 1] = { list, found }
  inboxes[#inboxes + 1] = redis.call('EXISTS', KEYS[key + 3]) == 1 and 'y' or 'n'
  key = key + 5
  argument = argument + 2 + 2 * rows
end
if #needs > 1 then return needs end
letters, inboxes = table.concat(letters), table.concat(inboxes)
if #log == 0 then return { string.format('%.0f', math.max(clock, seen)), letters, inboxes } end

local last = string.format('%.0f', first + #log / 2 - 1)
redis.call('XADD', KEYS[1], last .. '-0', unpack(log))
redis.call('SET', KEYS[3], last)
redis.call('ZADD', KEYS[2], last, last)
for _, write in ipairs(writes) do
  local list, found = unpack(write)
  for _, entry in ipairs(found) do
    take_out(list, unpack(entry))
    redis.call('HDEL', KEYS[list.index + 3], 'm:' .. entry[3])
  end
  for _, entry in ipairs(found) do drop_empty(list, entry[1], entry[2]) end
end
return { string.format('%.0f', first), letters, inboxes }
