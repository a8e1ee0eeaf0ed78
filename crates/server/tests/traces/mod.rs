//! Looks through whole servers for what mentions a user.

/// For `EVAL` without keys; the arguments are the user's id and a pattern of keys. Gives each such key whose name or content has the id as a word, or as the 8 bytes
/// of a binary member, and in how many seconds the key expires (-1: never), one a line.
pub(crate) const FIND: &str = r"
local id, found = ARGV[1], {}
local function binary(text)
  -- Ids of tests are small.
  local number = tonumber(text)
  local bytes = {}
  for at = 8, 1, -1 do
    bytes[at] = string.char(number % 256)
    number = math.floor(number / 256)
  end
  return table.concat(bytes)
end
local as_bytes = binary(id)
local function mentions(text)
  if text:find(as_bytes, 1, true) then return true end
  for word in text:gmatch('%d+') do
    if word == id then return true end
  end
  return false
end
local function any(value)
  if type(value) ~= 'table' then return mentions(tostring(value)) end
  for _, part in ipairs(value) do
    if any(part) then return true end
  end
  return false
end
local content = {
  string = function(key) return redis.call('GET', key) end,
  set = function(key) return redis.call('SMEMBERS', key) end,
  hash = function(key) return redis.call('HGETALL', key) end,
  zset = function(key) return redis.call('ZRANGE', key, 0, -1) end,
  stream = function(key) return redis.call('XRANGE', key, '-', '+') end,
}
local cursor = '0'
repeat
  local reply = redis.call('SCAN', cursor, 'MATCH', ARGV[2], 'COUNT', 1000)
  cursor = reply[1]
  for _, key in ipairs(reply[2]) do
    local kind = redis.call('TYPE', key).ok
    if mentions(key:gsub('{.-}', '')) or content[kind] and any(content[kind](key)) then
      found[#found + 1] = key .. ' ' .. redis.call('TTL', key)
    end
  end
until cursor == '0'
return table.concat(found, '\n')";

/// What [`FIND`] told that should not be there: only a deleted user's own record, the log, which is trimmed, and what expires by itself
/// may mention them.
pub(crate) fn left_of(found: &str) -> Vec<&str> {
    let is_allowed = |line: &&str| {
        let Some((key, seconds)) = line.rsplit_once(' ') else { return line.is_empty() };
        let kind = key.split(':').nth(2).unwrap_or_default();
        let expires = seconds != "-1";
        match kind {
            "state" | "log" => true,
            "gone" | "request" | "shard" => expires,
            _ => false,
        }
    };
    found.lines().filter(|line| !is_allowed(line)).collect()
}
