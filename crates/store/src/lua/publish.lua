-- Commits a post, and brings it to its author's own inbox.
--
-- Keys:       log, pending, clock, posts:<a>, post:<a>:<p>, followers:<a>, inbox:<a>, feed:<a> of the author a; and if the
--             request has an id, request:<a>:<id>.
-- Arguments:  the highest version seen of this partition (0 if none), the author, the post id, its member in the timeline and in
--             inboxes, published_at in microseconds (0: now), how far in the future that may be, a fingerprint of the content and
--             attributes, the most entries of an inbox, for how many seconds a request id is kept, after how many
--             microseconds the relay takes the fan-out over; then the fields of the post and their values.
-- Returns:    a letter (c created, e the same post exists, r the request id was used for another content, p the post id was,
--             f published_at is too far in the future), the version, published_at, the number of followers, the post id.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. A post that exists is left as it is.
-- Cost:       O(log list + bytes), at most 5 rows. All checks and reads come before the first write, which is the log entry.

local seen, author, post = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local timeline_member, inbox_member = ARGV[4], ARGV[5]
local published, ahead, fingerprint = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8]
local cap, kept, patience = tonumber(ARGV[9]), ARGV[10], tonumber(ARGV[11])

local function stored(key)
  return redis.call('HMGET', key, 'fingerprint', 'version', 'published_at')
end

local audience = redis.call('ZCARD', KEYS[6])
local request = KEYS[9] and redis.call('HMGET', KEYS[9], 'fingerprint', 'version', 'published_at', 'post')
if request and request[1] then
  if request[1] ~= fingerprint then return { 'r', '0', '0', 0, post } end
  return { 'e', request[2], request[3], audience, request[4] }
end
local known = stored(KEYS[5])
if known[1] then
  if known[1] ~= fingerprint then return { 'p', '0', '0', 0, post } end
  return { 'e', known[2], known[3], audience, post }
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if published > now + ahead then return { 'f', '0', '0', 0, post } end

local clock = tonumber(redis.call('GET', KEYS[3]) or '0')
local next = math.max(now, clock + 1, seen + 1)
local version = string.format('%.0f', next)
local score = published > 0 and ARGV[6] or version
local floor = redis.call('HGET', KEYS[8], 'floor')

redis.call('XADD', KEYS[1], version .. '-0', 'p', author .. ' ' .. post .. ' ' .. score)
redis.call('SET', KEYS[3], version)
if audience > 0 then redis.call('ZADD', KEYS[2], string.format('%.0f', next + patience), version) end
redis.call('HSET', KEYS[5], 'fingerprint', fingerprint, 'version', version, 'published_at', score, unpack(ARGV, 12))
redis.call('ZADD', KEYS[4], score, timeline_member)
if floor and is_above_floor(floor, score, inbox_member) then
  redis.call('ZADD', KEYS[7], score, inbox_member)
  trim(KEYS[7], KEYS[8], cap)
end
if KEYS[9] then
  redis.call('HSET', KEYS[9], 'fingerprint', fingerprint, 'version', version, 'published_at', score, 'post', post)
  redis.call('EXPIRE', KEYS[9], kept)
end
return { 'c', version, score, audience, post }
