-- Commits the end of a post.
--
-- Keys:       log, pending, clock, posts:<a>, posts:<a>:parts, post:<a>:<p> and erased:<a> of the author a, and operations.
-- Arguments:  the highest version seen of this partition (0 if none), the author, the post id, its member in the timeline, for how many
--             seconds it is remembered, and the name in `operations` of the end of its likes.
-- Returns:    d, or n if there is no such post; and the version of the change, or the partition's last one if there was none.
-- Slot rule:  every key carries the partition's hash tag.
-- Idempotent: yes. Again, there is no such post.
-- Cost:       O(log list), and 16 expired ids. All checks and reads come before the first write, which is the log entry.

local seen, author, post, member, kept = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local facts = redis.call('HMGET', KEYS[6], 'version', 'published_at', 'likes')
local clock = tonumber(redis.call('GET', KEYS[3]) or '0')
if not facts[1] then return { 'n', string.format('%.0f', math.max(clock, seen)) } end
local list = open_list(4)
local name = part_at(list, facts[2], member)
local part = key_of_part(list, name)
if #needs > 1 then return needs end

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local version = string.format('%.0f', math.max(now, clock + 1, seen + 1))
redis.call('XADD', KEYS[1], version .. '-0', 'd', author .. ' ' .. post .. ' ' .. facts[2])
redis.call('SET', KEYS[3], version)
-- The rest of its way to the followers.
redis.call('ZREM', KEYS[2], facts[1])
redis.call('UNLINK', KEYS[6])
-- Those who like it, or did, have notes of it.
if facts[3] then redis.call('ZADD', KEYS[8], version, ARGV[6]) end
if part then
  take_out(list, name, part, member)
  drop_empty(list, name, part)
end
local expired = redis.call('ZRANGE', KEYS[7], '-inf', now - kept * 1000000, 'BYSCORE', 'LIMIT', 0, 16)
if #expired > 0 then redis.call('ZREM', KEYS[7], unpack(expired)) end
redis.call('ZADD', KEYS[7], version, post)
redis.call('EXPIRE', KEYS[7], kept)
return { 'd', version }
