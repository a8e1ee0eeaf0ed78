-- Reads whole lists of whom users of one partition follow, as many as are short: all of one moment.
--
-- Keys:       clock; then following:<u> and following:<u>:parts of each user u.
-- Arguments:  after how many entries no more lists are read, at most 900.
-- Returns:    the last version given out; then for each user, in the order of the keys, the members and scores of the list, oldest first,
--             with blanks in between. Ends early before a list in segments, and where there were enough entries. If the first list is in
--             segments, nothing but 'long' comes after the version.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(users + entries), at most 128 entries a list, and 1,027 in all.

local most, read = tonumber(ARGV[1]), 0
local any_is_long = any_exists(3, 2)
local told = { redis.call('GET', KEYS[1]) or '0' }
for key = 2, #KEYS, 2 do
  local list = open_list(key, any_is_long and nil)
  -- Of a list of the first format the head may have more than a part may.
  local rows = list.is_long or redis.call('ZRANGE', list.head, 0, MOST_OF_PART, 'WITHSCORES')
  if list.is_long or #rows > 2 * MOST_OF_PART then
    if #told == 1 then told[2] = 'long' end
    break
  end
  told[#told + 1] = table.concat(rows, ' ')
  read = read + #rows / 2
  if read >= most then break end
end
return told
