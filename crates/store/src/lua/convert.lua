-- Seals what a head has too much, in a list of the first format, whose head has all entries.
--
-- Keys:       the head of the list, its parts, and for a list of whom somebody follows its ids.
-- Arguments:  1 if it is a list of posts, or 0.
-- Returns:    how many segments were made, and 1 if the head still has too many entries or 0.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes.
-- Cost:       O(log list), at most 8 segments of 96 entries, and 128 entries that are written anew.

local MOST_SEGMENTS = 8

local list = open_list(1)
list.ids, list.is_of_posts = KEYS[3], ARGV[1] == '1'
local too_many = redis.call('ZCARD', list.head) - MOST_OF_PART
list.plans = {}
for number = 1, math.min(MOST_SEGMENTS, math.ceil(too_many / SEALED)) do
  local last = number * SEALED
  local bound = place_after(list, list.head, last) or redis.call('ZRANGE', list.head, last - 1, last - 1, 'WITHSCORES')
  local id, key = new_segment(list)
  list.plans[number] = { name = '', key = list.head, rows = {}, bound = bound, new_id = id, new_key = key }
end
if #needs > 1 then return needs end
add_rows(list)

local left = redis.call('ZCARD', list.head)
-- Redis does not make a ZSET compact again that was large once. It may not be allowed to ask.
local encoding = redis.pcall('OBJECT', 'ENCODING', list.head)
if encoding == 'skiplist' and left <= MOST_OF_PART then
  local entries, rows = redis.call('ZRANGE', list.head, 0, -1, 'WITHSCORES'), {}
  for at = 1, #entries, 2 do rows[at], rows[at + 1] = entries[at + 1], entries[at] end
  redis.call('UNLINK', list.head)
  redis.call('ZADD', list.head, unpack(rows))
end
return { #list.plans, left > MOST_OF_PART and 1 or 0 }
