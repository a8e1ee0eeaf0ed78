-- Removes the posts of an author from an inbox, unless the reader follows the author.
--
-- Keys:       inbox:<u>, following:<u> of the reader u.
-- Arguments:  the author, in decimal and as the last 8 bytes of an entry.
-- Returns:    how many entries were removed; of 64 there may be more.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes.
-- Cost:       O(list), at most the inbox's cap of entries read and 64 removed.

if redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 0 end
local removed = {}
for _, entry in ipairs(redis.call('ZRANGE', KEYS[1], 1, -1)) do
  if #removed == 64 then break end
  if entry:sub(9) == ARGV[2] then removed[#removed + 1] = entry end
end
if #removed > 0 then redis.call('ZREM', KEYS[1], unpack(removed)) end
return #removed
