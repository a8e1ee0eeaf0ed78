-- An inbox is a list in segments and a hash of facts (feed) that live and die together. A feed whose head lacks the sentinel, or
-- whose segments are not all there, has lost its inbox. In the facts:
--   name      unlike any other inbox's
--   floor     the place, `<score> <member>`, at or below which the inbox has nothing; empty if it has everything
--   segments  the directory
--   full      how many entries the head may have, the sentinel included, before there must be made room
--   building  until when somebody fills it, in milliseconds; absent if it is filled
--   m:<a>     of an author a whose posts it may lack: the score of the edge, with a p before it if they are not pushed here at all

local function open_inbox(head, feed, first_slot)
  local facts = redis.call('HMGET', feed, 'floor', 'segments', 'full')
  if not facts[3] then return nil end
  local inbox = { head = head, feed = feed, slots = { unpack(KEYS, first_slot) }, floor = facts[1] }
  inbox.directory = read_directory(facts[2])
  for _, segment in ipairs(inbox.directory) do
    -- Of a server with larger inboxes.
    if segment.slot > #inbox.slots then return nil end
  end
  return inbox
end

local function split_floor(floor)
  local blank = floor:find(' ', 1, true)
  return tonumber(floor:sub(1, blank - 1)), floor:sub(blank + 1)
end

local function is_above_floor(floor, score, member)
  if floor == '' then return true end
  local floor_score, floor_member = split_floor(floor)
  return is_above(tonumber(score), member, floor_score, floor_member)
end

local function set_floor(inbox, score, member)
  inbox.floor = score .. ' ' .. member
  redis.call('HSET', inbox.feed, 'floor', inbox.floor)
end

-- Removes the oldest segment, or an eighth of the cap from a head that is all there is. Gives how many entries went.
local function shrink(inbox, cap)
  local last = #inbox.directory
  if last > 0 then
    local key, oldest = key_of(inbox, last), inbox.directory[last]
    local removed = redis.call('ZCARD', key)
    set_floor(inbox, string.format('%.0f', oldest.score), oldest.member)
    redis.call('UNLINK', key)
    remove_segment(inbox, last)
    return removed
  end
  local removed = 1 + math.floor(cap / 8)
  local newest = redis.call('ZRANGE', inbox.head, removed, removed, 'WITHSCORES')
  redis.call('ZREMRANGEBYRANK', inbox.head, 1, removed)
  set_floor(inbox, newest[2], newest[1])
  return removed
end

-- Adds an entry, of which the inbox has the number given, unless it is there or belongs below the floor. Gives the number of entries.
local function insert(inbox, cap, entries, score, member)
  local number = tonumber(score)
  if redis.call('ZSCORE', key_of(inbox, locate(inbox.directory, number, member)), member) then return entries end
  while entries >= cap do entries = entries - shrink(inbox, cap) end
  local part = locate(inbox.directory, number, member)
  while redis.call('ZCARD', key_of(inbox, part)) >= MOST_ENTRIES do
    if not free_slot(inbox) then entries = entries - shrink(inbox, cap) end
    part = locate(inbox.directory, number, member)
    if redis.call('ZCARD', key_of(inbox, part)) >= MOST_ENTRIES then split(inbox, part) end
    part = locate(inbox.directory, number, member)
  end
  if not is_above_floor(inbox.floor, score, member) then return entries end
  redis.call('ZADD', key_of(inbox, part), score, member)
  return entries + 1
end

-- Removes all at or below a place, which becomes the floor.
local function raise_floor(inbox, score, member)
  set_floor(inbox, score, member)
  local number = tonumber(score)
  while #inbox.directory > 0 do
    local last = #inbox.directory
    local oldest, key = inbox.directory[last], key_of(inbox, last)
    if is_above(oldest.score, oldest.member, number, member) then
      local below = count_before(key, score, member .. '\0')
      if below > 0 then redis.call('ZREMRANGEBYRANK', key, 0, below - 1) end
      if redis.call('EXISTS', key) == 0 then remove_segment(inbox, last) end
      return
    end
    redis.call('UNLINK', key)
    remove_segment(inbox, last)
  end
  -- The sentinel, of rank 0, stays.
  local below = count_before(inbox.head, score, member .. '\0') - 1
  if below > 0 then redis.call('ZREMRANGEBYRANK', inbox.head, 1, below) end
end

-- Writes down what changed but the entries. `entries`: how many there are.
local function close_inbox(inbox, cap, entries)
  local full = math.min(MOST_ENTRIES, redis.call('ZCARD', inbox.head) + cap - entries)
  redis.call('HSET', inbox.feed, 'full', full)
  if inbox.changed then redis.call('HSET', inbox.feed, 'segments', write_directory(inbox.directory)) end
end

-- Brings a post to an inbox whose head has room for it and is where it belongs. Gives false where that is not so.
local function push_to_head(head, segments, full, score, member)
  if #segments > 0 then
    local newest = read_directory(segments:sub(1, 25))[1]
    if not is_above(tonumber(score), member, newest.score, newest.member) then return false end
  end
  if redis.call('ZCARD', head) >= tonumber(full) then return false end
  redis.call('ZADD', head, score, member)
  return true
end
