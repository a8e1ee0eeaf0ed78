-- Merges entries of timelines into an inbox, and completes what they were read for.
--
-- Keys:       inbox:<u>, feed:<u>, following:<u>, following:<u>:parts, following:<u>:ids, state:<u>, muting:<u>,
--             mute_ends:<u>, kept:<u>, kept_since:<u>, and inbox:<u>:<n> of every segment of the reader u.
-- Arguments:  the inbox's name, the most entries of an inbox, a place below which the entries are not complete (score, empty if
--             they are, and member), 1 if the inbox has all it needs now or 0; the number of authors that are now being merged, and
--             each with the score of its edge; the same of authors whose posts are not pushed here; the number of authors that are wholly merged, and each with the mark
--             that tells what was to be merged; then score and member of each entry.
-- Returns:    1, or 0 if the inbox has another name by now, and nothing was done.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes.
-- Cost:       O((entries + authors) log list + removed), at most 64 entries, 64 authors, and the inbox's cap of removed entries.

local feed, following = KEYS[2], open_following(3)
local name, cap, score, member, is_filled = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5] == '1'
local inbox = open_inbox(KEYS[1], feed, 11)
if not inbox or redis.call('HGET', feed, 'name') ~= name then return 0 end

local at = 6
local function authors()
  local first, last = at + 1, at + 2 * tonumber(ARGV[at])
  at = last + 1
  return first, last
end
local first_merging, last_merging = authors()
local first_pulled, last_pulled = authors()
local first_merged, last_merged = authors()

-- The marks of authors who are followed since that time.
local marks = {}
local function mark(first, last, kind)
  for author = first, last, 2 do
    local key = key_of_part(following, part_at(following, ARGV[author + 1], ARGV[author]))
    local since = key and redis.call('ZSCORE', key, ARGV[author])
    if since and tonumber(since) == tonumber(ARGV[author + 1]) then
      marks[#marks + 1] = 'm:' .. ARGV[author]
      marks[#marks + 1] = kind .. ARGV[author + 1]
    end
  end
end
mark(first_merging, last_merging, '')
mark(first_pulled, last_pulled, 'p')
if #needs > 1 then return needs end

local entries = count(inbox)
for entry = at, #ARGV, 2 do
  if is_above_floor(inbox.floor, ARGV[entry], ARGV[entry + 1]) then
    entries = insert(inbox, cap, entries, ARGV[entry], ARGV[entry + 1])
  end
end
if score ~= '' and is_above_floor(inbox.floor, score, member) then
  raise_floor(inbox, score, member)
  entries = count(inbox)
end
close_inbox(inbox, cap, entries)

if #marks > 0 then redis.call('HSET', feed, unpack(marks)) end
for author = first_merged, last_merged, 2 do
  if redis.call('HGET', feed, 'm:' .. ARGV[author]) == ARGV[author + 1] then
    redis.call('HDEL', feed, 'm:' .. ARGV[author])
  end
end
if is_filled then redis.call('HDEL', feed, 'building') end
return 1
