-- An inbox is a ZSET and a hash of facts (feed) that live and die together. The ZSET has a sentinel, the empty member with
-- score 0, below its entries: a feed without it has lost its inbox. `floor` in the facts is the place, `<score> <member>`, at or
-- below which the inbox has nothing; empty if it has everything.

local function is_above_floor(floor, score, member)
  if floor == '' then return true end
  local blank = floor:find(' ', 1, true)
  local floor_score = tonumber(floor:sub(1, blank - 1))
  if tonumber(score) ~= floor_score then return tonumber(score) > floor_score end
  return is_greater(member, floor:sub(blank + 1))
end

-- Removes what is beyond the cap, and an eighth of the cap with it, so that not every push has to trim. O(log list + removed).
local function trim(inbox, feed, cap)
  local excess = redis.call('ZCARD', inbox) - 1 - cap
  if excess <= 0 then return end
  excess = excess + math.floor(cap / 8)
  local newest = redis.call('ZRANGE', inbox, excess, excess, 'WITHSCORES')
  redis.call('ZREMRANGEBYRANK', inbox, 1, excess)
  redis.call('HSET', feed, 'floor', newest[2] .. ' ' .. newest[1])
end
