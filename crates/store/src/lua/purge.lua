-- Removes the posts of an author from an inbox, unless the reader follows the author or keeps some.
--
-- Keys:       inbox:<u>, feed:<u>, following:<u>, following:<u>:parts, following:<u>:ids, state:<u>, muting:<u>,
--             mute_ends:<u>, kept:<u>, kept_since:<u>, and inbox:<u>:<n> of every segment of the reader u.
-- Arguments:  the author, in decimal and as the last 8 bytes of an entry; the most entries of an inbox.
-- Returns:    how many entries were removed; of 64 there may be more.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes.
-- Cost:       O(list), at most the inbox's cap of entries read and 64 removed.

local inbox = open_inbox(KEYS[1], KEYS[2], 11)
if not inbox or follows_each(open_following(3), { ARGV[1] })[1] or redis.call('ZSCORE', KEYS[9], ARGV[1]) then return 0 end
local removed = 0
for part = #inbox.directory, 0, -1 do
  local key, found = key_of(inbox, part), {}
  for _, entry in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    if removed + #found == 64 then break end
    if entry:sub(9) == ARGV[2] then found[#found + 1] = entry end
  end
  if #found > 0 then redis.call('ZREM', key, unpack(found)) end
  removed = removed + #found
  if part > 0 and redis.call('EXISTS', key) == 0 then remove_segment(inbox, part) end
end
if removed > 0 then close_inbox(inbox, tonumber(ARGV[3]), count(inbox)) end
return removed
