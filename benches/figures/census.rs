//! What is in a cluster: every key, with its size.

use std::collections::{BTreeMap, BTreeSet};

use fred::{
    bytes::Bytes,
    clients::Client,
    interfaces::ClientLike,
    types::{ClusterHash, CustomCommand, Value},
};
use futures::{StreamExt, TryStreamExt, future::try_join3, stream};
use keyspace::Slot;

use crate::{Result, redis::Nodes};

/// Keys that are looked at side by side.
const SIDE_BY_SIDE: usize = 256;
/// The longest ZSET that Redis keeps as a listpack.
const LISTPACK: u64 = 128;

/// Keys, the entries in them, and what they take.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sum {
    pub(crate) keys: u64,
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
}

/// All keys of a keyspace, `<name>:{<tag>}:<word>` and perhaps more.
#[derive(Default)]
pub(crate) struct Census {
    pub(crate) all: Sum,
    words: BTreeMap<String, Sum>,
    encodings: BTreeMap<String, Sum>,
    nodes: Vec<Sum>,
    slots: BTreeMap<Slot, Sum>,
    long_zsets: u64,
    largest: (u64, String),
}

/// What Redis tells about a key.
struct Facts {
    key: Bytes,
    kind: String,
    encoding: String,
    entries: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, facts: &Facts) {
        self.keys += 1;
        self.entries += facts.entries;
        self.bytes += facts.bytes;
    }
}

impl Census {
    /// Looks at every key of a keyspace on every node.
    pub(crate) async fn take(nodes: &Nodes, name: &str) -> Result<Self> {
        Self::of_patterns(nodes, &[format!("{name}:*")]).await
    }

    /// Looks at the keys of some words.
    pub(crate) async fn of_words(nodes: &Nodes, name: &str, words: &[&str]) -> Result<Self> {
        let patterns: Vec<_> = words.iter().map(|word| format!("{name}:*:{word}:*")).collect();
        Self::of_patterns(nodes, &patterns).await
    }

    async fn of_patterns(nodes: &Nodes, patterns: &[String]) -> Result<Self> {
        let mut census = Self::default();
        for node in nodes.each() {
            let mut keys = BTreeSet::new();
            for pattern in patterns {
                keys.append(&mut keys_of(node, pattern).await?);
            }
            let mut facts = stream::iter(keys).map(|key| facts_of(node, key)).buffer_unordered(SIDE_BY_SIDE);
            let mut sum = Sum::default();
            while let Some(found) = facts.try_next().await? {
                if let Some(facts) = found {
                    sum.add(&facts);
                    census.add(facts);
                }
            }
            census.nodes.push(sum);
        }
        Ok(census)
    }

    fn add(&mut self, facts: Facts) {
        let name = String::from_utf8_lossy(&facts.key).into_owned();
        let word = name.split(':').nth(2).unwrap_or_default().to_owned();
        self.all.add(&facts);
        self.words.entry(word).or_default().add(&facts);
        self.encodings.entry(format!("{} as {}", facts.kind, facts.encoding)).or_default().add(&facts);
        self.slots.entry(Slot::of(&facts.key)).or_default().add(&facts);
        if facts.kind == "zset" && facts.entries > LISTPACK {
            self.long_zsets += 1;
        }
        if facts.bytes > self.largest.0 {
            self.largest = (facts.bytes, name);
        }
    }

    /// The keys of one word.
    pub(crate) fn word(&self, word: &str) -> Sum {
        self.words.get(word).copied().unwrap_or_default()
    }

    /// Prints the sums, with bytes a unit, of which there are so many.
    pub(crate) fn print(&self, unit: &str, units: u64) {
        let header = |what| println!("  {what:<24}{:>10}{:>12}{:>14}{:>16}", "keys", "entries", "bytes", unit);
        let row = |name: &str, sum: &Sum| {
            let each = sum.bytes as f64 / units as f64;
            println!("  {name:<24}{:>10}{:>12}{:>14}{each:>16.2}", sum.keys, sum.entries, sum.bytes);
        };
        header("by first word");
        self.words.iter().for_each(|(word, sum)| row(word, sum));
        row("all", &self.all);
        header("by type and encoding");
        self.encodings.iter().for_each(|(encoding, sum)| row(encoding, sum));
        println!("  ZSETs of more than {LISTPACK} entries: {}", self.long_zsets);
        self.print_spread();
    }

    /// Prints how large keys are at most, and how even they are over nodes and slots.
    pub(crate) fn print_spread(&self) {
        println!("  largest key: {} bytes, {}", self.largest.0, self.largest.1);
        let share = |part: u64, whole: u64| format!("{:.1} %", 100.0 * part as f64 / whole as f64);
        let of_keys: Vec<_> = self.nodes.iter().map(|node| share(node.keys, self.all.keys)).collect();
        let of_bytes: Vec<_> = self.nodes.iter().map(|node| share(node.bytes, self.all.bytes)).collect();
        println!("  share of each primary: {} of the keys, {} of the bytes", of_keys.join(", "), of_bytes.join(", "));
        let mut bytes: Vec<u64> = self.slots.values().map(|slot| slot.bytes).collect();
        bytes.sort_unstable();
        let mean = self.all.bytes as f64 / bytes.len() as f64;
        let times = |percent: usize| bytes[(bytes.len() * percent / 100).min(bytes.len() - 1)] as f64 / mean;
        let fullest = self.slots.iter().max_by_key(|(_, sum)| sum.bytes).map_or(0, |(slot, _)| slot.get());
        println!(
            "  bytes of the {} slots that are used, in times of their mean: least {:.2}, p10 {:.2}, p50 {:.2}, p90 {:.2}, p99 {:.2}, \
             fullest {:.2} (slot {fullest})",
            bytes.len(),
            times(0),
            times(10),
            times(50),
            times(90),
            times(99),
            times(100),
        );
    }
}

/// The names of a node's keys. SCAN may give one twice.
async fn keys_of(node: &Client, pattern: &str) -> Result<BTreeSet<Bytes>> {
    let (mut keys, mut cursor) = (BTreeSet::new(), "0".to_owned());
    loop {
        let args = [cursor.as_str(), "MATCH", pattern, "COUNT", "1000"].map(Value::from);
        let mut page = command(node, "SCAN", args.into()).await?.into_array().into_iter();
        cursor = page.next().and_then(|cursor| cursor.as_string()).ok_or("SCAN gave no cursor")?;
        keys.extend(page.flat_map(Value::into_array).filter_map(Value::into_bytes));
        if cursor == "0" {
            return Ok(keys);
        }
    }
}

/// What there is to know about a key, unless it went away.
async fn facts_of(node: &Client, key: Bytes) -> Result<Option<Facts>> {
    let name = || Value::Bytes(key.clone());
    let (kind, encoding, bytes) = try_join3(
        command(node, "TYPE", vec![name()]),
        command(node, "OBJECT", vec!["ENCODING".into(), name()]),
        command(node, "MEMORY", vec!["USAGE".into(), name(), "SAMPLES".into(), 0_i64.into()]),
    )
    .await?;
    let (Some(kind), Some(encoding), Some(bytes)) = (kind.as_string(), encoding.as_string(), bytes.as_u64()) else {
        return Ok(None);
    };
    let length = match kind.as_str() {
        "zset" => "ZCARD",
        "set" => "SCARD",
        "hash" => "HLEN",
        "stream" => "XLEN",
        "list" => "LLEN",
        _ => return Ok(Some(Facts { key, kind, encoding, entries: 1, bytes })),
    };
    let entries = command(node, length, vec![name()]).await?.as_u64().unwrap_or(0);
    Ok(Some(Facts { key, kind, encoding, entries, bytes }))
}

async fn command(node: &Client, name: &'static str, args: Vec<Value>) -> Result<Value> {
    Ok(node.custom(CustomCommand::new_static(name, ClusterHash::Random, false), args).await?)
}
