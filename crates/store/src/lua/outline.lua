-- Reads a list that is one key, or tells the segments of a longer one. A shard is told as a segment would be.
--
-- Keys:       the head of the list, and its parts.
-- Arguments:  the number of the first segment, from 0 for the oldest; the most segments, at most 1,000.
-- Returns:    1 if the list has segments or 0; then the members and scores of the list, oldest first, with blanks in between, or for
--             each segment, oldest first, the member of its bound, its id, and the score of the bound, likewise.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: reads only.
-- Cost:       O(log list + entries), at most 1,000 segments, or 1,000 entries of the head of a list of the first format.

local list, first, most = open_list(1), tonumber(ARGV[1]), tonumber(ARGV[2])
if list.is_long then
  -- The lowest member counts entries.
  return { 1, table.concat(redis.call('ZRANGE', list.parts, first + 1, first + most, 'WITHSCORES'), ' ') }
end
if redis.call('ZCARD', list.head) > 1000 then return { 1, '' } end
return { 0, table.concat(redis.call('ZRANGE', list.head, 0, -1, 'WITHSCORES'), ' ') }
