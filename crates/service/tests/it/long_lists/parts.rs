//! A list as it lies in its keys.

use ::model::{Entry, UserId};
use keyspace::{Key, List};
use store::ops::{Inspect, Inspected};

use crate::support::{World, micros, user};

/// Every part is compact and has its place, and nothing else is left. Gives how many parts there are but the head.
pub(super) async fn check_parts(world: &World, list: List, owner: UserId, entries: usize) -> usize {
    let keys = world.store.keys();
    let (head, parts) = (keys.list(list, owner), keys.list_parts(list, owner));
    let rows = world.redis("ZRANGE", &parts, &["0", "-1", "WITHSCORES"]).await;
    let rows: Vec<_> = rows.lines().collect();
    let (mut sealed, mut before) = (0, None);
    for (row, (member, segment)) in rows.chunks(2).skip(1).zip(world.segments(&head, &parts).await) {
        let entries = part(world, &segment).await;
        assert!(!entries.is_empty(), "{segment}");
        let bound = entry_of(&member, row[1]);
        assert!(*entries.last().unwrap() <= bound && before.is_none_or(|before| before < entries[0]), "{segment}");
        before = Some(bound);
        sealed += entries.len();
    }
    let newest = part(world, &head).await;
    assert!(newest.first().is_none_or(|first| before.is_none_or(|before| before < *first)));
    assert_eq!(newest.len() + sealed, entries);
    assert_eq!(rows.get(1).map_or(0, |counter| -counter.parse::<i64>().unwrap()), sealed as i64);
    if list == List::Following {
        assert_eq!(world.redis("SCARD", &keys.following_ids(owner), &[]).await, sealed.to_string());
    }
    assert_ne!(rows.len(), 2, "a directory of nothing");
    rows.len() / 2
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
