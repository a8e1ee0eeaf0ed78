-- Tells since when lists have members.
--
-- Keys:       the head of each list, and its parts. A list may be there twice.
-- Arguments:  0, or how many of the newest segments of each list are searched; then for each list a score and a member.
-- Returns:    for each list: the score of the member, or nil if it is not there; or the id of the shard that the place belongs into. It is looked for in
--             the part that the score and the member belong into, or instead in the head and the segments that are to be searched.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(lists log list), at most 64 lists; or 1 look a segment, at most 1,024 in all.

local searched, told = tonumber(ARGV[1]), {}
local any_is_long = any_exists(2, 2)
for key = 1, #KEYS, 2 do
  local list, score, member = open_list(key, any_is_long and nil), ARGV[key + 1], ARGV[key + 2]
  local found
  if searched > 0 then
    local _, _, since = search(list, member, searched)
    found = since
  else
    local name = part_at(list, score, member)
    local shard = shard_of(name)
    local part = not shard and key_of_part(list, name)
    found = shard or part and redis.call('ZSCORE', part, member)
  end
  told[#told + 1] = found or false
end
if #needs > 1 then return needs end
return told
