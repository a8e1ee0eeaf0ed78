-- Reads an inbox: the entries after a place whose authors are still followed, or were while they are kept, and not muted. Where there is no inbox, or the one that was being
-- built was given up, makes an empty one that accepts pushes, for the caller to fill.
--
-- Keys:       inbox:<u>, feed:<u>, following:<u>, following:<u>:parts, following:<u>:ids, state:<u>, muting:<u>,
--             mute_ends:<u>, kept:<u>, kept_since:<u>, and inbox:<u>:<n> of every segment of the reader u.
-- Arguments:  the reader, the place to go on from, newest first: score (empty: from the newest) and member, which comes after
--             what is read; the most entries, at most 1,000; a name for a new inbox; for how many milliseconds it is the
--             caller's to fill; for how many milliseconds an inbox is kept that nobody reads; the most entries of an inbox.
-- Returns:    'new': the caller is to fill the inbox; or 'building': somebody else is filling it; or 'live', the inbox's
--             name, its floor (empty if it has everything), the authors that are being merged and the scores of their edges in
--             turn, the same of authors whose posts are not pushed here; authors not followed any more of whose kept posts it may lack some, each with
--             the first and the last time of what is kept; members and scores in turn, newest first; and the authors among them of whom posts
--             are kept, each with the same two times. Of authors who are
--             muted nothing is given. Fewer entries than asked for: there are no more.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes.
-- Cost:       O(log list * log ties + entries), at most the inbox's cap of entries, 1,000 authors being merged, and the authors who are followed and not pushed.

local head, feed, following = KEYS[1], KEYS[2], open_following(3)
local reader, score, member, limit = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local name, lease, idle, cap = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local MOST_MERGING = 1000

-- Somebody who is not active has an empty feed, and gets no inbox.
if redis.call('HEXISTS', KEYS[6], 'state') == 1 then return { 'live', '0', '', {}, {}, {}, {}, {} } end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local inbox = redis.call('ZSCORE', head, '') and open_inbox(head, feed, 11)
local parts = { head, feed }
if inbox then
  for part = 1, #inbox.directory do parts[#parts + 1] = key_of(inbox, part) end
  if redis.call('EXISTS', unpack(parts)) < #parts then inbox = nil end
end
local until_filled = inbox and redis.call('HGET', feed, 'building')
if until_filled and tonumber(until_filled) > now then return { 'building' } end

local function expire_all()
  for _, key in ipairs(parts) do redis.call('PEXPIREAT', key, string.format('%.0f', now + idle)) end
end
local lease_ends = string.format('%.0f', now + lease)
if until_filled then
  redis.call('HSET', feed, 'name', name, 'building', lease_ends)
  return { 'new' }
end
-- The authors whose posts the inbox may lack, and how many of them are to be merged.
local marks, unmerged = {}, 0
if inbox and redis.call('HLEN', feed) > 4 then
  local all = redis.call('HGETALL', feed)
  for field = 1, #all, 2 do
    if all[field]:sub(1, 2) == 'm:' then
      marks[all[field]:sub(3)] = all[field + 1]
      if all[field + 1]:sub(1, 1) ~= 'p' then unmerged = unmerged + 1 end
    end
  end
end
if not inbox or unmerged > MOST_MERGING then
  redis.call('UNLINK', head, feed, unpack(KEYS, 11))
  redis.call('ZADD', head, 0, '')
  local full = math.min(MOST_ENTRIES, cap + 1)
  redis.call('HSET', feed, 'name', name, 'floor', '', 'segments', '', 'full', full, 'building', lease_ends)
  parts = { head, feed }
  expire_all()
  return { 'new' }
end
if redis.call('PTTL', feed) < idle - idle / 32 then expire_all() end

-- The author's id, the last 8 bytes, in decimal: numbers here are exact to 2^53 only, so in two parts.
local function author_of(entry)
  local high, low = struct.unpack('>I4I4', entry, 9)
  local units = high * 967296 + low
  local millions = high * 4294 + math.floor(units / 1000000)
  units = units % 1000000
  return millions > 0 and string.format('%.0f%06.0f', millions, units) or string.format('%.0f', units)
end

local mutes = redis.call('EXISTS', KEYS[7]) == 1
-- Whom of some authors the reader does not mute now.
local function not_muted(authors)
  if not mutes or #authors == 0 then return authors end
  local left = {}
  local muted = redis.call('ZMSCORE', KEYS[7], unpack(authors))
  for at, author in ipairs(authors) do
    local ends = muted[at] and redis.call('ZSCORE', KEYS[8], author)
    if not muted[at] or ends and tonumber(ends) <= now * 1000 then left[#left + 1] = author end
  end
  return left
end

local merging, pulled, unkept, marked = {}, {}, {}, {}
for author in pairs(marks) do marked[#marked + 1] = author end
for first = 1, #marked, 1000 do
  for _, author in ipairs(not_muted({ unpack(marked, first, math.min(first + 999, #marked)) })) do
    local since, list = marks[author], merging
    local kind, until_then = since:sub(1, 1), nil
    if kind == 'p' then
      since, list = since:sub(2), pulled
    elseif kind == 'k' then
      since, until_then = since:match('^k(%d+) (%d+)$')
      list = unkept
    end
    list[#list + 1] = author
    list[#list + 1] = since
    list[#list + 1] = until_then
  end
end

-- For each author true if followed, the times of what is kept if not any more, or false.
local followed, kept = { [reader] = true }, {}
local keeps = redis.call('EXISTS', KEYS[9]) == 1
local function learn(rows)
  local unknown = {}
  for row = 1, #rows, 2 do
    local author = author_of(rows[row])
    if followed[author] == nil then
      followed[author] = false
      unknown[#unknown + 1] = author
    end
  end
  if #unknown == 0 then return end
  unknown = not_muted(unknown)
  if #unknown == 0 then return end
  local follows, left = follows_each(following, unknown), {}
  for at, author in ipairs(unknown) do
    followed[author] = follows[at]
    if not follows[at] then left[#left + 1] = author end
  end
  if not keeps or #left == 0 then return end
  local since, until_then = redis.call('ZMSCORE', KEYS[10], unpack(left)), redis.call('ZMSCORE', KEYS[9], unpack(left))
  for at, author in ipairs(left) do
    if since[at] then
      followed[author] = { tonumber(since[at]), tonumber(until_then[at]) }
      for _, fact in ipairs({ author, since[at], until_then[at] }) do kept[#kept + 1] = fact end
    end
  end
end

-- Whether an entry is shown, by the score.
local function is_shown(entry, at)
  local follows = followed[author_of(entry)]
  return follows == true or follows and tonumber(at) >= follows[1] and tonumber(at) <= follows[2]
end

local entries = {}
-- Reads a part from a rank down to the lowest.
local function read(key, rank, lowest)
  while rank >= lowest and #entries < 2 * limit do
    local rows = redis.call('ZRANGE', key, math.max(lowest, rank - limit + 1), rank, 'WITHSCORES')
    learn(rows)
    for row = #rows - 1, 1, -2 do
      if #entries == 2 * limit then break end
      if is_shown(rows[row], rows[row + 1]) then
        entries[#entries + 1] = rows[row]
        entries[#entries + 1] = rows[row + 1]
      end
    end
    rank = rank - limit
  end
end
local first = score == '' and 0 or locate(inbox.directory, tonumber(score), member)
for part = first, #inbox.directory do
  local key = key_of(inbox, part)
  local above = part == first and score ~= '' and count_before(key, score, member) or redis.call('ZCARD', key)
  -- Of the head, rank 0 is the sentinel.
  read(key, above - 1, part == 0 and 1 or 0)
end
return { 'live', redis.call('HGET', feed, 'name'), inbox.floor, merging, pulled, unkept, entries, kept }
