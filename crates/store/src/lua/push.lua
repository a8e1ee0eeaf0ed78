-- Brings a post to inboxes of one partition, as far as their heads have room.
--
-- Keys:       inbox:<u> and feed:<u> of each reader u.
-- Arguments:  the post's score and its member.
-- Returns:    how many inboxes have it now, how many readers have none, how many inboxes do not reach that far down, and the numbers
--             of the readers, from 0, whose inboxes need more: place.lua.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes.
-- Cost:       O(readers), at most 64 readers.

local score, member = ARGV[1], ARGV[2]
local pushed, absent, below = 0, 0, 0
local left = {}
for key = 1, #KEYS, 2 do
  local facts = redis.call('HMGET', KEYS[key + 1], 'floor', 'segments', 'full')
  if not facts[3] then
    absent = absent + 1
  elseif not is_above_floor(facts[1], score, member) then
    below = below + 1
  elseif push_to_head(KEYS[key], facts[2], facts[3], score, member) then
    pushed = pushed + 1
  else
    left[#left + 1] = (key - 1) / 2
  end
end
return { pushed, absent, below, left }
