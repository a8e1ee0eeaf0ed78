-- Removes posts: from their author's timeline, and what they are.
--
-- Keys:       posts:<a>, posts:<a>:parts of the author a; then post:<a>:<p> of each post p.
-- Arguments:  for each post, in the order of the keys: its score and its member in the timeline.
-- Returns:    nothing.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes.
-- Cost:       O(posts log list), at most 64 posts.

local list, found = open_list(1), {}
for at = 1, #ARGV, 2 do
  local name = part_at(list, ARGV[at], ARGV[at + 1])
  found[#found + 1] = { name, key_of_part(list, name), ARGV[at + 1] }
end
if #needs > 1 then return needs end
for at, entry in ipairs(found) do
  redis.call('UNLINK', KEYS[at + 2])
  take_out(list, unpack(entry))
end
for _, entry in ipairs(found) do drop_empty(list, entry[1], entry[2]) end
return redis.status_reply('OK')
