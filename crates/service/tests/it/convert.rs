//! Keyspaces of the first format, in which each list is one ZSET.

use std::time::Duration;

use keyspace::{Key, List};
use model::{Deadline, Entry, Micros, UserId};
use socialgraph_service::{FeedPolicy, GraphSettings, OpenError};
use store::ops::{Inspect, Inspected, Lease, Place, Timeline};

use crate::support::{World, edge, micros, on_each_backend, user};

const STAR: i64 = 1;
const LENGTHS: [i64; 6] = [3, 128, 129, 300, 1_000, 2_500];

fn at(number: i64) -> Micros {
    // Some have the same time.
    micros(1_600_000_000_000_000 + (number / 7) as u64)
}

async fn add(world: &World, key: &Key, rows: &[(String, String)]) {
    for rows in rows.chunks(200) {
        let words: Vec<_> = rows.iter().flat_map(|(score, member)| [score.as_str(), member.as_str()]).collect();
        world.redis("ZADD", key, &words).await;
    }
}

async fn old_format(world: &World) {
    let facts = ["format", "1", "partitions", "1024", "token_key", &"5".repeat(32)];
    world.redis("HSET", &world.store.keys().format(), &facts).await;
}

/// Follows of the first format: `STAR + n` follows and is followed by as many as `LENGTHS` says.
async fn old_follows(world: &World) {
    let keys = world.store.keys();
    old_format(world).await;
    for (star, length) in (STAR..).zip(LENGTHS) {
        let others: Vec<_> =
            (0..length).map(|number| (at(number).get().to_string(), (1_000 + number).to_string())).collect();
        add(world, &keys.followers(user(star)), &others).await;
        add(world, &keys.following(user(star)), &others).await;
    }
}

async fn lists(world: &World) -> Vec<Vec<Entry>> {
    let mut all = Vec::new();
    for star in (STAR..).take(LENGTHS.len()) {
        for list in [List::Following, List::Followers] {
            all.push(world.whole_list(list, user(star)).await);
        }
    }
    all
}

async fn wait_until_converted(world: &World) {
    let format = world.store.keys().format();
    world.wait_until(async || world.redis("HGET", &format, &["converted"]).await == "1").await;
    assert_eq!(world.redis("HGET", &format, &["format"]).await, "2");
}

async fn assert_compact(world: &World, key: &Key) {
    let encoding = world.run(Inspect::Encoding(key.clone())).await;
    assert_eq!(encoding, Inspected::Encoding("listpack".to_owned()), "{key}");
}

#[test]
fn long_lists_are_converted_and_stay_the_same() {
    on_each_backend(async |world| {
        old_follows(world).await;
        let before = lists(world).await;
        assert_eq!(before.iter().map(Vec::len).max(), Some(2_500));
        let _graph = world.graph().await;
        wait_until_converted(world).await;
        assert_eq!(lists(world).await, before);
        for star in (STAR..).take(LENGTHS.len()).map(user) {
            for list in [List::Following, List::Followers] {
                let (head, parts) = (world.store.keys().list(list, star), world.store.keys().list_parts(list, star));
                assert_compact(world, &head).await;
                for (_, segment) in world.segments(&head, &parts).await {
                    assert_compact(world, &segment).await;
                }
            }
        }
    });
}

#[test]
fn lists_change_while_they_are_converted() {
    on_each_backend(async |world| {
        old_follows(world).await;
        let graph = world.graph().await;
        let deadline = || Deadline::after(Duration::from_secs(20));
        let star = STAR + LENGTHS.len() as i64 - 1;
        for number in 0..300_i64 {
            let (old, new) = (edge(star, 1_000 + 8 * number), edge(star, 10_000 + number));
            assert!(graph.unfollow(old, FeedPolicy::Hide, deadline()).await.unwrap().removed);
            assert!(graph.follow(new, String::new(), deadline()).await.unwrap().created);
            assert!(!graph.follow(edge(star, 1_001 + 8 * number), String::new(), deadline()).await.unwrap().created);
        }
        wait_until_converted(world).await;
        let followees: Vec<UserId> =
            world.whole_list(List::Following, user(star)).await.iter().map(|entry| entry.user).collect();
        let old = (0..2_500).filter(|number| number % 8 != 0 || *number >= 2_400).map(|number| user(1_000 + number));
        let mut wanted: Vec<_> = old.chain((0..300).map(|number| user(10_000 + number))).collect();
        let mut found = followees.clone();
        wanted.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, wanted);
    });
}

#[test]
fn timelines_are_converted() {
    on_each_backend(async |world| {
        let author = user(STAR);
        old_format(world).await;
        let head = world.store.keys().posts(author);
        // Ids whose 8 bytes can be written in a command line.
        let rows = (0..300).map(|number| (at(number).get().to_string(), format!("AAAA{number:04}")));
        add(world, &head, &rows.collect::<Vec<_>>()).await;
        let read = async |from| world.run(Timeline { author, from, limit: 1_000, reader: None }).await.entries;
        let before = read(None).await;
        assert_eq!(before.len(), 300);
        let _graph = world.graph().await;
        wait_until_converted(world).await;
        assert_eq!(read(None).await, before);
        assert_compact(world, &head).await;
        assert_eq!(read(Some(Place::After(before[150]))).await, before[151..]);
    });
}

#[test]
fn an_older_instance_that_runs_is_waited_for() {
    on_each_backend(async |world| {
        old_follows(world).await;
        let older = Lease { instance: "older".to_owned(), millis: 1_000_000 };
        world.run(older).await;
        let opened = world.open(GraphSettings::default(), Duration::from_millis(500)).await;
        assert_eq!(opened.err(), Some(OpenError::OlderInstances));
        let format = world.store.keys().format();
        assert_eq!(world.redis("HGET", &format, &["format"]).await, "1");
        let older = Lease { instance: "older".to_owned(), millis: 700 };
        world.run(older).await;
        let _graph = world.graph().await;
        wait_until_converted(world).await;
    });
}
