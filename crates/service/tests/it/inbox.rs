//! Inboxes in segments against a plain sorted list.

use std::{collections::BTreeSet, env, ops::Bound, time::Duration};

use model::{FeedEntry, PostId, UserId};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use store::ops::{Inbox, Inspect, Inspected, Lack, Merge, Merging, Place, Purge, Push, PushOne, Scroll};

use crate::support::{World, edge, micros, on_each_backend, user};

const READER: i64 = 1;
const AUTHORS: [i64; 4] = [2, 3, 1 << 40, i64::MAX];
const NAME: u64 = 7;
const BEGIN: u64 = 1_600_000_000_000_000;

/// What an inbox is to hold.
struct Model {
    cap: u32,
    entries: BTreeSet<FeedEntry>,
    floor: Option<FeedEntry>,
    random: StdRng,
    latest: u64,
}

impl Model {
    fn is_above_floor(&self, entry: FeedEntry) -> bool {
        self.floor.is_none_or(|floor| entry > floor)
    }

    /// Mostly newer than all others, sometimes older, often of the same time as another.
    fn entry(&mut self) -> FeedEntry {
        let at = match self.random.random_range(0..10) {
            0 => BEGIN + self.random.random_range(0..=self.latest),
            1..4 => BEGIN + self.latest,
            _ => {
                self.latest += self.random.random_range(1..3);
                BEGIN + self.latest
            }
        };
        // Of any length, and never the same again.
        let post = PostId::new(self.random.random_range(1 << 30..i64::MAX) >> self.random.random_range(0..8)).unwrap();
        FeedEntry { at: micros(at), post, author: user(*AUTHORS.choose(&mut self.random).unwrap()) }
    }

    /// The newest entries from a place on.
    fn from(&self, place: Option<FeedEntry>, limit: usize) -> Vec<FeedEntry> {
        let below = place.map_or(Bound::Unbounded, Bound::Excluded);
        self.entries.range((Bound::Unbounded, below)).rev().take(limit).copied().collect()
    }
}

fn scroll(cap: u32, from: Option<Place>, limit: usize) -> Scroll {
    let hour = Duration::from_secs(3600);
    Scroll { reader: user(READER), from, limit, name: NAME, lease: Duration::ZERO, idle: hour, cap }
}

fn merge(cap: u32, entries: Vec<FeedEntry>, floor: Option<FeedEntry>) -> Merge {
    let completes = Merging { fills: true, floor, ..Merging::default() };
    Merge { reader: user(READER), name: NAME, cap, entries, completes }
}

async fn step(world: &World, model: &mut Model) {
    let cap = model.cap;
    match model.random.random_range(0..100) {
        0..80 => {
            let entry = model.entry();
            let pushed = world.run(Push { entry, readers: vec![user(READER)] }).await;
            for &reader in &pushed.left {
                assert_eq!(world.run(PushOne { entry, reader, cap }).await.no_inbox, 0);
            }
            model.entries.insert(entry);
        }
        80..95 => {
            let number = model.random.random_range(1..=64);
            let entries: Vec<_> = (0..number).map(|_| model.entry()).collect();
            assert!(world.run(merge(cap, entries.clone(), None)).await);
            model.entries.extend(entries);
        }
        95..97 => {
            let among: Vec<_> = model.entries.iter().take(100).copied().collect();
            let Some(&floor) = among.choose(&mut model.random) else { return };
            assert!(world.run(merge(cap, vec![], Some(floor))).await);
        }
        _ => {
            let author = *AUTHORS.choose(&mut model.random).unwrap();
            world.commit_unfollow(edge(READER, author)).await;
            while world.run(Purge { reader: user(READER), author: user(author), cap }).await {}
            model.entries.retain(|entry| entry.author != user(author));
            world.commit_new(edge(READER, author), None).await;
            let unmark = Merging { merged: marks(world, cap).await, ..Merging::default() };
            let reader = user(READER);
            assert!(world.run(Merge { reader, name: NAME, cap, entries: vec![], completes: unmark }).await);
        }
    }
}

/// Fills the inbox with entries that are newer than all others.
async fn fill(world: &World, model: &mut Model) {
    for _ in 0..model.cap {
        model.latest += 1;
        let entry = FeedEntry { at: micros(BEGIN + model.latest), ..model.entry() };
        let pushed = world.run(PushOne { entry, reader: user(READER), cap: model.cap }).await;
        assert_eq!(pushed.pushed, 1);
        model.entries.insert(entry);
    }
    check(world, model).await;
}

async fn marks(world: &World, cap: u32) -> Vec<(UserId, Lack)> {
    let inbox = world.run(scroll(cap, None, 1)).await;
    let Inbox::Live { merging, .. } = inbox else { panic!("{inbox:?}") };
    merging.into_iter().map(|(author, since)| (author, Lack::Followed(since))).collect()
}

/// The inbox has exactly what the model has above the floor, from any place.
async fn check(world: &World, model: &mut Model) {
    let inbox = world.run(scroll(model.cap, None, 1_000)).await;
    let Inbox::Live { floor, entries, .. } = inbox else { panic!("{inbox:?}") };
    assert!(floor >= model.floor, "a floor never sinks");
    model.floor = floor;
    let before = model.entries.len();
    let kept: BTreeSet<_> = model.entries.iter().copied().filter(|&entry| model.is_above_floor(entry)).collect();
    model.entries = kept;
    assert_eq!(entries, model.from(None, 1_000), "of {before}");
    assert!(entries.len() <= model.cap as usize);
    let from = if model.random.random() {
        model.entry()
    } else {
        *entries.choose(&mut model.random).unwrap_or(&model.entry())
    };
    let limit = model.random.random_range(1..100);
    let inbox = world.run(scroll(model.cap, Some(Place::After(from)), limit)).await;
    let Inbox::Live { entries, .. } = inbox else { panic!("{inbox:?}") };
    assert_eq!(entries, model.from(Some(from), limit), "after {from:?}");
}

/// Every part is compact, and lives as long as the others.
async fn check_parts(world: &World, cap: u32) -> usize {
    let keys = world.store.keys();
    let expires = world.redis("PEXPIRETIME", &keys.feed(user(READER)), &[]).await;
    let mut parts = 0;
    for key in (1..40).map(|number| keys.inbox_segment(user(READER), number)).chain([keys.inbox(user(READER))]) {
        let encoding = world.run(Inspect::Encoding(key.clone())).await;
        if encoding != Inspected::Missing {
            assert_eq!(encoding, Inspected::Encoding("listpack".to_owned()));
            assert_eq!(world.redis("PEXPIRETIME", &key, &[]).await, expires);
            parts += 1;
        }
    }
    assert!(parts <= 1 + cap as usize / 64 + 4);
    parts
}

#[test]
fn an_inbox_is_a_sorted_list() {
    let seed = env::var("IT_SEED").map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
    println!("IT_SEED={seed}");
    on_each_backend(async |world| {
        for author in AUTHORS {
            world.commit_new(edge(READER, author), None).await;
        }
        for cap in [10, 100, 127, 128, 200, 800] {
            let random = StdRng::seed_from_u64(seed);
            let mut model = Model { cap, entries: BTreeSet::new(), floor: None, random, latest: 0 };
            for key in [world.store.keys().feed(user(READER)), world.store.keys().inbox(user(READER))] {
                world.redis("DEL", &key, &[]).await;
            }
            assert_eq!(world.run(scroll(cap, None, 1)).await, Inbox::New);
            assert!(world.run(merge(cap, vec![], None)).await);
            let mut most_parts = 0;
            for number in 0..300 {
                step(world, &mut model).await;
                check(world, &mut model).await;
                if number % 10 == 9 {
                    most_parts = most_parts.max(check_parts(world, cap).await);
                }
            }
            fill(world, &mut model).await;
            most_parts = most_parts.max(check_parts(world, cap).await);
            match cap {
                ..128 => assert_eq!(most_parts, 1),
                128..800 => {}
                800.. => assert!(most_parts > 8, "{most_parts}"),
            }
        }
    });
}
