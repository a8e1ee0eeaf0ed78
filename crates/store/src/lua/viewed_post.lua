-- Reads a post as one user sees it.
--
-- Keys:       post:<a>:<p>, likes:<a>:<p>, and the part likes:<a>:<p>:<n> of the user who looks.
-- Arguments:  the user.
-- Returns:    the fields of the post and their values, none if there is no such post; and 1 if the user likes it or 0.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes. It writes nothing.
-- Cost:       O(bytes).

local fields, likes, has_parts = redis.call('HGETALL', KEYS[1]), nil, false
for at = 1, #fields, 2 do
  if fields[at] == 'likes' then likes = fields[at + 1] end
  if fields[at] == 'like_parts' then has_parts = true end
end
local function has(key) return redis.call('SISMEMBER', KEYS[key], ARGV[1]) == 1 end
local is_liked = likes and likes ~= '0' and (has(2) or has_parts and has(3))
return { fields, is_liked and 1 or 0 }
