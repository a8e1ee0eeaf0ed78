-- Commits whether a user is active. Of who is not, nobody sees a follow: those of the user and those of others of them are put aside,
-- piece by piece, and are brought back piece by piece.
--
-- Keys:       log, clock, operations; then state:<u>, following:<u>, following:<u>:parts, followers:<u>, followers:<u>:parts and
--             aside:<u> of the user u.
-- Arguments:  the highest version seen of this partition (0 if none), the user u, and the state: active, suspended or deactivated.
-- Returns:    what is known of the last operation about the user: the state (nil: active), the version, how many edges and how many posts there
--             were, when it ended in microseconds (nil: it goes on), and how many edges are moved. All nil if there was none. Of a deleted
--             user it is the deletion, and nothing was done.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. A state that the user has already writes nothing.
-- Cost:       O(log list). All checks and reads come before the first write, which is the log entry.

local seen, user, wanted = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local known = redis.call('HMGET', KEYS[4], 'state', 'version', 'edges', 'posts', 'done', 'moved')
if known[1] == 'deleted' or (known[1] or 'active') == wanted then return known end

local time = redis.call('TIME')
local clock = tonumber(redis.call('GET', KEYS[2]) or '0')
local version = string.format('%.0f', math.max(time[1] * 1000000 + time[2], clock + 1, seen + 1))
local edges = length(open_list(5)) + length(open_list(7)) + redis.call('ZCARD', KEYS[9])

redis.call('XADD', KEYS[1], version .. '-0', 'S', user .. ' ' .. wanted)
redis.call('SET', KEYS[2], version)
redis.call('ZADD', KEYS[3], version, user)
redis.call('DEL', KEYS[4])
redis.call('HSET', KEYS[4], 'version', version, 'edges', edges, 'posts', 0, 'moved', 0)
if wanted ~= 'active' then redis.call('HSET', KEYS[4], 'state', wanted) end
return { wanted, version, tostring(edges), '0', false, '0' }
