-- Makes followees' lists follow committed changes of their followers.
--
-- Keys:       followers:<t> and gone:<t> of the followee t of each change.
-- Arguments:  for how many seconds `gone` is kept; then for each change, in the order of the keys: '+' or '-', the follower,
--             the version, and the score: of the new edge, or of the removed one (0: whatever is not newer than the version).
-- Returns:    nothing.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes, and commutative: an addition does nothing once a newer removal is known, nor over a newer addition; a
--             removal takes away exactly the edge that it names.
-- Cost:       O(changes log list), at most 64 changes and 16 expired tombstones a removal.

local kept = tonumber(ARGV[1])
local now
local argument = 2
for key = 1, #KEYS, 2 do
  local followers, gone = KEYS[key], KEYS[key + 1]
  local kind, follower, version, score = ARGV[argument], ARGV[argument + 1], ARGV[argument + 2], ARGV[argument + 3]
  argument = argument + 4
  if kind == '+' then
    local removed = redis.call('ZSCORE', gone, follower)
    if not removed or tonumber(removed) < tonumber(version) then
      redis.call('ZADD', followers, 'GT', score, follower)
    end
  else
    now = now or tonumber(redis.call('TIME')[1]) * 1000000
    local listed = redis.call('ZSCORE', followers, follower)
    local expired = redis.call('ZRANGE', gone, '-inf', now - kept * 1000000, 'BYSCORE', 'LIMIT', 0, 16)
    if listed then
      local at, removed = tonumber(listed), tonumber(score)
      if at == removed or removed == 0 and at <= tonumber(version) then redis.call('ZREM', followers, follower) end
    end
    if #expired > 0 then redis.call('ZREM', gone, unpack(expired)) end
    redis.call('ZADD', gone, 'GT', version, follower)
    redis.call('EXPIRE', gone, kept)
  end
end
return redis.status_reply('OK')
