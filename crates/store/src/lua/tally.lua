-- Counts the entries of a list by its segments, beside the number that is kept of them; and sets that number right if it is told to.
--
-- Keys:       the head of the list, its parts, and facts: what is known of the shards of a list of followers, or of a shard; for a list of
--             whom somebody follows any key.
-- Arguments:  score and member of a bound ('' if there is none); how many entries the shards have, and the facts as a call before told
--             them ('' and '': the number is not to be set). It is set if the facts are still these.
-- Returns:    0 if there are too many segments for one look, and nothing more. Or 1; the entries of the head; the number that is kept of
--             all others; the entries of all segments up to the bound; the shards as in outline.lua; and the facts, fields and values in
--             turn, each on a line.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes.
-- Cost:       O(segments log list), at most 1,000 segments, and 1,000 facts.

local MOST_SEGMENTS = 1000

local score, member, in_shards, facts_before = unpack(ARGV)
local list = open_list(1)
local kept = list.is_long and -tonumber(redis.call('ZSCORE', list.parts, '') or '0') or 0
local entries, shards = 0, {}
if list.is_long then
  if redis.call('ZCARD', list.parts) > MOST_SEGMENTS + 1 then return { 0 } end
  local names = redis.call('ZRANGE', list.parts, 1, -1, 'WITHSCORES')
  for at = 1, #names, 2 do
    local name, bound = names[at], names[at + 1]
    if shard_of(name) then
      shards[#shards + 1] = name .. ' ' .. bound
    elseif score == '' or not is_above(tonumber(bound), name:match('^[^ ]+'), tonumber(score), member) then
      local key = key_of_part(list, name)
      entries = entries + (key and redis.call('ZCARD', key) or 0)
    end
  end
end
if #needs > 1 then return needs end
local has_facts = redis.call('TYPE', KEYS[3]).ok == 'hash'
local facts = has_facts and table.concat(redis.call('HGETALL', KEYS[3]), '\n') or ''
local head = redis.call('ZCARD', list.head)
if in_shards ~= '' and list.is_long and facts == facts_before then
  redis.call('ZINCRBY', list.parts, string.format('%d', kept - entries - in_shards), '')
end
return { 1, head, kept, entries, table.concat(shards, ' '), facts }
