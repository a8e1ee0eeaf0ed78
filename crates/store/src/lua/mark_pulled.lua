-- Tells readers of one partition that an author's posts are not pushed to them any more, or are again. Their feeds take the posts from
-- the author's timeline from then on, or merge them into the inbox once more.
--
-- Keys:       feed:<u>, following:<u>, following:<u>:parts and following:<u>:ids of each reader u.
-- Arguments:  the author, p (pulled) or m (to be merged), and the score of each reader's follow.
-- Returns:    how many feeds were marked.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes.
-- Cost:       O(readers log list), at most 64 readers.

local STEP = 4
local author, kind = ARGV[1], ARGV[2]
local field = 'm:' .. author
local marks = {}
for key = 1, #KEYS, STEP do
  local reader = (key - 1) / STEP
  local since = ARGV[3 + reader]
  local mark = redis.call('HMGET', KEYS[key], 'full', field)
  if mark[1] and kind == 'm' then
    if mark[2] and mark[2]:sub(1, 1) == 'p' then marks[#marks + 1] = { KEYS[key], mark[2]:sub(2) } end
  elseif mark[1] then
    local following = open_following(key + 1)
    local part = key_of_part(following, part_at(following, since, author))
    local known = part and redis.call('ZSCORE', part, author)
    if known and tonumber(known) == tonumber(since) then marks[#marks + 1] = { KEYS[key], 'p' .. since } end
  end
end
if #needs > 1 then return needs end
for _, mark in ipairs(marks) do redis.call('HSET', mark[1], field, mark[2]) end
return #marks
