-- Order of entries: by score, then by the bytes of the member, as in Redis. Not by Lua's `<`, which follows the locale.

local function is_greater(one, other)
  for at = 1, math.min(#one, #other) do
    local a, b = one:byte(at), other:byte(at)
    if a ~= b then return a > b end
  end
  return #one > #other
end

local function is_above(score, member, other_score, other_member)
  if score ~= other_score then return score > other_score end
  return is_greater(member, other_member)
end

-- How many entries of a ZSET come before a place, which need not be taken. O(log list * log ties).
local function count_before(key, score, member)
  local low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
  local high = low + redis.call('ZCOUNT', key, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_greater(member, redis.call('ZRANGE', key, middle, middle)[1]) then low = middle + 1 else high = middle end
  end
  return low
end
