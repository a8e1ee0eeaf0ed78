-- Adds entries to a value for as long as Redis keeps it compact.
--
-- Keys:       trial:<name>, which nobody else uses.
-- Arguments:  the command that adds an entry, ZADD or SADD; the compact encoding; the number of the first entry, from 1, and of the
--             last; for how many seconds the value is kept, for more to be added.
-- Returns:    how many entries were compact: the last, or fewer, and then the value is gone.
-- Slot rule:  one key.
-- Idempotent: yes.
-- Cost:       O(entries).

local key, command, wanted = KEYS[1], ARGV[1], ARGV[2]
for number = tonumber(ARGV[3]), tonumber(ARGV[4]) do
  -- As long as the longest user ids.
  local member = string.format('1%018d', number)
  if command == 'ZADD' then
    redis.call(command, key, number, member)
  else
    redis.call(command, key, member)
  end
  -- Some users of Redis may not ask for it, and the key must go all the same.
  local encoding = redis.pcall('OBJECT', 'ENCODING', key)
  if encoding ~= wanted then redis.call('UNLINK', key) end
  if type(encoding) == 'table' then return encoding end
  if encoding ~= wanted then return number - 1 end
end
redis.call('EXPIRE', key, ARGV[5])
return tonumber(ARGV[4])
