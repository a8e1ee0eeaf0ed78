-- Takes the work of moving the oldest segments of a list into shards, or keeps it, and tells the oldest segment, and where to.
--
-- Keys:       followers:<t>, followers:<t>:parts and followers:<t>:shards of the followee t.
-- Arguments:  the worker's name; for how many milliseconds it has the work; the number of segments that stay; of how many segments a
--             shard is made; what the numbers of the list's shards are counted from.
-- Returns:    nothing if no more segments are to move; one 0 if somebody else has the work. Else the number of the step,
--             which gets higher with each; the segment's name, the score of its bound, and its members and scores with blanks in between; and the
--             shard's id, its name until now and the score of its bound (both '' if the shard is new).
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes; again, it is another step, and the one before is void.
-- Cost:       O(log list), and 128 entries read.

local worker, lease, stays, full, origin = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local list, shards = open_list(1), KEYS[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local known = redis.call('HMGET', shards, 'worker', 'until', 'step')
if known[1] and known[1] ~= worker and tonumber(known[2]) > now then return { 0 } end

-- Each shard has a field, too.
local number = known[1] and redis.call('HLEN', shards) - 3 or 0
local segments = list.is_long and redis.call('ZCARD', list.parts) - 1 - number or 0
if segments <= stays then return {} end
local oldest = redis.call('ZRANGE', list.parts, number + 1, number + 1, 'WITHSCORES')
local key = key_of_part(list, oldest[1])
if #needs > 1 then return needs end

local step = tonumber(known[3] or '0') + 1
redis.call('HSET', shards, 'worker', worker, 'until', string.format('%.0f', now + lease), 'step', step)
local told = { step, oldest[1], oldest[2], table.concat(redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), ' ') }
local newest = number > 0 and redis.call('ZRANGE', list.parts, number, number, 'WITHSCORES')
if newest and tonumber(redis.call('HGET', shards, shard_of(newest[1])):match('^%d+')) < full then
  told[5], told[6], told[7] = shard_of(newest[1]), newest[1], newest[2]
else
  -- 2654435769 is the golden ratio's fraction of 2^32.
  told[5], told[6], told[7] = string.format('*%x', (origin + (number + 1) * 2654435769) % 4294967296), '', ''
end
return told
