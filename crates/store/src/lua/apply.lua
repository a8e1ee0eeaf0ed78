-- Makes followees' lists follow committed changes of their followers.
--
-- Keys:       followers:<t>, followers:<t>:parts and gone:<t> of each followee t, each followee once.
-- Arguments:  for how many seconds `gone` is kept; then for each followee, in the order of the keys: the number n of its
--             changes, and n times '+' or '-', the follower, the version, and the score: of the new edge, or of the removed
--             one (0: whatever is not newer than the version, if it is in the head or one of the 128 newest segments).
-- Returns:    nothing.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes, and commutative: an addition does nothing once a newer removal is known, nor over a newer addition; a
--             removal takes away exactly the edge that it names.
-- Cost:       O(changes log list), at most 64 changes and 16 expired tombstones a removal. All reads come before the first write.

local MOST_SEARCHED = 128

local kept = tonumber(ARGV[1])
local any_is_long, any_is_gone = any_exists(2, 3), any_exists(3, 3)

-- What the changes of a followee come to: an edge to be added, for each follower, and edges to be removed.
local function sum_up(list, gone, first, changes)
  local added, removed, tombstones = {}, {}, {}
  for at = first, first + 4 * (changes - 1), 4 do
    local kind, follower, version, score = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
    if kind == '+' then
      local buried = tombstones[follower] or any_is_gone and redis.call('ZSCORE', gone, follower)
      local before = added[follower]
      if (not buried or tonumber(buried) < tonumber(version)) and (not before or tonumber(before) < tonumber(score)) then
        added[follower] = score
      end
    else
      local before = tonumber(added[follower])
      if before and (before == tonumber(score) or score == '0' and before <= tonumber(version)) then
        added[follower] = nil
      end
      removed[#removed + 1] = { follower, score, tonumber(version) }
      if tonumber(tombstones[follower] or '0') < tonumber(version) then tombstones[follower] = version end
    end
  end
  return added, removed, tombstones
end

-- The entries of a list that removals name: the part of each, its key, and the follower.
local function find_removed(list, removed)
  local found = {}
  for _, removal in ipairs(removed) do
    local follower, score, version = unpack(removal)
    local name, key, since
    if score == '0' then
      name, key, since = search(list, follower, MOST_SEARCHED)
      if since and tonumber(since) > version then name = nil end
    else
      name = part_at(list, score, follower)
      key = key_of_part(list, name)
      since = key and redis.call('ZSCORE', key, follower)
      if not since or tonumber(since) ~= tonumber(score) then name = nil end
    end
    if name then found[#found + 1] = { name, key, follower } end
  end
  return found
end

-- Plans to add what a list lacks; gives the older edges of the same followers that the parts have.
local function plan_added(list, added)
  local rows, outdated, by_part = {}, {}, {}
  for follower, score in pairs(added) do
    local name = part_at(list, score, follower)
    by_part[name] = by_part[name] or {}
    table.insert(by_part[name], follower)
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
local argument = 2
for key = 1, #KEYS, 3 do
  local list, changes = open_list(key, any_is_long and nil), tonumber(ARGV[argument])
  local added, removed, tombstones = sum_up(list, KEYS[key + 2], argument + 1, changes)
  writes[#writes + 1] = { list, find_removed(list, removed), plan_added(list, added), tombstones }
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
for _, write in ipairs(writes) do
  local list, found, outdated, tombstones = unpack(write)
  bury(KEYS[list.index + 2], tombstones)
  for _, entries in ipairs({ found, outdated }) do
    for _, entry in ipairs(entries) do take_out(list, unpack(entry)) end
  end
  add_rows(list)
  for _, entry in ipairs(found) do drop_empty(list, entry[1], entry[2]) end
end
return redis.status_reply('OK')
