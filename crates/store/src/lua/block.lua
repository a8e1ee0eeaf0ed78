-- Commits a block, and the end of the follow of who is blocked.
--
-- Keys:       log, pending, clock, following:<u>, following:<u>:parts, following:<u>:ids, left:<u>, feed:<u>, aside:<u>, blocking:<u>
--             and state:<u> of the blocker u.
-- Arguments:  the highest version seen of this partition (0 if none), the blocker u, who is blocked, for how many seconds `left` is
--             kept, and how many anyone may block.
-- Returns:    a letter (c created, e existing, l over the limit, u the blocker is not active), the version (where nothing is new, the
--             partition's last), since when they are blocked, the score of the follow that ended (0 if there was none), and 1 if the
--             blocker has an inbox or 0.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. Again, it gives the first time.
-- Cost:       O(log list), at most 3 rows; for an edge in a segment a look into each segment, at most 800. All checks and reads come before
--             the first write, which is the log entry.

local seen, blocker, blocked, kept, most = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local time = redis.call('TIME')
local clock = tonumber(redis.call('GET', KEYS[3]) or '0')
local last = string.format('%.0f', math.max(clock, seen))
local since = redis.call('ZSCORE', KEYS[10], blocked)
if since then return { 'e', last, since, '0', 0 } end
if redis.call('HEXISTS', KEYS[11], 'state') == 1 then return { 'u', last, '0', '0', 0 } end
if redis.call('ZCARD', KEYS[10]) >= most then return { 'l', last, '0', '0', 0 } end

local list = open_following(4)
local part, segment, score
if follows_each(list, { blocked })[1] then
  part, segment, score = search(list, blocked, math.huge)
  if #needs > 1 then return needs end
else
  score = redis.call('ZSCORE', KEYS[9], blocked)
  if score then part, segment = '', KEYS[9] end
end
local first = math.max(time[1] * 1000000 + time[2], clock + 1, seen + 1)
local version = string.format('%.0f', part and first + 1 or first)
local log = { 'b', blocker .. ' ' .. blocked .. ' ' .. version }
if part then log = { '-', blocker .. ' ' .. blocked .. ' ' .. score, unpack(log) } end

redis.call('XADD', KEYS[1], version .. '-0', unpack(log))
redis.call('SET', KEYS[3], version)
redis.call('ZADD', KEYS[2], version, version)
if part then
  take_out(list, part, segment, blocked)
  drop_empty(list, part, segment)
  redis.call('HDEL', KEYS[8], 'm:' .. blocked)
  redis.call('ZADD', KEYS[7], string.format('%.0f', first), blocked)
  redis.call('EXPIRE', KEYS[7], kept)
end
redis.call('ZADD', KEYS[10], version, blocked)
return { 'c', version, version, score or '0', redis.call('EXISTS', KEYS[8]) }
