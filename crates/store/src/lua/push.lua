-- Brings a post to inboxes of one partition.
--
-- Keys:       inbox:<u> and feed:<u> of each reader u.
-- Arguments:  the most entries of an inbox, the post's score and its member.
-- Returns:    how many inboxes got it, how many readers have none, and how many inboxes do not reach that far down.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes.
-- Cost:       O(readers log list), at most 64 readers.

local cap, score, member = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local pushed, absent, below = 0, 0, 0
for key = 1, #KEYS, 2 do
  local inbox, feed = KEYS[key], KEYS[key + 1]
  local floor = redis.call('HGET', feed, 'floor')
  if not floor then
    absent = absent + 1
  elseif is_above_floor(floor, score, member) then
    redis.call('ZADD', inbox, score, member)
    trim(inbox, feed, cap)
    pushed = pushed + 1
  else
    below = below + 1
  end
end
return { pushed, absent, below }
