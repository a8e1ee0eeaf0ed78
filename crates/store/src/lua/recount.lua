-- Counts what changes made of the length of a shard in the length of its list.
--
-- Keys:       followers:<t>:parts and followers:<t>:shards of the followee t.
-- Arguments:  the shard's id; by how many entries changes made it longer, and the revision that tells so: see apply.lua.
-- Returns:    nothing.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes, and commutative: a higher revision stands. Of a shard that the list does not have, nothing is counted.
-- Cost:       O(log list).

local shard, growth, revision = unpack(ARGV)
local known = redis.call('HGET', KEYS[2], shard)
if not known then return redis.status_reply('OK') end
local segments, counted, counted_revision = known:match('^(%d+) (%S+) (%d+)$')
if tonumber(revision) <= tonumber(counted_revision) then return redis.status_reply('OK') end
redis.call('ZINCRBY', KEYS[1], string.format('%d', counted - growth), '')
redis.call('HSET', KEYS[2], shard, segments .. ' ' .. growth .. ' ' .. revision)
return redis.status_reply('OK')
