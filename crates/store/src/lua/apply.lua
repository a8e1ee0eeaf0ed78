-- Makes followees' lists follow committed changes of their followers.
--
-- Keys:       followers:<t> and gone:<t> of each followee t.
-- Arguments:  for how many seconds `gone` is kept; then for each followee, in the order of the keys: the number n of its
--             changes, and n times '+' or '-', the follower, the version, and the score: of the new edge, or of the removed
--             one (0: whatever is not newer than the version).
-- Returns:    nothing.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes, and commutative: an addition does nothing once a newer removal is known, nor over a newer addition; a
--             removal takes away exactly the edge that it names.
-- Cost:       O(changes log list), at most 64 changes and 16 expired tombstones a removal.

local kept = tonumber(ARGV[1])
local buried = true
if #KEYS > 2 then
  -- Mostly there are no tombstones: one look at all followees instead of one for each change.
  local gone = {}
  for key = 2, #KEYS, 2 do gone[#gone + 1] = KEYS[key] end
  buried = redis.call('EXISTS', unpack(gone)) > 0
end

local now
local argument = 2
for key = 1, #KEYS, 2 do
  local followers, gone = KEYS[key], KEYS[key + 1]
  local changes = tonumber(ARGV[argument])
  local added = {}
  for at = argument + 1, argument + 4 * changes, 4 do
    local kind, follower, version, score = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
    if kind == '+' then
      local removed = buried and redis.call('ZSCORE', gone, follower)
      if not removed or tonumber(removed) < tonumber(version) then
        added[#added + 1] = score
        added[#added + 1] = follower
      end
    else
      if #added > 0 then
        redis.call('ZADD', followers, 'GT', unpack(added))
        added = {}
      end
      buried = true
      now = now or tonumber(redis.call('TIME')[1]) * 1000000
      local listed = redis.call('ZSCORE', followers, follower)
      local expired = redis.call('ZRANGE', gone, '-inf', now - kept * 1000000, 'BYSCORE', 'LIMIT', 0, 16)
      if listed then
        local since, removed = tonumber(listed), tonumber(score)
        if since == removed or removed == 0 and since <= tonumber(version) then
          redis.call('ZREM', followers, follower)
        end
      end
      if #expired > 0 then redis.call('ZREM', gone, unpack(expired)) end
      redis.call('ZADD', gone, 'GT', version, follower)
      redis.call('EXPIRE', gone, kept)
    end
  end
  if #added > 0 then redis.call('ZADD', followers, 'GT', unpack(added)) end
  argument = argument + 1 + 4 * changes
end
return redis.status_reply('OK')
