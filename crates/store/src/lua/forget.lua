-- Takes entries out of an inbox whose posts are not there.
--
-- Keys:       inbox:<u>, feed:<u>, and inbox:<u>:<n> of every segment of the reader u.
-- Arguments:  the most entries of an inbox; then score and member of each entry.
-- Returns:    how many entries were removed.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes.
-- Cost:       O(entries log list), at most 64 entries.

local inbox, removed = open_inbox(KEYS[1], KEYS[2], 3), 0
if not inbox then return removed end
for entry = 2, #ARGV, 2 do
  local part = locate(inbox.directory, tonumber(ARGV[entry]), ARGV[entry + 1])
  local key = key_of(inbox, part)
  removed = removed + redis.call('ZREM', key, ARGV[entry + 1])
  if part > 0 and redis.call('EXISTS', key) == 0 then remove_segment(inbox, part) end
end
if removed > 0 then close_inbox(inbox, tonumber(ARGV[1]), count(inbox)) end
return removed
