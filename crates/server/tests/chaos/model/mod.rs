//! Random calls against a model in memory.
//!
//! Each worker owns some followers. Only it writes their edges, one call after another, so it knows what each of them must
//! be; the followees are everybody's. Every answer is checked.

mod expect;
mod import;
mod read;
mod write;

use std::{
    collections::BTreeMap,
    future::Future,
    sync::atomic::{AtomicBool, Ordering},
};

use futures::future::{join, join_all};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};

pub(crate) use self::expect::{Known, State};
use super::support::{caller::Caller, graph::Edges};

/// How many of whom there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) workers: usize,
    /// Of each worker.
    pub(crate) followers: usize,
    /// Besides the followers, who are followed too.
    pub(crate) followees: usize,
}

/// Makes random calls for its followers.
pub(crate) struct Worker {
    caller: Caller,
    random: StdRng,
    followers: Vec<i64>,
    followees: Vec<i64>,
    known: BTreeMap<(i64, i64), Known>,
    /// Names the last write.
    token: String,
    /// Answers that deny having changed something: allowed where an attempt went before.
    denials: u64,
}

/// What came of a run.
pub(crate) struct Outcome {
    /// What the graph must be.
    pub(crate) edges: Edges,
    pub(crate) users: Vec<i64>,
    /// How often an answer denied a change, without a failed attempt that would explain it. The service's own repetitions
    /// must.
    pub(crate) denials: u64,
}

/// Runs workers until `meanwhile` has ended.
pub(crate) async fn run(size: Size, seed: u64, caller: &Caller, meanwhile: impl Future<Output = ()>) -> Outcome {
    let owned: Vec<_> = (0..size.workers * size.followers).map(|number| user(1, number)).collect();
    let users: Vec<_> = (0..size.followees).map(|number| user(2, number)).chain(owned.iter().copied()).collect();
    let workers = owned.chunks(size.followers).zip(seed..).map(|(followers, seed)| Worker {
        caller: caller.clone(),
        random: StdRng::seed_from_u64(seed),
        followers: followers.to_vec(),
        followees: users.clone(),
        known: BTreeMap::new(),
        token: String::new(),
        denials: 0,
    });
    let stop = AtomicBool::new(false);
    let working = join_all(workers.map(|worker| worker.work(&stop)));
    let disturbing = async {
        meanwhile.await;
        stop.store(true, Ordering::Relaxed);
    };
    let (workers, ()) = join(working, disturbing).await;
    let denials = workers.iter().map(|worker| worker.denials).sum();
    let known = workers.into_iter().flat_map(|worker| worker.known);
    let edges = known.filter_map(|(edge, known)| Some((edge, known.since()?))).collect();
    Outcome { edges, users, denials }
}

/// Ids all over the range.
fn user(kind: i64, number: usize) -> i64 {
    (number as i64 + 1) * 1_000_003 + (kind << 60)
}

impl Worker {
    async fn work(mut self, stop: &AtomicBool) -> Self {
        while !stop.load(Ordering::Relaxed) {
            match self.random.random_range(0..100) {
                0..25 => self.follow().await,
                25..42 => self.unfollow().await,
                42..57 => self.is_following().await,
                57..67 => self.batch_is_following().await,
                67..73 => self.common_follows().await,
                73..80 => self.list_following().await,
                80..88 => self.list_followers().await,
                88..94 => self.counts().await,
                _ => self.import().await,
            }
        }
        self
    }

    fn follower(&mut self) -> i64 {
        *self.followers.choose(&mut self.random).expect("not empty")
    }

    fn followee(&mut self) -> i64 {
        *self.followees.choose(&mut self.random).expect("not empty")
    }

    fn edge(&mut self) -> (i64, i64) {
        let follower = self.follower();
        loop {
            let followee = self.followee();
            if followee != follower {
                return (follower, followee);
            }
        }
    }

    fn knows(&self, edge: (i64, i64)) -> Known {
        self.known.get(&edge).copied().unwrap_or_default()
    }

    /// Whom a user follows, and since when.
    fn following(&self, follower: i64) -> BTreeMap<i64, i64> {
        let edges = self.known.range((follower, 0)..=(follower, i64::MAX));
        edges.filter_map(|((_, followee), known)| Some((*followee, known.since()?))).collect()
    }
}
