-- A list in parts. Redis keeps a ZSET compact up to 128 entries, so no part ever has more: the head has the newest, and older ones
-- lie in segments, each a ZSET in one of a fixed number of slots. The directory names them, newest first, each by its slot and its
-- bound, a place that none of its entries is above: what is at or below the bound, and above the bound of the next one, belongs
-- there. It is text, 25 bytes a segment: slot, score as a double, member of 16 bytes.
--
-- list: head (a key, whose lowest entry is a sentinel of score 0), slots (keys), directory, changed.

local MOST_ENTRIES = 128
local HALF = 64

local function read_directory(text)
  local directory = {}
  for at = 1, #text, 25 do
    directory[#directory + 1] =
      { slot = text:byte(at), score = struct.unpack('>d', text, at + 1), member = text:sub(at + 9, at + 24) }
  end
  return directory
end

local function write_directory(directory)
  local parts = {}
  for at, segment in ipairs(directory) do
    parts[at] = string.char(segment.slot) .. struct.pack('>d', segment.score) .. segment.member
  end
  return table.concat(parts)
end

-- Which part a place belongs to: 0 for the head, or the number of a segment in the directory.
local function locate(directory, score, member)
  for at, segment in ipairs(directory) do
    if is_above(score, member, segment.score, segment.member) then return at - 1 end
  end
  return #directory
end

local function key_of(list, part)
  if part == 0 then return list.head end
  return list.slots[list.directory[part].slot]
end

local function add_segment(list, at, slot, score, member)
  table.insert(list.directory, at, { slot = slot, score = tonumber(score), member = member })
  list.changed = true
end

local function remove_segment(list, at)
  table.remove(list.directory, at)
  list.changed = true
end

local function free_slot(list)
  local taken = {}
  for _, segment in ipairs(list.directory) do taken[segment.slot] = true end
  for slot = 1, #list.slots do
    if not taken[slot] then return slot end
  end
end

-- How many entries the list has.
local function count(list)
  local entries = redis.call('ZCARD', list.head) - 1
  for at = 1, #list.directory do entries = entries + redis.call('ZCARD', key_of(list, at)) end
  return entries
end

-- Makes room in a full part: its older half becomes a segment of its own. There must be a free slot.
local function split(list, part)
  local slot = free_slot(list)
  local from, first = key_of(list, part), part == 0 and 1 or 0
  local rows = redis.call('ZRANGE', from, first, first + HALF - 1, 'WITHSCORES')
  local moved = {}
  for at = 1, #rows, 2 do
    moved[at] = rows[at + 1]
    moved[at + 1] = rows[at]
  end
  redis.call('ZADD', list.slots[slot], unpack(moved))
  redis.call('ZREMRANGEBYRANK', from, first, first + HALF - 1)
  redis.call('PEXPIREAT', list.slots[slot], redis.call('PEXPIRETIME', list.head))
  add_segment(list, part + 1, slot, rows[#rows], rows[#rows - 1])
end
