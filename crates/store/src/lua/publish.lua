-- Commits a post, and brings it to its author's own inbox.
--
-- Keys:       log, pending, clock, posts:<a>, posts:<a>:parts, followers:<a>, followers:<a>:parts, post:<a>:<p>,
--             request:<a>:<id> (without an id of the request: posts:<a> again), inbox:<a>, feed:<a>, state:<a>, erased:<a>,
--             delivery:<a>, operations, and inbox:<a>:<n> of every segment of the author a.
-- Arguments:  the highest version seen of this partition (0 if none), 1 if the request has an id or 0, 1 if the request names
--             the post id or 0, the author, the post id, its member in the timeline and in inboxes, published_at in microseconds (0: now), how far in the future that may be, a fingerprint of the content and
--             attributes, the most entries of an inbox, for how many seconds a request id is kept, after how many
--             microseconds the relay takes the fan-out over, a name of the call, with more than how many followers posts turn from pushed to pulled,
--             with fewer than how many they turn back, the author's name in `operations`; then the fields of the post and their values.
-- Returns:    a letter (c created, e the same post exists, r the request id was used for another content, p the post id was, or its post is deleted,
--             f published_at is too far in the future, u the author is not active), the version, published_at, the number of followers at that time, 1 if they pull it or 0,
--             the post id, and 1 if the post may not have reached them yet or 0.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. A post that exists is left as it is.
-- Cost:       O(log list + bytes), at most 7 rows, and 64 entries moved in the inbox. All checks and reads come before the first write, which is the log entry.

local seen, has_request, is_given = tonumber(ARGV[1]), ARGV[2] == '1', ARGV[3] == '1'
local author, post, timeline_member, inbox_member = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local published, ahead, fingerprint = tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[10]
local cap, kept, patience, call = tonumber(ARGV[11]), ARGV[12], tonumber(ARGV[13]), ARGV[14]
local pull_above, push_below, duty = tonumber(ARGV[15]), tonumber(ARGV[16]), ARGV[17]

if redis.call('HEXISTS', KEYS[12], 'state') == 1 then return { 'u', '0', '0', 0, 0, post, 0 } end

local FACTS = { 'fingerprint', 'version', 'published_at', 'audience', 'pulled' }
local function exists(version, published_at, audience, pulled, id)
  local is_pending = redis.call('ZSCORE', KEYS[2], version)
  return { 'e', version, published_at, tonumber(audience), tonumber(pulled or '0'), id, is_pending and 1 or 0 }
end
local function remember_request(version, published_at, audience, pulled)
  if not has_request then return end
  redis.call('HSET', KEYS[9], 'fingerprint', fingerprint, 'version', version, 'published_at', published_at,
    'audience', audience, 'pulled', pulled, 'post', post)
  redis.call('EXPIRE', KEYS[9], kept)
end

local request = has_request and redis.call('HMGET', KEYS[9], 'post', unpack(FACTS))
if request and request[1] then
  if request[2] ~= fingerprint or is_given and request[1] ~= post then return { 'r', '0', '0', 0, 0, post, 0 } end
  return exists(request[3], request[4], request[5], request[6], request[1])
end
local known = redis.call('HMGET', KEYS[8], 'call', unpack(FACTS))
if known[2] then
  -- A made id may be that of another call's post, which is another post even if the content is the same.
  if known[2] ~= fingerprint or not is_given and known[1] ~= call then return { 'p', '0', '0', 0, 0, post, 0 } end
  remember_request(known[3], known[4], known[5], known[6] or '0')
  return exists(known[3], known[4], known[5], known[6], post)
end
-- A post that was deleted does not come back with a request that comes again.
if is_given and redis.call('ZSCORE', KEYS[13], post) then return { 'p', '0', '0', 0, 0, post, 0 } end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if published > now + ahead then return { 'f', '0', '0', 0, 0, post, 0 } end

local audience = length(open_list(6))
local mode, turns = redis.call('HGET', KEYS[14], 'mode'), nil
if not mode and audience > pull_above then
  turns = 'turning'
elseif mode == 'pull' and audience < push_below then
  turns = 'returning'
end
local pulled = mode == 'pull' and not turns and '1' or '0'
local clock = tonumber(redis.call('GET', KEYS[3]) or '0')
local next = math.max(now, clock + 1, seen + 1)
local version = string.format('%.0f', next)
local score = published > 0 and ARGV[8] or version
local inbox = open_inbox(KEYS[10], KEYS[11], 16)
local posts = open_list(4)
posts.is_of_posts = true
plan_rows(posts, { { score, timeline_member } })
if #needs > 1 then return needs end

redis.call('XADD', KEYS[1], version .. '-0', 'p', author .. ' ' .. post .. ' ' .. score)
redis.call('SET', KEYS[3], version)
if audience > 0 and pulled == '0' then redis.call('ZADD', KEYS[2], string.format('%.0f', next + patience), version) end
if turns then
  -- This post and later ones are pushed until all readers are told.
  redis.call('HSET', KEYS[14], 'mode', turns, 'version', version)
  redis.call('ZADD', KEYS[15], version, duty)
end
redis.call('HSET', KEYS[8], 'fingerprint', fingerprint, 'version', version, 'published_at', score, 'audience', audience,
  'call', call, unpack(ARGV, 18))
if pulled == '1' then redis.call('HSET', KEYS[8], 'pulled', 1) end
add_rows(posts)
if inbox and is_above_floor(inbox.floor, score, inbox_member) then
  close_inbox(inbox, cap, insert(inbox, cap, count(inbox), score, inbox_member))
end
remember_request(version, score, audience, pulled)
return { 'c', version, score, audience, tonumber(pulled), post, audience > 0 and pulled == '0' and 1 or 0 }
