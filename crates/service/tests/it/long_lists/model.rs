//! A list as it should be.

use std::collections::{BTreeMap, BTreeSet};

use ::model::{Edge, Entry, Micros, Order, UserId, Version, Window};
use keyspace::List;
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use store::ops::{
    Count, Follow, FollowRow, FollowerChange, FollowerRows, Place, Probe, Probed, Range, RowOutcome, Unfollow,
};

use super::{OWNER, parts::check_parts, shards::spread};
use crate::support::{World, micros, user};

/// How many entries make a list long, besides those that are there twice.
const GROWTH: usize = 960;

/// What a list should have.
pub(super) struct Model {
    pub(super) list: List,
    pub(super) entries: BTreeMap<UserId, Micros>,
    /// Scores that were removed: no edge gets one of them again.
    removed: BTreeMap<UserId, Micros>,
    random: StdRng,
    /// Times are chosen from so many: few give many equal ones.
    times: u64,
    version: u64,
    pub(super) has_shards: bool,
}

impl Model {
    pub(super) fn new(list: List, times: u64, seed: u64) -> Self {
        Self {
            list,
            entries: BTreeMap::new(),
            removed: BTreeMap::new(),
            random: StdRng::seed_from_u64(seed),
            times,
            version: 1_700_000_000_000_000,
            has_shards: false,
        }
    }

    /// A list of followers whose oldest segments are moved.
    pub(super) fn in_shards(self) -> Self {
        Self { has_shards: true, ..self }
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
    pub(super) async fn step(&mut self, world: &World) {
        match self.list {
            List::Following => self.follow_or_unfollow(world).await,
            List::Followers => self.apply(world).await,
        }
        if self.has_shards {
            let steps = self.random.random_range(0..4);
            spread(world, steps, 3).await;
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
                let unfollowed = world.run(Unfollow { edge, keeps_posts: false, seen: Version(0) }).await;
                assert_eq!(unfollowed.removed, self.entries.remove(&followee), "{edge:?}");
            }
            return;
        }
        let number = self.random.random_range(1..=64);
        let rows = (0..number)
            .map(|_| {
                let followee = self.somebody();
                FollowRow { followee, followed_at: self.random.random_bool(0.7).then(|| self.time()) }
            })
            .collect();
        self.follow(world, rows).await;
    }

    async fn follow(&mut self, world: &World, rows: Vec<FollowRow>) {
        let follow = Follow {
            partition: world.store.keys().partition(user(OWNER)),
            followers: vec![FollowerRows { follower: user(OWNER), rows: rows.clone() }],
            source: String::new(),
            max_following: 50_000,
            per_hour: 0,
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
                RowOutcome::OverLimit | RowOutcome::Unavailable | RowOutcome::Blocked | RowOutcome::TooMany { .. } => {
                    panic!("{outcome:?}")
                }
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
            world.apply_all(changes).await;
            if self.random.random_bool(0.2) {
                world.apply_all(changes).await;
            }
        }
    }

    /// What is read is what a sorted list has, from any place, both ways.
    pub(super) async fn check(&mut self, world: &World) {
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
            let from = after.map(Place::After);
            let mut range = Range { list: self.list, user: user(OWNER), stretch: None, order, window, from, limit };
            let in_window = |entry: &Entry| (window.from..=window.until).contains(&entry.at);
            let is_after = |entry: &Entry| after.is_none_or(|after| order.is_after(*entry, after));
            let mut wanted: Vec<_> =
                sorted.iter().copied().filter(|entry| in_window(entry) && is_after(entry)).collect();
            if order == Order::NewestFirst {
                wanted.reverse();
            }
            let mut read = Vec::new();
            loop {
                let part = world.range(range).await;
                assert!(part.len() <= limit);
                read.extend_from_slice(&part);
                match part.last() {
                    Some(last) if part.len() == limit && in_window(last) && read.len() < 3 * limit + 200 => {
                        range.from = Some(Place::After(*last));
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
        let probed = world.run(Probe { follower: user(OWNER), followees: followees.clone() }).await.of_each;
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

    /// Adds entries that are newer than all others, so that the list is long.
    pub(super) async fn grow(&mut self, world: &World) {
        for _ in 0..GROWTH / 64 {
            match self.list {
                List::Following => {
                    let rows = (0..64).map(|_| FollowRow { followee: self.somebody(), followed_at: None }).collect();
                    self.follow(world, rows).await;
                }
                List::Followers => {
                    let changes: Vec<_> = (0..64).filter_map(|_| self.newest_follower()).collect();
                    world.apply_all(&changes).await;
                }
            }
            if self.has_shards {
                spread(world, 1, 3).await;
            }
        }
    }

    /// A follower who was never there, since a time later than all others'.
    fn newest_follower(&mut self) -> Option<(Edge, FollowerChange)> {
        let follower = self.somebody();
        self.version += 1;
        let followed_at = micros(1_600_000_000_000_000 + self.times + (self.version - 1_700_000_000_000_000));
        let is_new = !self.entries.contains_key(&follower) && !self.removed.contains_key(&follower);
        is_new.then(|| {
            self.entries.insert(follower, followed_at);
            let change = FollowerChange::Present { followed_at, version: Version(self.version) };
            (Edge::new(follower, user(OWNER)).unwrap(), change)
        })
    }

    /// Removes all there is, one by one, in any order.
    pub(super) async fn empty(&mut self, world: &World) {
        while let Some(other) = self.anybody_listed() {
            let at = self.entries.remove(&other).unwrap();
            match self.list {
                List::Following => {
                    let edge = Edge::new(user(OWNER), other).unwrap();
                    let unfollowed = world.run(Unfollow { edge, keeps_posts: false, seen: Version(0) }).await;
                    assert_eq!(unfollowed.removed, Some(at));
                }
                List::Followers => {
                    self.version += 1;
                    let change = FollowerChange::Absent { removed: Some(at), version: Version(self.version) };
                    world.apply(Edge::new(other, user(OWNER)).unwrap(), change).await;
                }
            }
            if self.entries.len() == 200 {
                check_parts(world, self.list, user(OWNER), self.entries.len()).await;
            }
        }
        if self.has_shards {
            // Their bounds stay.
            check_parts(world, self.list, user(OWNER), 0).await;
            return;
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
