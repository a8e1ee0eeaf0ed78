-- Copies a segment to the end of a shard, where nobody looks for it until the list says so.
--
-- Keys:       the shard's head, its parts, and its facts.
-- Arguments:  the number of the step; score and member of the shard's bound ('' twice if the shard is new); the score of the segment's bound,
--             and its member; then scores and members, at most 128.
-- Returns:    1, or 0 if a later step was here, or the shard is closed.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes. Again, however late, it does nothing: by then the copy may be part of the list, and changed. What lies above the
--             shard's bound was copied by a step before and not handed over, and goes.
-- Cost:       O(entries log entries), at most 128 entries.

local list, facts = open_list(1), KEYS[3]
if redis.call('HEXISTS', facts, 'closed') == 1 then return 0 end
local last_step, step = tonumber(redis.call('HGET', facts, 'step') or '0'), tonumber(ARGV[1])
if last_step >= step then return last_step == step and 1 or 0 end

local first = 1
if list.is_long and ARGV[2] ~= '' then first = count_before(list.parts, ARGV[2], ARGV[3] .. ' ~') end
local left_over = {}
for _, name in ipairs(list.is_long and redis.call('ZRANGE', list.parts, first, -1) or {}) do
  left_over[name] = key_of_part(list, name)
end
local id, segment = new_segment(list)
if #needs > 1 then return needs end

local grown = 0
for name, key in pairs(left_over) do
  grown = grown - redis.call('ZCARD', key)
  redis.call('UNLINK', key)
  redis.call('ZREM', list.parts, name)
end
local rows = {}
for at = 6, #ARGV do rows[#rows + 1] = ARGV[at] end
grown = grown + #rows / 2
redis.call('ZADD', segment, unpack(rows))
redis.call('ZADD', list.parts, ARGV[4], ARGV[5] .. ' ' .. id)
redis.call('ZINCRBY', list.parts, -grown, '')
redis.call('HSET', facts, 'step', step)
return 1
