-- Tells of whom of some users somebody follows, and since when.
--
-- Keys:       following:<u>, following:<u>:parts, following:<u>:ids of the follower u.
-- Arguments:  the users, at most 1,000.
-- Returns:    for each the score of the edge, or 'm' if it is in a segment and was not looked for, or nil if there is none. Edges
--             in segments are looked for if that takes at most 1,024 looks; otherwise one more text tells all segments as outline.lua
--             does.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(users log list), and 1,024 looks into segments, or 1,000 bounds read.

local MOST_LOOKS = 1024

local list = open_following(1)
local scores = redis.call('ZMSCORE', list.head, unpack(ARGV))
if not list.is_long then return scores end
local sealed, unknown = redis.call('SMISMEMBER', list.ids, unpack(ARGV)), {}
for at = 1, #ARGV do
  if sealed[at] == 1 and not scores[at] then
    scores[at] = 'm'
    unknown[#unknown + 1] = at
  end
end
if #unknown * (redis.call('ZCARD', list.parts) - 1) > MOST_LOOKS then
  scores[#ARGV + 1] = table.concat(redis.call('ZRANGE', list.parts, 1, 1000, 'WITHSCORES'), ' ')
  return scores
end
for _, at in ipairs(unknown) do
  local _, _, score = search(list, ARGV[at], math.huge)
  scores[at] = score or 'm'
end
if #needs > 1 then return needs end
return scores
