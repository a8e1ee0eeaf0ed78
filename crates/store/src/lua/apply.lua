-- Makes followees' lists follow committed changes of their followers.
--
-- Keys:       followers:<t>, followers:<t>:parts, gone:<t>, state:<t>, blocking:<t> and hidden:<t> of each followee t, each followee once; or
--             the first three of shards, and the facts of each.
-- Arguments:  for how many seconds `gone` is kept; 'shard' if the lists are shards, or ''; then for each followee, in the order of
--             the keys: the number n of its changes, and n times '+' or '-', the follower, the version, and the score: of the
--             new edge, or of the removed one (0: whatever is not newer than the version, if it is in the head or one of the 128
--             newest segments). Of edges that are there, and of which the follower's state is what changed, 's' (show) or 'h'
--             (hide) in place of '+' or '-', and the version of that state.
-- Returns:    a text for each change that belongs into a shard: its number, from 0, and the shard's id, with a blank in between; and
--             one for each list that may need another shard: a '+' and the number of the list, from 0; and one for each addition that
--             is refused, or hiding where the followee is deleted: a '!', the number of the change, and why (u: the followee is not active;
--             b: the followee blocks the follower), with a blank in between; and one for each edge to show whose followee's state ever
--             changed lately: a '=', the number of the change, whether the followee is active (a, or i), and the version of the followee's
--             state, with blanks in between. Of shards: for each by how many entries all changes made it longer, and a number that gets higher with each
--             change.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes, and commutative: an addition does nothing once a newer removal is known, nor over a newer addition; a
--             removal takes away exactly the edge that it names. What belongs into a shard is to be applied there as well; the
--             shard then knows of the removals that it may see an addition after. What was shown or hidden for a newer state of the follower is not
--             shown or hidden for an older one.
--             What is refused does nothing; its follower's edge is to be withdrawn.
-- Cost:       O(changes log list), at most 64 changes and 16 expired tombstones a removal. All reads come before the first write.

local MOST_SEARCHED = 128
-- A list of which fewer parts are segments needs no other shard.
local MANY_SEGMENTS = 128

local kept, is_shard = tonumber(ARGV[1]), ARGV[2] == 'shard'
local STEP = is_shard and 4 or 6
local told = {}
local any_is_long, any_is_gone = any_exists(2, STEP), any_exists(3, STEP)
local any_has_state, any_blocks = not is_shard and any_exists(4, STEP), not is_shard and any_exists(5, STEP)
local any_is_hidden = not is_shard and any_exists(6, STEP)
-- Of a user who was deleted. Nothing is there, and nothing may come to be.
if is_shard and redis.call('HEXISTS', KEYS[4], 'closed') == 1 then return { '0 0' } end

-- The state of a followee, nothing if that is active; and its version, nothing if it did not change lately.
local function state_of(key)
  if not any_has_state then return nil end
  local known = redis.call('HMGET', key, 'state', 'version')
  return known[1] or nil, known[2] or nil
end

-- Whether the user of a list blocks a follower.
local function is_blocked(key, follower)
  return any_blocks and redis.call('ZSCORE', key, follower)
end

-- Keeps what becomes of an edge whose follower is not active: its score, or false if it ends or is shown.
local function hide(hidden, buried, kind, follower, version, score)
  if kind == 'h' then
    if not buried or tonumber(buried) <= tonumber(version) then hidden[follower] = score end
    return
  end
  local since = hidden[follower]
  if since == nil then since = any_is_hidden and redis.call('ZSCORE', hidden.key, follower) end
  if not since then return end
  local is_named = tonumber(since) == tonumber(score) or score == '0' and tonumber(since) <= tonumber(version)
  if kind == 's' or is_named then hidden[follower] = false end
end

-- Whether the list may have exactly this edge already: an addition that comes again, of a followee who is not active any more, is none.
local function has_edge(list, follower, score)
  local name = part_at(list, score, follower)
  if shard_of(name) then return true end
  local key = key_of_part(list, name)
  local since = key and redis.call('ZSCORE', key, follower)
  return not key or since and tonumber(since) == tonumber(score)
end

local changes_before = 0

-- What the changes of a followee come to: an edge to be added, for each follower, and edges to be removed.
local function sum_up(list, gone, blocking, hidden, state, state_version, first, changes)
  local added, removed, tombstones, places = {}, {}, {}, {}
  for at = first, first + 4 * (changes - 1), 4 do
    local place = changes_before + (at - first) / 4
    local kind, follower, version, score = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
    local adds, mark = kind == '+' or kind == 's', 'of ' .. follower
    local is_move = kind == 's' or kind == 'h'
    local shown = is_move and (tombstones[mark] or any_is_gone and redis.call('ZSCORE', gone, mark))
    if shown and tonumber(shown) > tonumber(version) then
      kind, adds = '', false
    elseif is_move then
      tombstones[mark] = version
    end
    if kind == 's' and state_version then
      told[#told + 1] = '=' .. place .. ' ' .. (state and 'i' or 'a') .. ' ' .. state_version
    end
    local buried = tombstones[follower] or any_is_gone and redis.call('ZSCORE', gone, follower)
    local is_refused = (adds or kind == 'h') and state == 'deleted'
    if not (is_shard or is_refused or kind == '+' or kind == '') then hide(hidden, buried, kind, follower, version, score) end
    if is_refused or kind == '+' and state and not has_edge(list, follower, score) then
      told[#told + 1] = '!' .. place .. ' u'
    elseif adds and is_blocked(blocking, follower) then
      told[#told + 1] = '!' .. place .. ' b'
    elseif adds then
      local before = added[follower]
      if (not buried or tonumber(buried) < tonumber(version)) and (not before or tonumber(before) < tonumber(score)) then
        added[follower], places[follower] = score, place
      end
    elseif kind ~= '' then
      local before = tonumber(added[follower])
      if before and (before == tonumber(score) or score == '0' and before <= tonumber(version)) then
        added[follower] = nil
      end
      removed[#removed + 1] = { follower, score, tonumber(version), place }
      if tonumber(tombstones[follower] or '0') < tonumber(version) then tombstones[follower] = version end
    end
  end
  changes_before = changes_before + changes
  return added, removed, tombstones, places
end

-- A change of which one text is an argument belongs into a shard.
local function tell_shard(place, shard)
  told[#told + 1] = place .. ' ' .. shard
end

-- The entries of a list that removals name: the part of each, its key, and the follower.
local function find_removed(list, removed)
  local found = {}
  for _, removal in ipairs(removed) do
    local follower, score, version, place = unpack(removal)
    local name, key, since
    if score == '0' then
      name, key, since = search(list, follower, MOST_SEARCHED)
      if since and tonumber(since) > version then name = nil end
    else
      name = part_at(list, score, follower)
      local shard = shard_of(name)
      if shard then tell_shard(place, shard) end
      key = not shard and key_of_part(list, name)
      since = key and redis.call('ZSCORE', key, follower)
      if not since or tonumber(since) ~= tonumber(score) then name = nil end
    end
    if name then found[#found + 1] = { name, key, follower } end
  end
  return found
end

-- Plans to add what a list lacks; gives the older edges of the same followers that the parts have.
local function plan_added(list, added, places)
  local rows, outdated, by_part = {}, {}, {}
  for follower, score in pairs(added) do
    local name = part_at(list, score, follower)
    local shard = shard_of(name)
    if shard then
      tell_shard(places[follower], shard)
    else
      by_part[name] = by_part[name] or {}
      table.insert(by_part[name], follower)
    end
  end
  for name, followers in pairs(by_part) do
    local key = key_of_part(list, name)
    local scores = key and redis.call('ZMSCORE', key, unpack(followers)) or {}
    for at, follower in ipairs(followers) do
      local since, score = scores[at], added[follower]
      if not since or tonumber(since) < tonumber(score) then
        rows[#rows + 1] = { score, follower }
        if since then outdated[#outdated + 1] = { name, key, follower } end
      end
    end
  end
  if not list.is_long then list.head_entries = redis.call('ZCARD', list.head) end
  plan_rows(list, rows)
  return outdated
end

local writes = {}
local argument = 3
for key = 1, #KEYS, STEP do
  local list, changes = open_list(key, any_is_long and nil), tonumber(ARGV[argument])
  list.is_shard = is_shard
  local state, state_version = state_of(KEYS[key + 3])
  local hidden = { key = KEYS[key + 5] }
  local added, removed, tombstones, places =
    sum_up(list, KEYS[key + 2], KEYS[key + 4], hidden, state, state_version, argument + 1, changes)
  if state == 'deleted' then tombstones = {} end
  writes[#writes + 1] = { list, find_removed(list, removed), plan_added(list, added, places), tombstones, hidden }
  argument = argument + 1 + 4 * changes
end
if #needs > 1 then return needs end

local now
local function bury(gone, tombstones)
  local rows = {}
  for follower, version in pairs(tombstones) do
    rows[#rows + 1] = version
    rows[#rows + 1] = follower
  end
  if #rows == 0 then return end
  now = now or tonumber(redis.call('TIME')[1]) * 1000000
  local expired = redis.call('ZRANGE', gone, '-inf', now - kept * 1000000, 'BYSCORE', 'LIMIT', 0, 8 * #rows)
  if #expired > 0 then redis.call('ZREM', gone, unpack(expired)) end
  redis.call('ZADD', gone, 'GT', unpack(rows))
  redis.call('EXPIRE', gone, kept)
end

local function write_hidden(hidden)
  local key = hidden.key
  hidden.key = nil
  for follower, score in pairs(hidden) do
    if score then redis.call('ZADD', key, score, follower) else redis.call('ZREM', key, follower) end
  end
end

-- What all changes made of the length of a shard.
local function growth(list, entries_before)
  local facts, grown = KEYS[list.index + 3], sealed_entries(list) - entries_before
  if grown ~= 0 then
    redis.call('HINCRBY', facts, 'growth', grown)
    redis.call('HINCRBY', facts, 'revision', 1)
  end
  local known = redis.call('HMGET', facts, 'growth', 'revision')
  return (known[1] or '0') .. ' ' .. (known[2] or '0')
end
for number, write in ipairs(writes) do
  local list, found, outdated, tombstones, hidden = unpack(write)
  local entries_before = is_shard and sealed_entries(list)
  bury(KEYS[list.index + 2], tombstones)
  write_hidden(hidden)
  for _, entries in ipairs({ found, outdated }) do
    for _, entry in ipairs(entries) do take_out(list, unpack(entry)) end
  end
  local has_new_segment = add_rows(list)
  for _, entry in ipairs(found) do drop_empty(list, entry[1], entry[2]) end
  if is_shard then
    told[#told + 1] = growth(list, entries_before)
  elseif has_new_segment and redis.call('ZCARD', list.parts) > MANY_SEGMENTS then
    told[#told + 1] = '+' .. number - 1
  end
end
return told
