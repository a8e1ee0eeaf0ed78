//! A list as it lies in its keys.

use ::model::{Entry, UserId};
use keyspace::{Key, List, Shard};
use store::ops::{Inspect, Inspected};

use crate::support::{World, micros, user};

/// Every part is compact and has its place, and nothing else is left. Gives how many parts there are but the head.
pub(super) async fn check_parts(world: &World, list: List, owner: UserId, entries: usize) -> usize {
    let keys = world.store.keys();
    let (head, parts) = (keys.list(list, owner), keys.list_parts(list, owner));
    let directory = directory(world, &parts).await;
    let (mut sealed, mut before, mut segments) = (0, None, 0);
    for (bound, id) in &directory.parts {
        let entries = match Shard::parse(id) {
            Some(shard) => {
                assert_eq!(segments, 0, "shards are below all segments");
                shard_entries(world, owner, shard).await
            }
            None => {
                segments += 1;
                part(world, &head.segment(id)).await
            }
        };
        assert!(!entries.is_empty() || segments == 0, "{id}");
        check_place(&entries, before, *bound);
        before = Some(*bound);
        sealed += entries.len();
    }
    let newest = part(world, &head).await;
    assert!(newest.first().is_none_or(|first| before.is_none_or(|before| before < *first)));
    assert_eq!(newest.len() + sealed, entries);
    assert_eq!(directory.counted, sealed as i64);
    if list == List::Following {
        assert_eq!(world.redis("SCARD", &keys.following_ids(owner), &[]).await, sealed.to_string());
    }
    directory.parts.len()
}

/// All entries of a shard, whose parts have their places.
async fn shard_entries(world: &World, owner: UserId, shard: Shard) -> Vec<Entry> {
    let keys = world.store.keys();
    let head = keys.shard(owner, shard);
    assert_eq!(world.redis("EXISTS", &head, &[]).await, "0", "{head}");
    let directory = directory(world, &keys.shard_parts(owner, shard)).await;
    let (mut all, mut before) = (Vec::new(), None);
    for (bound, id) in directory.parts {
        let entries = part(world, &head.segment(id)).await;
        check_place(&entries, before, bound);
        before = Some(bound);
        all.extend(entries);
    }
    assert_eq!(directory.counted, all.len() as i64);
    all
}

fn check_place(entries: &[Entry], before: Option<Entry>, bound: Entry) {
    assert!(entries.last().is_none_or(|last| *last <= bound));
    assert!(entries.first().is_none_or(|first| before.is_none_or(|before| before < *first)));
}

/// What a key of parts says.
struct Directory {
    /// The bounds and ids of all parts but the head, oldest first.
    parts: Vec<(Entry, String)>,
    /// How many entries these have.
    counted: i64,
}

async fn directory(world: &World, key: &Key) -> Directory {
    let rows = world.redis("ZRANGE", key, &["0", "-1", "WITHSCORES"]).await;
    let rows: Vec<_> = rows.lines().collect();
    assert_ne!(rows.len(), 2, "a directory of nothing");
    let parts = rows.chunks(2).skip(1).map(|row| {
        let (member, id) = row[0].rsplit_once(' ').unwrap();
        (entry_of(member, row[1]), id.to_owned())
    });
    let counted = rows.get(1).map_or(0, |counter| -counter.parse::<i64>().unwrap());
    Directory { parts: parts.collect(), counted }
}

async fn part(world: &World, key: &Key) -> Vec<Entry> {
    let encoding = world.run(Inspect::Encoding(key.clone())).await;
    if encoding == Inspected::Missing {
        return Vec::new();
    }
    assert_eq!(encoding, Inspected::Encoding("listpack".to_owned()), "{key}");
    let rows = world.redis("ZRANGE", key, &["0", "-1", "WITHSCORES"]).await;
    let rows: Vec<_> = rows.lines().collect();
    rows.chunks(2).map(|row| entry_of(row[0], row[1])).collect()
}

fn entry_of(member: &str, score: &str) -> Entry {
    Entry { at: micros(score.parse().unwrap()), user: user(member.parse().unwrap()) }
}
