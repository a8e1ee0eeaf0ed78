-- Tells whether Redis keeps a value of so many entries compact, by making one that is gone when the script ends.
--
-- Keys:       trial.
-- Arguments:  the command that adds entries, ZADD or SADD; the compact encoding; the number of entries.
-- Returns:    1 or 0.
-- Slot rule:  one key.
-- Idempotent: yes.
-- Cost:       O(entries).

local key, command, entries = KEYS[1], ARGV[1], tonumber(ARGV[3])
redis.call('DEL', key)
for first = 1, entries, 1000 do
  local words = {}
  for number = first, math.min(first + 999, entries) do
    if command == 'ZADD' then words[#words + 1] = number end
    -- As long as the longest user ids.
    words[#words + 1] = '1' .. string.format('%018d', number)
  end
  redis.call(command, key, unpack(words))
end
-- Some users of Redis may not ask for it, and the key must go all the same.
local encoding = redis.pcall('OBJECT', 'ENCODING', key)
redis.call('DEL', key)
if type(encoding) == 'table' then return encoding end
return encoding == ARGV[2] and 1 or 0
