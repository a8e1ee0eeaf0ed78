-- How many entries a log ever got, and how many of them it no longer has. Entries go from its oldest end only, so that it lacks none of
-- those that came after it had got a number of them, as long as no more than that number are gone.
local function log_figures(key)
  if redis.call('EXISTS', key) == 0 then return 0, 0 end
  local info, added, length = redis.call('XINFO', 'STREAM', key), 0, 0
  for at = 1, #info, 2 do
    if info[at] == 'entries-added' then added = info[at + 1] end
    if info[at] == 'length' then length = info[at + 1] end
  end
  return added, added - length
end

