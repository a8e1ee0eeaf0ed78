-- Brings a post to an inbox, wherever it belongs, and makes room for it.
--
-- Keys:       inbox:<u>, feed:<u>, and inbox:<u>:<n> of every segment of the reader u.
-- Arguments:  the most entries of an inbox, the post's score and its member.
-- Returns:    1 if the inbox has it now, 0 if there is none, 2 if it does not reach that far down.
-- Slot rule:  every key carries one partition's hash tag.
-- Idempotent: yes.
-- Cost:       O(segments), at most 64 entries moved and a segment of 128 removed.

local inbox = open_inbox(KEYS[1], KEYS[2], 3)
if not inbox then return 0 end
local cap = tonumber(ARGV[1])
local entries = insert(inbox, cap, count(inbox), ARGV[2], ARGV[3])
close_inbox(inbox, cap, entries)
return is_above_floor(inbox.floor, ARGV[2], ARGV[3]) and 1 or 2
