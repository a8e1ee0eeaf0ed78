//! Long lists, against plain sorted ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    sync::atomic::{AtomicBool, Ordering},
};

use futures::{future::join_all, stream};
use keyspace::{Key, List};
use model::{Deadline, Edge, Entry, Micros, Order, UserId, Version, Window};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use socialgraph_service::{Graph, ImportRow, ListQuery};
use store::ops::{
    Apply, Count, Follow, FollowRow, FollowerChange, FollowerRows, Inspect, Inspected, Probe, Probed, Range,
    RowOutcome, Unfollow,
};

use crate::support::{LIMIT, World, edge, micros, on_each_backend, user};

const OWNER: i64 = 1;

/// What a list should have.
struct Model {
    list: List,
    entries: BTreeMap<UserId, Micros>,
    /// Scores that were removed: no edge gets one of them again.
    removed: BTreeMap<UserId, Micros>,
    random: StdRng,
    /// Times are chosen from so many: few give many equal ones.
    times: u64,
    version: u64,
}

impl Model {
    fn new(list: List, times: u64, seed: u64) -> Self {
        Self {
            list,
            entries: BTreeMap::new(),
            removed: BTreeMap::new(),
            random: StdRng::seed_from_u64(seed),
            times,
            version: 1_700_000_000_000_000,
        }
    }

    fn time(&mut self) -> Micros {
        micros(1_600_000_000_000_000 + self.random.random_range(0..self.times))
    }

    /// Ids of all lengths, so that members have common beginnings.
    fn somebody(&mut self) -> UserId {
        let digits = self.random.random_range(1..=18);
        user(2 + self.random.random_range(0..10_i64.pow(digits)))
    }

    fn anybody_listed(&mut self) -> Option<UserId> {
        let listed: Vec<_> = self.entries.keys().copied().collect();
        listed.choose(&mut self.random).copied()
    }

    fn sorted(&self) -> BTreeSet<Entry> {
        self.entries.iter().map(|(&user, &at)| Entry { at, user }).collect()
    }

    /// Adds and removes up to 64 entries.
    async fn step(&mut self, world: &World) {
        match self.list {
            List::Following => self.follow_or_unfollow(world).await,
            List::Followers => self.apply(world).await,
        }
    }

    async fn follow_or_unfollow(&mut self, world: &World) {
        if self.random.random_range(0..3) == 0 {
            for _ in 0..self.random.random_range(1..20) {
                let followee = match self.random.random_range(0..8) {
                    0 => Some(self.somebody()),
                    _ => self.anybody_listed(),
                };
                let Some(followee) = followee else { continue };
                let edge = Edge::new(user(OWNER), followee).unwrap();
                let unfollowed = world.run(Unfollow { edge, seen: Version(0) }).await;
                assert_eq!(unfollowed.removed, self.entries.remove(&followee), "{edge:?}");
            }
            return;
        }
        let number = self.random.random_range(1..=64);
        let rows: Vec<_> = (0..number)
            .map(|_| {
                let followee = self.somebody();
                FollowRow { followee, followed_at: self.random.random_bool(0.7).then(|| self.time()) }
            })
            .collect();
        let follow = Follow {
            partition: world.store.keys().partition(user(OWNER)),
            followers: vec![FollowerRows { follower: user(OWNER), rows: rows.clone() }],
            source: String::new(),
            max_following: 50_000,
            seen: Version(0),
        };
        for (row, outcome) in rows.iter().zip(world.run(follow).await.outcomes) {
            match outcome {
                RowOutcome::Created { followed_at, .. } => {
                    assert!(row.followed_at.is_none_or(|at| at == followed_at));
                    assert_eq!(self.entries.insert(row.followee, followed_at), None);
                }
                RowOutcome::Existing { followed_at } => {
                    let known = self.entries[&row.followee];
                    assert!(followed_at.is_none_or(|at| at == known));
                }
                RowOutcome::Superseded => assert!(!self.entries.contains_key(&row.followee)),
                RowOutcome::OverLimit => panic!("over the limit"),
            }
        }
    }

    async fn apply(&mut self, world: &World) {
        let mut changes = Vec::new();
        for _ in 0..self.random.random_range(1..=64) {
            self.version += 1;
            let version = Version(self.version);
            let removal = self.random.random_bool(0.4);
            let follower = if removal { self.anybody_listed() } else { Some(self.somebody()) };
            let Some(follower) = follower else { continue };
            let edge = Edge::new(follower, user(OWNER)).unwrap();
            let change = match self.entries.get(&follower) {
                Some(&at) if removal => {
                    self.entries.remove(&follower);
                    self.removed.insert(follower, at);
                    // An older one, or of an older edge, does nothing.
                    let older = FollowerChange::Absent { removed: Some(micros(at.get() - 1)), version: Version(1) };
                    changes.push((edge, older));
                    FollowerChange::Absent { removed: Some(at), version }
                }
                Some(&followed_at) => FollowerChange::Present { followed_at, version },
                None => {
                    let time = self.time();
                    let followed_at = self.removed.get(&follower).map_or(time, |at| time.max(micros(at.get() + 1)));
                    self.entries.insert(follower, followed_at);
                    FollowerChange::Present { followed_at, version }
                }
            };
            changes.push((edge, change));
            if self.random.random_bool(0.2) {
                changes.push((edge, change));
            }
        }
        for changes in changes.chunks(64) {
            world.run(Apply { changes: changes.to_vec() }).await;
            if self.random.random_bool(0.2) {
                world.run(Apply { changes: changes.to_vec() }).await;
            }
        }
    }

    /// What is read is what a sorted list has, from any place, both ways.
    async fn check(&mut self, world: &World) {
        let counts = world.run(Count(user(OWNER))).await;
        let count = if self.list == List::Following { counts.following } else { counts.followers };
        assert_eq!(count, self.entries.len() as u64);
        let sorted = self.sorted();
        for order in [Order::NewestFirst, Order::OldestFirst] {
            let after = match self.random.random_range(0..3) {
                0 => None,
                1 => Some(Entry { at: self.time(), user: self.somebody() }),
                _ => self.anybody_listed().map(|user| Entry { at: self.entries[&user], user }),
            };
            let ends = [self.time(), self.time()];
            let window = match self.random.random_range(0..3) {
                0 => Window { from: ends[0].min(ends[1]), until: ends[0].max(ends[1]) },
                _ => Window::ALL,
            };
            let limit = *[1, 2, 63, 128, 500, 1_000].choose(&mut self.random).unwrap();
            let mut range = Range { list: self.list, user: user(OWNER), order, window, after, limit };
            let in_window = |entry: &Entry| (window.from..=window.until).contains(&entry.at);
            let is_after = |entry: &Entry| after.is_none_or(|after| order.is_after(*entry, after));
            let mut wanted: Vec<_> =
                sorted.iter().copied().filter(|entry| in_window(entry) && is_after(entry)).collect();
            if order == Order::NewestFirst {
                wanted.reverse();
            }
            let mut read = Vec::new();
            loop {
                let part = world.run(range).await;
                assert!(part.len() <= limit);
                read.extend_from_slice(&part);
                match part.last() {
                    Some(last) if part.len() == limit && in_window(last) && read.len() < 3 * limit + 200 => {
                        range.after = Some(*last);
                    }
                    _ => break,
                }
            }
            read.retain(in_window);
            assert_eq!(read, wanted[..read.len()]);
            assert!(read.len() == wanted.len() || read.len() >= 3 * limit + 200 - limit, "{range:?}");
        }
        if self.list == List::Following {
            self.check_probes(world).await;
        }
    }

    async fn check_probes(&mut self, world: &World) {
        let number = *[1, 10, 300].choose(&mut self.random).unwrap();
        let followees: Vec<_> = (0..number)
            .map(|_| if self.random.random() { self.somebody() } else { self.anybody_listed().unwrap_or(user(7)) })
            .collect();
        let probed = world.run(Probe { follower: user(OWNER), followees: followees.clone() }).await;
        let mut untold = 0;
        for (followee, probed) in followees.iter().zip(probed) {
            match (self.entries.get(followee), probed) {
                (None, Probed::Not) => {}
                (Some(&at), Probed::Since(since)) => assert_eq!(at, since),
                (Some(_), Probed::Sometime) => untold += 1,
                (known, probed) => panic!("{followee}: {known:?}, {probed:?}"),
            }
        }
        assert!(untold == 0 || number > 1);
    }
}

/// Every part is compact and has its place, and nothing else is left. Gives how many parts there are but the head.
async fn check_parts(world: &World, list: List, owner: UserId, entries: usize) -> usize {
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

fn seed() -> u64 {
    let seed = env::var("SEED").map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
    println!("SEED={seed}");
    seed
}

#[test]
fn a_long_list_is_a_sorted_list() {
    let seed = seed();
    on_each_backend(async |world| {
        for list in [List::Following, List::Followers] {
            for times in [1, 5, 10_000_000] {
                let mut model = Model::new(list, times, seed);
                for key in [List::Following, List::Followers].map(|list| world.store.keys().list(list, user(OWNER))) {
                    assert_eq!(world.redis("EXISTS", &key, &[]).await, "0");
                }
                let mut most_parts = 0;
                for number in 0..50 {
                    model.step(world).await;
                    model.check(world).await;
                    if number % 25 == 24 {
                        most_parts = most_parts.max(check_parts(world, list, user(OWNER), model.entries.len()).await);
                    }
                }
                assert!(most_parts > 2, "{most_parts}");
                model.empty(world).await;
            }
        }
    });
}

impl Model {
    /// Removes all there is, one by one, in any order.
    async fn empty(&mut self, world: &World) {
        while let Some(other) = self.anybody_listed() {
            let at = self.entries.remove(&other).unwrap();
            match self.list {
                List::Following => {
                    let edge = Edge::new(user(OWNER), other).unwrap();
                    let unfollowed = world.run(Unfollow { edge, seen: Version(0) }).await;
                    assert_eq!(unfollowed.removed, Some(at));
                }
                List::Followers => {
                    self.version += 1;
                    let change = FollowerChange::Absent { removed: Some(at), version: Version(self.version) };
                    world.run(Apply { changes: vec![(Edge::new(other, user(OWNER)).unwrap(), change)] }).await;
                }
            }
            if self.entries.len() == 200 {
                check_parts(world, self.list, user(OWNER), self.entries.len()).await;
            }
        }
        let keys = world.store.keys();
        for key in [
            keys.list(self.list, user(OWNER)),
            keys.list_parts(self.list, user(OWNER)),
            keys.following_ids(user(OWNER)),
        ] {
            assert_eq!(world.redis("EXISTS", &key, &[]).await, "0", "{key}");
        }
        let gone = [keys.left(user(OWNER)), keys.gone(user(OWNER))];
        for key in gone {
            world.redis("DEL", &key, &[]).await;
        }
    }
}

/// A half edge in a long list goes with the unfollow of nothing, as in a short one.
#[test]
fn field_g11_a_half_edge_in_a_segment_is_removed() {
    on_each_backend(async |world| {
        let at = |follower: i64| micros(1_600_000_000_000_000 + follower as u64);
        let changes: Vec<_> = (2..502)
            .map(|follower| {
                (edge(follower, OWNER), FollowerChange::Present { followed_at: at(follower), version: Version(5) })
            })
            .collect();
        for changes in changes.chunks(64) {
            world.run(Apply { changes: changes.to_vec() }).await;
        }
        for follower in [3, 250, 501] {
            let change = world.commit_unfollow(edge(follower, OWNER)).await;
            let FollowerChange::Absent { removed: None, .. } = change else { panic!("{change:?}") };
            assert!(world.list(List::Followers, user(OWNER)).await.iter().any(|entry| entry.user == user(follower)));
            world.apply(edge(follower, OWNER), change).await;
            assert!(world.list(List::Followers, user(OWNER)).await.iter().all(|entry| entry.user != user(follower)));
        }
        assert_eq!(world.list(List::Followers, user(OWNER)).await.len(), 497);
    });
}

/// Writers of one list, and readers of all its pages: nobody is met twice or missed who is there all along.
#[test]
fn many_write_one_list_while_others_page_through_it() {
    const STEADY: i64 = 300;
    const WRITERS: i64 = 16;
    const EACH: i64 = 40;
    on_each_backend(async |world| {
        let graph = world.graph().await;
        let deadline = || Deadline::after(LIMIT);
        for list in [List::Following, List::Followers] {
            let edge = |other| match list {
                List::Following => edge(OWNER, other),
                List::Followers => edge(other, OWNER),
            };
            // Their times are spread over those of the others.
            let steady: Vec<_> = (0..STEADY).map(|number| 10 + number).collect();
            let rows = steady.iter().map(|&other| {
                let followed_at = (other % 3 == 0).then(|| micros(1_600_000_000_000_000 + other as u64));
                Ok(ImportRow { edge: edge(other), followed_at })
            });
            graph.import(stream::iter(rows.collect::<Vec<_>>()), None).await.unwrap();
            let writers = join_all((0..WRITERS).map(|writer| {
                let graph = graph.clone();
                async move {
                    let others = (0..EACH).map(|number| 1_000 + writer * EACH + number);
                    for other in others.clone() {
                        assert!(graph.follow(edge(other), String::new(), deadline()).await.unwrap().created);
                    }
                    for other in others.step_by(2) {
                        assert!(graph.unfollow(edge(other), deadline()).await.unwrap().removed);
                    }
                }
            }));
            let done = AtomicBool::new(false);
            let readers = join_all([Order::NewestFirst, Order::OldestFirst].map(|order| {
                let (graph, done, steady) = (&graph, &done, &steady);
                async move {
                    let mut walks = 0;
                    while !done.load(Ordering::Relaxed) || walks == 0 {
                        let mut met = whole_walk(graph, list, order, 1 + 37 * (walks % 9)).await;
                        assert!(met.is_sorted_by(|one, next| order.is_after(*next, *one)));
                        met.retain(|entry| entry.user.get() < 1_000);
                        let mut met: Vec<_> = met.iter().map(|entry| entry.user.get()).collect();
                        met.sort_unstable();
                        assert_eq!(met, *steady);
                        walks += 1;
                    }
                }
            }));
            let writers = async {
                writers.await;
                done.store(true, Ordering::Relaxed);
            };
            futures::join!(writers, readers);
            let left = (STEADY + WRITERS * EACH / 2) as usize;
            world.wait_until(async || world.pending(user(OWNER)).await == 0).await;
            assert_eq!(world.whole_list(list, user(OWNER)).await.len(), left);
            assert!(check_parts(world, list, user(OWNER), left).await > 3);
        }
    });
}

async fn whole_walk(graph: &Graph, list: List, order: Order, page_size: usize) -> Vec<Entry> {
    let (mut all, mut page_token) = (Vec::new(), String::new());
    loop {
        let query = ListQuery { list, user: user(OWNER), order, window: Window::ALL, page_size, page_token };
        let page = graph.list(query, Deadline::after(LIMIT)).await.unwrap();
        all.extend(page.entries);
        if page.next_page_token.is_empty() {
            return all;
        }
        page_token = page.next_page_token;
    }
}

/// Also where a batch ends between them, and the list needs a new segment just then.
#[test]
fn of_two_rows_of_one_edge_the_first_wins() {
    on_each_backend(async |world| {
        let graph = world.graph().await;
        let rows = (0..3_000).flat_map(|number| [1_000_u64, 2_000].map(|time| (10 + number, time)));
        // One row before them, so that a pair lies across two batches.
        let rows = [(5, 1_000)].into_iter().chain(rows).map(|(followee, time)| {
            Ok(ImportRow { edge: edge(OWNER, followee), followed_at: Some(micros(time * 1_000_000)) })
        });
        let summary = graph.import(stream::iter(rows.collect::<Vec<_>>()), None).await.unwrap();
        assert_eq!((summary.created, summary.existing), (3_001, 3_000));
        let list = world.whole_list(List::Following, user(OWNER)).await;
        assert_eq!(list.len(), 3_001);
        assert!(list.iter().all(|entry| entry.at == micros(1_000_000_000)));
    });
}
