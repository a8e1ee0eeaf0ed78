-- Commits the end of a user. From now on nobody follows them, and they follow nobody and publish nothing; what there is, is removed
-- piece by piece.
--
-- Keys:       log, clock, operations; then state:<u>, following:<u>, following:<u>:parts, followers:<u>, followers:<u>:parts, posts:<u>,
--             posts:<u>:parts, aside:<u> and hidden:<u> of the user u.
-- Arguments:  the highest version seen of this partition (0 if none), and the user u.
-- Returns:    what is known of the deletion: the state, the version, how many edges and how many posts there were, when all of it was removed
--             in microseconds (nil: there may be more), and twice nil.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. Again, it gives what was committed.
-- Cost:       O(log list). All checks and reads come before the first write, which is the log entry.

local known = redis.call('HMGET', KEYS[4], 'state', 'version', 'edges', 'posts', 'done', 'moved', 'place')
if known[1] == 'deleted' then return known end

local time = redis.call('TIME')
local clock = tonumber(redis.call('GET', KEYS[2]) or '0')
local version = string.format('%.0f', math.max(time[1] * 1000000 + time[2], clock + 1, tonumber(ARGV[1]) + 1))
local out_of_lists = redis.call('ZCARD', KEYS[11]) + redis.call('ZCARD', KEYS[12])
local edges = string.format('%d', length(open_list(5)) + length(open_list(7)) + out_of_lists)
local posts = string.format('%d', length(open_list(9)))

redis.call('XADD', KEYS[1], version .. '-0', 'x', ARGV[2])
redis.call('SET', KEYS[2], version)
redis.call('ZADD', KEYS[3], version, ARGV[2])
redis.call('DEL', KEYS[4])
redis.call('HSET', KEYS[4], 'state', 'deleted', 'version', version, 'edges', edges, 'posts', posts)
return { 'deleted', version, edges, posts, false, false, false }
