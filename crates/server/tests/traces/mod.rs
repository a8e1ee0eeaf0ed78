//! Looks through whole servers for what mentions a user.

/// For `EVAL` without keys; the arguments are the user's id, a pattern of keys, and a cursor of `SCAN`. Looks at about a thousand keys, so that no server
/// is away for long. Gives the next cursor, and each such key whose name or content has the id as a word, or as the 8 bytes of a binary
/// member, and in how many seconds the key expires (-1: never), one a line.
const FIND: &str = r"
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
local reply = redis.call('SCAN', ARGV[3], 'MATCH', ARGV[2], 'COUNT', 1000)
for _, key in ipairs(reply[2]) do
  local kind = redis.call('TYPE', key).ok
  if mentions(key:gsub('{.-}', '')) or content[kind] and any(content[kind](key)) then
    found[#found + 1] = key .. ' ' .. redis.call('TTL', key)
  end
end
return reply[1] .. '\n' .. table.concat(found, '\n')";

/// A key that mentions a user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mention {
    pub(crate) key: String,
    /// In how many seconds the key expires; -1: never.
    pub(crate) expires_in: i64,
}

impl Mention {
    /// What the key holds.
    pub(crate) fn kind(&self) -> &str {
        self.key.split(':').nth(2).unwrap_or_default()
    }

    /// Only a deleted user's own record, the log, which is trimmed, and what is soon forgotten may mention them.
    pub(crate) fn is_allowed(&self, user: i64) -> bool {
        let within = |seconds| (0..=seconds).contains(&self.expires_in);
        match self.kind() {
            "state" => self.key.ends_with(&format!(":state:{user}")),
            "log" => true,
            "gone" | "shard" => within(3_600),
            "aside" => self.key.ends_with(":marks") && within(3_600),
            "request" => within(24 * 3_600),
            _ => false,
        }
    }
}

/// Every key of a server that mentions a user. Ids that are no counts, such as large ones, are found without mistakes. `run` has a command run by the server.
pub(crate) async fn of(user: i64, pattern: &str, run: impl AsyncFn(&[&str]) -> String) -> Vec<Mention> {
    let (user, mut cursor, mut mentions) = (user.to_string(), "0".to_owned(), Vec::new());
    loop {
        let reply = run(&["EVAL", FIND, "0", &user, pattern, &cursor]).await;
        let mut lines = reply.lines();
        lines.next().expect("a cursor").clone_into(&mut cursor);
        mentions.extend(lines.filter(|line| !line.is_empty()).map(|line| {
            let (key, seconds) = line.rsplit_once(' ').expect("two words");
            Mention { key: key.to_owned(), expires_in: seconds.parse().expect("seconds") }
        }));
        if cursor == "0" {
            return mentions;
        }
    }
}

/// Those keys that should not mention a deleted user.
pub(crate) async fn left(user: i64, pattern: &str, run: impl AsyncFn(&[&str]) -> String) -> Vec<Mention> {
    let mut mentions = of(user, pattern, run).await;
    mentions.retain(|mention| !mention.is_allowed(user));
    mentions
}
