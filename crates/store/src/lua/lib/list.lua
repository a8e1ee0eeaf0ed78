-- A list without a bound, in parts. Redis keeps a ZSET compact up to 128 entries, so that no part ever gets more: the head has the
-- newest, and older ones lie in segments, each a ZSET of its own. A list that fits into the head has nothing else. A longer one has
-- a ZSET `parts`: the name of each segment, with the score of its bound. The bound is a place that no entry of the segment is
-- above; the name is the bound's member, a blank, and the segment's id, by which its key is called. What is at or below a bound, and
-- above the next lower one, belongs into that segment. One more member of `parts`, '', has as its score how many entries all segments
-- have, negated, which makes it the lowest. A list of whom somebody follows also has a set `ids`: the members of all segments.
--
-- Bounds outlive the entries that they were found by. So that of a list of users is, but for one case in `find_bound`, the text of an id that
-- was never added: who leaves a list is not left in it. A list of posts `is_of_posts`, and its bounds are posts.
--
-- A head may have more than 128 entries in a list of the first format, until it is converted.
--
-- The oldest segments of a very long list of followers lie in shards: lists of their own, in other partitions. In `parts` a shard is one
-- bound, that of its newest segment; its id begins with '*', and no script here reads or changes it. All shards are below all
-- segments. The bound of a shard only ever rises, and a shard stays when it has no entries, so that what is at or below its bound, and
-- above the one before, belongs there for ever.
--
-- A script declares the keys of the segments that it touches; the caller does not know which these are before. So the call is made
-- again with what the script asked for: `needs` is the answer, and nothing is written, as long as a key is missing. It has the number
-- of the list's head among the keys, and the id of a segment, or '' for the key of a new one, in turn. What the call declares are
-- the last keys, for each of them two arguments, that number and the id, of new ones after a '+'; and as the last argument how many
-- they are.

local MOST_OF_PART = 128
-- How many of a full head become a segment: most, so that segments are full. And of a head that has room for half of it.
local SEALED, SEALED_HALF = 96, 64
-- Of how many entries the place after one is looked at before a bound has the name of one.
local MOST_TRIED = 16
-- No id's text is greater.
local LAST_ID = string.rep('9', 18)

local declared, spare, needs, is_needed = {}, {}, { 'NEED' }, {}
local declarations = tonumber(table.remove(ARGV))
for _ = 1, declarations do
  local id, index, key = table.remove(ARGV), table.remove(ARGV), table.remove(KEYS)
  if id:sub(1, 1) == '+' then
    spare[index] = spare[index] or {}
    table.insert(spare[index], { id = id:sub(2), key = key })
  else
    declared[index .. ':' .. id] = key
  end
end

local function need(list, id)
  needs[#needs + 1] = list.index
  needs[#needs + 1] = id
end

-- Whether any of every so many keys exists, from a number on. Mostly none does: one look instead of one for each. Of a single one it is
-- not asked, for it is looked at anyway.
local function any_exists(first, step)
  if first + step > #KEYS then return true end
  local keys = {}
  for key = first, #KEYS, step do keys[#keys + 1] = KEYS[key] end
  return redis.call('EXISTS', unpack(keys)) > 0
end

-- The list whose head is the key of that number, and whose `parts` the next one is. Whether it is long may be known.
local function open_list(index, is_long)
  if is_long == nil then is_long = redis.call('EXISTS', KEYS[index + 1]) == 1 end
  return { index = index, head = KEYS[index], parts = KEYS[index + 1], is_long = is_long }
end

-- The same of whom somebody follows: `ids` is the next key.
local function open_following(index, is_long)
  local list = open_list(index, is_long)
  list.ids = KEYS[index + 2]
  return list
end

local function sealed_entries(list)
  return list.is_long and -tonumber(redis.call('ZSCORE', list.parts, '')) or 0
end

-- How many entries a list has.
local function length(list)
  list.head_entries = redis.call('ZCARD', list.head)
  return list.head_entries + sealed_entries(list)
end

local function id_of_part(name)
  return name:match('[^ ]*$')
end

-- The id of the shard that a part is; nil if it is none.
local function shard_of(name)
  local id = id_of_part(name)
  return id:sub(1, 1) == '*' and id or nil
end

-- The key of a part by its name; nil if it must be asked for. Of the head the name is ''.
local function key_of_part(list, name)
  if name == '' then return list.head end
  local id = id_of_part(name)
  local place = list.index .. ':' .. id
  if not declared[place] and not is_needed[place] then
    is_needed[place] = true
    need(list, id)
  end
  return declared[place]
end

-- Id and key of a new segment; nothing if they must be asked for.
local function new_segment(list)
  for _, segment in ipairs(spare[tostring(list.index)] or {}) do
    if not segment.is_taken and redis.call('EXISTS', segment.key) == 0 then
      segment.is_taken = true
      return segment.id, segment.key
    end
  end
  need(list, '')
end

-- The name of the part that a place belongs into.
local function part_at(list, score, member)
  if not list.is_long then return '' end
  list.newest = list.newest or redis.call('ZRANGE', list.parts, -1, -1, 'WITHSCORES')
  if is_above(tonumber(score), member, tonumber(list.newest[2]), list.newest[1]) then return '' end
  local rank = count_before(list.parts, score, member)
  return redis.call('ZRANGE', list.parts, rank, rank)[1]
end

local function is_below(row, bound)
  return not is_above(tonumber(row[1]), row[2], tonumber(bound[2]), bound[1])
end

-- A place right after the entry of a rank, from 1, and before the next one. In a list of users it has the member of neither; nil if there
-- is none such.
local function place_after(list, key, rank)
  local rows = redis.call('ZRANGE', key, rank - 1, rank, 'WITHSCORES')
  local member, score, next_member, next_score = unpack(rows)
  if list.is_of_posts then return { member, score } end
  if tonumber(score) ~= tonumber(next_score) then return { LAST_ID, score } end
  local same = 1
  while member:byte(same) == next_member:byte(same) do same = same + 1 end
  local between = member:sub(1, same) .. LAST_ID:sub(same + 1)
  if is_greater(between, member) and is_greater(next_member, between) then return { between, score } end
end

-- Up to which place a full part is emptied to make room for rows, at most 64: so that they fit on either side. Where entries of one time
-- have ids of which each is the beginning of the next, the place may be that of an entry.
local function find_bound(list, key, name, entries, rows)
  local ranks = { math.floor(entries / 2) }
  if name == '' then ranks = entries > SEALED and { SEALED, SEALED_HALF } or { SEALED_HALF } end
  for _, preferred in ipairs(ranks) do
    for rank = preferred, math.max(1, preferred - MOST_TRIED + 1), -1 do
      local bound, below = place_after(list, key, rank), 0
      for _, row in ipairs(bound and rows or {}) do
        if is_below(row, bound) then below = below + 1 end
      end
      local fits = rank + below <= MOST_OF_PART and entries - rank + #rows - below <= MOST_OF_PART
      if bound and fits then return bound end
    end
  end
  local last = ranks[#ranks]
  return redis.call('ZRANGE', key, last - 1, last - 1, 'WITHSCORES')
end

-- Finds out what adding rows to a list takes; `add_rows` adds them. At most 64, each a score and a member that the list does not have.
local function plan_rows(list, rows)
  if not list.is_long and list.head_entries and list.head_entries + #rows <= MOST_OF_PART then
    list.plans = { { name = '', key = list.head, rows = rows } }
    return
  end
  local by_name, plans = {}, {}
  for _, row in ipairs(rows) do
    local name = part_at(list, row[1], row[2])
    if not by_name[name] then
      by_name[name] = { name = name, rows = {} }
      plans[#plans + 1] = by_name[name]
    end
    local of_part = by_name[name].rows
    of_part[#of_part + 1] = row
  end
  for _, plan in ipairs(plans) do
    plan.key = key_of_part(list, plan.name)
    local entries = plan.key and redis.call('ZCARD', plan.key) or 0
    if entries <= MOST_OF_PART and entries + #plan.rows > MOST_OF_PART then
      plan.bound = find_bound(list, plan.key, plan.name, entries, plan.rows)
      plan.new_id, plan.new_key = new_segment(list)
    end
  end
  list.plans = plans
end

local function add_members(list, members)
  if list.ids and #members > 0 then redis.call('SADD', list.ids, unpack(members)) end
end

-- Moves the entries of a part up to a bound into a segment of their own. Gives their members.
local function split_part(list, plan)
  local cut = count_before(plan.key, plan.bound[2], plan.bound[1] .. '\0')
  if cut == 0 then return {} end
  local entries = redis.call('ZRANGE', plan.key, 0, cut - 1, 'WITHSCORES')
  local rows, members = {}, {}
  for at = 1, #entries, 2 do
    rows[at], rows[at + 1] = entries[at + 1], entries[at]
    members[#members + 1] = entries[at]
  end
  redis.call('ZADD', plan.new_key, unpack(rows))
  redis.call('ZREMRANGEBYRANK', plan.key, 0, cut - 1)
  return members
end

local function add_to_part(list, key, name, rows)
  if #rows == 0 then return 0 end
  local flat, members = {}, {}
  for at, row in ipairs(rows) do flat[2 * at - 1], flat[2 * at] = row[1], row[2] end
  redis.call('ZADD', key, unpack(flat))
  if name == '' then return 0 end
  for at, row in ipairs(rows) do members[at] = row[2] end
  add_members(list, members)
  return #rows
end

-- Does what was planned, even if entries were taken out since. Gives whether there is a new segment.
local function add_rows(list)
  local sealed, has_new_segment = 0, false
  for _, plan in ipairs(list.plans) do
    local above, below, moved = plan.rows, {}, {}
    if plan.bound then
      moved, above = split_part(list, plan), {}
      for _, row in ipairs(plan.rows) do
        local side = is_below(row, plan.bound) and below or above
        side[#side + 1] = row
      end
    end
    if #moved + #below > 0 then
      redis.call('ZADD', list.parts, plan.bound[2], plan.bound[1] .. ' ' .. plan.new_id)
      list.is_long, list.newest, has_new_segment = true, nil, true
      if plan.name == '' then
        sealed = sealed + #moved
        add_members(list, moved)
      end
      sealed = sealed + add_to_part(list, plan.new_key, plan.new_id, below)
    end
    sealed = sealed + add_to_part(list, plan.key, plan.name, above)
  end
  if sealed > 0 then redis.call('ZINCRBY', list.parts, -sealed, '') end
  return has_new_segment
end

-- Removes an entry from a part. What may be left of the part is left to `drop_empty`.
local function take_out(list, name, key, member)
  if redis.call('ZREM', key, member) == 0 or name == '' then return end
  if list.ids then redis.call('SREM', list.ids, member) end
  redis.call('ZINCRBY', list.parts, 1, '')
end

-- Forgets a part that has no entries. Those of shards stay, for nothing must come to the head of one.
local function drop_empty(list, name, key)
  if name == '' or list.is_shard or redis.call('EXISTS', key) == 1 then return end
  redis.call('ZREM', list.parts, name)
  list.newest = nil
  if redis.call('ZCARD', list.parts) == 1 then
    redis.call('DEL', list.parts)
    list.is_long = false
  end
end

-- Whether a list of whom somebody follows has each of some members.
local function follows_each(list, members)
  local scores = redis.call('ZMSCORE', list.head, unpack(members))
  local sealed = list.is_long and redis.call('SMISMEMBER', list.ids, unpack(members)) or {}
  local follows = {}
  for at = 1, #members do follows[at] = scores[at] and true or sealed[at] == 1 end
  return follows
end

-- Looks for a member of unknown score in the head, and in a number of the newest segments. Gives the part and the score.
local function search(list, member, most)
  local score = redis.call('ZSCORE', list.head, member)
  if score then return '', list.head, score end
  if not list.is_long then return nil end
  local segments = math.min(most, redis.call('ZCARD', list.parts) - 1)
  for _, name in ipairs(redis.call('ZRANGE', list.parts, -segments, -1)) do
    local key = not shard_of(name) and key_of_part(list, name)
    score = key and redis.call('ZSCORE', key, member)
    if score then return name, key, score end
  end
  return nil
end

-- Reads on from a place, newest first or oldest first, at most so many entries. The place is a score and a member: oldest first, what
-- is at or above it comes; newest first, what is below it, or from the newest if the score is ''. Segments wholly beyond a last
-- score are not read, nor what comes after the segment of an id. Gives what ZRANGE gives for each part, members alone or with their scores.
-- Ends at a shard, and gives its rank in `parts` then.
local function read_list(list, newest_first, score, member, most, last, last_id, members_alone)
  local found, missing = {}, most
  local options = newest_first and { 'REV' } or {}
  if not members_alone then options[#options + 1] = 'WITHSCORES' end
  local head = list.is_long and redis.call('ZCARD', list.parts) or 1
  local rank = (newest_first or list.is_long and score ~= '') and head or 1
  if list.is_long and score ~= '' then rank = count_before(list.parts, score, member) end
  local is_first = score ~= ''
  local step = newest_first and -1 or 1
  local bound_before = 0

  local function read_part(key)
    local skipped = 0
    if is_first then
      skipped = count_before(key, score, member)
      if newest_first then skipped = redis.call('ZCARD', key) - skipped end
    end
    is_first = false
    local rows = redis.call('ZRANGE', key, skipped, skipped + missing - 1, unpack(options))
    if #rows == 0 then return end
    missing = missing - #rows / (members_alone and 1 or 2)
    found[#found + 1] = rows
  end

  -- Asks for more at a time the more there are, since segments may have few entries.
  local function ask_from(first)
    local number = math.max(math.ceil(missing / SEALED_HALF) + 1, 2 * declarations)
    local from, to = first, math.min(head - 1, first + number - 1)
    if newest_first then from, to = math.max(1, first - number + 1), first end
    for _, name in ipairs(redis.call('ZRANGE', list.parts, from, to)) do
      if not shard_of(name) then key_of_part(list, name) end
    end
  end

  while missing > 0 and rank >= 1 and rank <= head do
    if not newest_first and bound_before > last then break end
    if rank == head then
      read_part(list.head)
    else
      local segment = redis.call('ZRANGE', list.parts, rank, rank, 'WITHSCORES')
      bound_before = tonumber(segment[2])
      if newest_first and bound_before < last then break end
      if shard_of(segment[1]) then return found, rank end
      local key = key_of_part(list, segment[1])
      if not key then
        ask_from(rank)
        break
      end
      read_part(key)
      if id_of_part(segment[1]) == last_id then break end
    end
    rank = rank + step
  end
  return found
end
