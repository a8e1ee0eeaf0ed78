//! The servers that all cases share, and a way to look at them past the service.

use localcluster::{LocalCluster, Options, Topology};
use tokio::sync::OnceCell;

/// What stores the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    /// A Redis Cluster of three primaries.
    Cluster,
    /// One Redis without cluster mode.
    Single,
    /// A Valkey cluster of three primaries.
    Valkey,
}

impl Backend {
    pub(crate) fn is_cluster(self) -> bool {
        self.topology() != Topology::Single
    }

    pub(super) fn mode(self) -> &'static str {
        if self.is_cluster() { "cluster" } else { "single" }
    }

    fn topology(self) -> Topology {
        match self {
            Self::Cluster | Self::Valkey => Topology::Cluster { primaries: 3, replicas: 0 },
            Self::Single => Topology::Single,
        }
    }
}

/// Every key that matches the pattern, the digest of its value, and in how many seconds it expires (-1: never), one a line.
const DESCRIBE: &str = "
local cursor, lines = '0', {}
repeat
  local reply = redis.call('SCAN', cursor, 'MATCH', ARGV[1], 'COUNT', 1000)
  cursor = reply[1]
  for _, key in ipairs(reply[2]) do
    lines[#lines + 1] = key .. ' ' .. redis.sha1hex(redis.call('DUMP', key)) .. ' ' .. redis.call('TTL', key)
  end
until cursor == '0'
return table.concat(lines, '\\n')";

/// Every key that matches the pattern, one a line.
const SCAN: &str = "
local cursor, keys = '0', {}
repeat
  local reply = redis.call('SCAN', cursor, 'MATCH', ARGV[1], 'COUNT', 1000)
  cursor = reply[1]
  for _, key in ipairs(reply[2]) do keys[#keys + 1] = key end
until cursor == '0'
return table.concat(keys, '\\n')";

/// How many of some keys are there. Those of other nodes are errors, which count as none.
const COUNT: &str = "
local count = 0
for _, key in ipairs(ARGV) do
  local there = redis.pcall('EXISTS', key)
  if type(there) == 'number' then count = count + there end
end
return count";

/// A key as it was at some time.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    pub(crate) key: String,
    pub(crate) digest: String,
    pub(crate) expires_in: i64,
}

const KEY_SLOTS: &str = "
local slots = {}
for number, key in ipairs(ARGV) do slots[number] = redis.call('CLUSTER', 'KEYSLOT', key) end
return slots";

/// Running servers. They end with this process, and their data goes with them.
pub(crate) struct Redis {
    servers: LocalCluster,
}

impl Redis {
    /// The servers of a backend, started when they are first asked for.
    pub(super) async fn shared(backend: Backend) -> &'static Self {
        static CLUSTER: OnceCell<Redis> = OnceCell::const_new();
        static SINGLE: OnceCell<Redis> = OnceCell::const_new();
        static VALKEY: OnceCell<Redis> = OnceCell::const_new();
        let cell = match backend {
            Backend::Cluster => &CLUSTER,
            Backend::Single => &SINGLE,
            Backend::Valkey => &VALKEY,
        };
        cell.get_or_init(|| async {
            let mut options = Options::temporary(backend.topology()).expect("temporary directory");
            if backend == Backend::Valkey {
                options = options.valkey().unwrap_or_else(|error| panic!("{error}"));
            }
            Self { servers: LocalCluster::start(options).await.expect("start") }
        })
        .await
    }

    /// The addresses, as `redis.urls` takes them.
    pub(crate) fn urls(&self) -> String {
        self.servers.addresses().iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }

    /// How many servers there are.
    pub(crate) fn nodes(&self) -> usize {
        self.servers.nodes().len()
    }

    /// The reply to a command of one node.
    pub(crate) async fn on_node(&self, node: usize, command: &[&str]) -> String {
        self.servers.cli(node, command).await.expect("redis command")
    }

    /// The reply to a command, from the node that has its key.
    pub(crate) async fn command(&self, command: &[&str]) -> String {
        self.on_node(0, &[&["-c"], command].concat()).await
    }

    /// The keys that match a pattern, each with the number of its node.
    pub(crate) async fn scan(&self, pattern: &str) -> Vec<(usize, String)> {
        let mut keys = Vec::new();
        for node in 0..self.nodes() {
            let reply = self.on_node(node, &["EVAL", SCAN, "0", pattern]).await;
            keys.extend(reply.lines().filter(|line| !line.is_empty()).map(|key| (node, key.to_owned())));
        }
        keys
    }

    /// Whether none of some keys is there, whichever slots they are in. Takes no look at any other key, so that it may be asked again and again.
    pub(crate) async fn has_none(&self, keys: &[String]) -> bool {
        let keys = keys.iter().map(String::as_str);
        let command: Vec<_> = ["EVAL", COUNT, "0"].into_iter().chain(keys).collect();
        for node in 0..self.nodes() {
            if self.on_node(node, &command).await.trim() != "0" {
                return false;
            }
        }
        true
    }

    /// The slot of each key, as a node of a cluster computes it.
    pub(crate) async fn key_slots(&self, keys: &[&str]) -> Vec<u16> {
        let mut slots = Vec::new();
        for keys in keys.chunks(1_000) {
            let reply = self.on_node(0, &[&["EVAL", KEY_SLOTS, "0"], keys].concat()).await;
            slots.extend(reply.lines().map(|slot| slot.parse::<u16>().expect("a slot")));
        }
        slots
    }

    /// The keys that match a pattern, with what is in them.
    pub(crate) async fn describe(&self, pattern: &str) -> Vec<Described> {
        let mut described = Vec::new();
        for node in 0..self.nodes() {
            let reply = self.on_node(node, &["EVAL", DESCRIBE, "0", pattern]).await;
            described.extend(reply.lines().filter(|line| !line.is_empty()).map(|line| {
                let [key, digest, seconds] = line.split(' ').collect::<Vec<_>>().try_into().expect("three words");
                let expires_in = seconds.parse().expect("seconds");
                Described { key: key.to_owned(), digest: digest.to_owned(), expires_in }
            }));
        }
        described
    }
}
