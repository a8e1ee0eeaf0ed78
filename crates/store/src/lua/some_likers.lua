-- Finds some of those who like a post.
--
-- Keys:       some of the sets likes:<a>:<p> and likes:<a>:<p>:<n> of a post p of the author a.
-- Arguments:  how many users to give at most.
-- Returns:    the number of the first of the keys that is there, from 1, and some of its users; nothing if none of the keys is there.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes. It writes nothing.
-- Cost:       O(keys + users).

for number, key in ipairs(KEYS) do
  local users = redis.call('SRANDMEMBER', key, ARGV[1])
  if #users > 0 then
    table.insert(users, 1, number)
    return users
  end
end
return {}
