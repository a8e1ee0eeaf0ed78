-- Commits what a partition has of edges as new changes, so that the followees' lists are made to follow it: an edge that is there once
-- more as there, and one that is not as removed. The followers' lists stay as they are.
--
-- Keys:       log, pending, clock; then following:<u> and following:<u>:parts of each follower u.
-- Arguments:  the highest version seen of this partition (0 if none); then for each follower, in the order of the keys: u, the number n
--             of its rows, and n times the followee and a score.
-- Returns:    the version of the first change (they count up from there, in the order of the rows), and one letter a row: '+' if the edge is
--             there with exactly that score, or '-'.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. Again, it is the same with higher versions.
-- Cost:       O(rows log list), at most 64 rows. All checks and reads come before the first write, which is the log entry.

local seen = tonumber(ARGV[1])
local time = redis.call('TIME')
local clock = tonumber(redis.call('GET', KEYS[3]) or '0')
local first = math.max(time[1] * 1000000 + time[2], clock + 1, seen + 1)
local any_is_long = any_exists(5, 2)

local letters, log = {}, {}
local key, argument = 4, 2
while key < #KEYS do
  local follower, rows = ARGV[argument], tonumber(ARGV[argument + 1])
  local list = open_list(key, any_is_long and nil)
  for at = argument + 2, argument + 2 * rows, 2 do
    local followee, score = ARGV[at], ARGV[at + 1]
    local part = key_of_part(list, part_at(list, score, followee))
    local since = part and redis.call('ZSCORE', part, followee)
    local letter = since and tonumber(since) == tonumber(score) and '+' or '-'
    letters[#letters + 1] = letter
    log[#log + 1] = letter
    log[#log + 1] = follower .. ' ' .. followee .. ' ' .. score
  end
  key = key + 2
  argument = argument + 2 + 2 * rows
end
if #needs > 1 then return needs end

local last = string.format('%.0f', first + #letters - 1)
redis.call('XADD', KEYS[1], last .. '-0', unpack(log))
redis.call('SET', KEYS[3], last)
redis.call('ZADD', KEYS[2], last, last)
return { string.format('%.0f', first), table.concat(letters) }
