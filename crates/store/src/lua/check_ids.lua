-- Compares the set of whom somebody follows by segments with the segments, for some users; and sets it right if it is told to.
--
-- Keys:       following:<u>, following:<u>:parts, following:<u>:ids of the follower u.
-- Arguments:  'mend' or ''; then the users.
-- Returns:    a letter for each: = all is well, - the set lacks a user who is in a segment, + it has one who is in none.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes.
-- Cost:       O(users * segments), at most 1,024 looks or one user.

local list, mends = open_following(1), ARGV[1] == 'mend'
local keys = {}
if list.is_long then
  for _, name in ipairs(redis.call('ZRANGE', list.parts, 1, -1)) do keys[#keys + 1] = key_of_part(list, name) end
end
if #needs > 1 then return needs end

local function is_sealed(member)
  for _, key in ipairs(keys) do
    if redis.call('ZSCORE', key, member) then return true end
  end
  return false
end
local letters = {}
for at = 2, #ARGV do
  local sealed, known = is_sealed(ARGV[at]), redis.call('SISMEMBER', list.ids, ARGV[at]) == 1
  letters[#letters + 1] = sealed == known and '=' or sealed and '-' or '+'
  if mends and sealed ~= known then redis.call(sealed and 'SADD' or 'SREM', list.ids, ARGV[at]) end
end
return table.concat(letters)
