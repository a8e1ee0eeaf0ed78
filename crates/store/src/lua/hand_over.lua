-- Gives a segment that was copied to the end of a shard over to the shard.
--
-- Keys:       followers:<t>, followers:<t>:parts and followers:<t>:shards of the followee t.
-- Arguments:  the number of the step; the segment's name, the score of its bound, and its members and scores as they were copied, with blanks
--             in between; the shard's id, and its name until now ('' if it is new).
-- Returns:    1; or 0 if the segment has changed since, or there was a later step, and nothing was done.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes. Again, the segment is gone, and nothing is done.
-- Cost:       O(log list), and 128 entries read.

local list, shards = open_list(1), KEYS[3]
local step, name, score, copied, shard, old_name = unpack(ARGV)
if redis.call('HGET', shards, 'step') ~= step then return 0 end
if not redis.call('ZSCORE', list.parts, name) then return 0 end
local key = key_of_part(list, name)
if #needs > 1 then return needs end
if table.concat(redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), ' ') ~= copied then return 0 end

redis.call('ZREM', list.parts, name)
if old_name ~= '' then redis.call('ZREM', list.parts, old_name) end
redis.call('ZADD', list.parts, score, name:match('^[^ ]+') .. ' ' .. shard)
redis.call('UNLINK', key)
local segments, rest = (redis.call('HGET', shards, shard) or '0 0 0'):match('^(%d+)(.*)$')
redis.call('HSET', shards, shard, string.format('%d', segments + 1) .. rest)
return 1
