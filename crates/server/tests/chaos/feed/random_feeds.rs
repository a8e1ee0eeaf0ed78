//! The oracle of feeds: random posts and follows under faults, and what everyone sees of them, meanwhile and afterwards.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use futures::{
    StreamExt,
    future::{join_all, join3},
    stream,
};
use localcluster::LocalCluster;
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom, seq::SliceRandom};

use tokio::time::sleep;

use super::{
    books::{Books, Seen},
    fleet::Fleet,
    inboxes,
    worker::{Worker, now},
};
use crate::{
    feeds::{How, Oracle},
    support::{
        LIMIT,
        redis::{self, PRIMARIES},
        seed, turn, until,
    },
};

const WORKERS: usize = 8;
/// Of each worker.
const USERS: usize = 5;
/// In all.
const OPERATIONS: usize = 10_000;
/// Who scrolls beside the writes.
const WATCHERS: u64 = 3;
const SIDE_BY_SIDE: usize = 16;
/// Who look at their feeds twice.
const LOOKS_AGAIN: usize = 10;
/// How long a post may take to reach its followers.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    /// SIGKILL of a server amid the filling of inboxes, and a new start.
    KillServer,
    /// SIGKILL of a primary, and a new start on its data.
    KillPrimary,
    /// SIGSTOP of a primary for a while.
    PausePrimary,
    /// A live move of slots, and back.
    Reshard,
    /// SCRIPT FLUSH everywhere.
    FlushScripts,
    /// CLIENT KILL of all connections to one primary.
    CutConnections,
    /// Inboxes that nobody has read for long.
    ExpireInboxes,
}

/// Of each round, in any order.
const FAULTS: [Fault; 13] = [
    Fault::None,
    Fault::Reshard,
    Fault::KillServer,
    Fault::KillServer,
    Fault::KillServer,
    Fault::KillPrimary,
    Fault::PausePrimary,
    Fault::PausePrimary,
    Fault::FlushScripts,
    Fault::CutConnections,
    Fault::CutConnections,
    Fault::ExpireInboxes,
    Fault::ExpireInboxes,
];

impl Fault {
    /// Whether answers of Redis are lost.
    fn cuts_redis_off(self) -> bool {
        matches!(self, Self::KillPrimary | Self::PausePrimary | Self::CutConnections)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_posts_and_follows_under_faults_agree_with_the_oracle() {
    let _turn = turn().await;
    let mut random = StdRng::seed_from_u64(seed());
    let cluster = redis::cluster().await;
    let cap = random.random_range(10..=30);
    let cap_text = cap.to_string();
    let fleet = Fleet::start(cluster.addresses(), 2, &["--feed-inbox-cap", &cap_text]).await;
    let books = Books::default();
    let run = Run { cluster: &cluster, fleet: &fleet, books: &books, everyone: users(), cap };
    let own = run.everyone.chunks(USERS);
    let mut workers: Vec<_> = own.map(|own| Worker::new(&fleet, &books, own, &run.everyone, random.random())).collect();
    let mut faults = FAULTS;
    faults.shuffle(&mut random);
    for (round, fault) in faults.into_iter().enumerate() {
        run.round(round, fault, &mut workers, &mut random).await;
    }
    println!("failed attempts: {}", fleet.failures.load(Ordering::Relaxed));
    drop(workers);
    fleet.stop().await;
    cluster.stop().await;
}

/// Ids all over the range.
fn users() -> Vec<i64> {
    (0..(WORKERS * USERS) as i64).map(|number| (number + 1) * 1_000_003 + ((number % 3) << 61)).collect()
}

struct Run<'a> {
    cluster: &'a LocalCluster,
    fleet: &'a Fleet<'a>,
    books: &'a Books,
    everyone: Vec<i64>,
    cap: usize,
}

impl Run<'_> {
    /// Some writes with scrolls and a fault beside them; and when all is done, a look at every feed.
    async fn round(&self, round: usize, fault: Fault, workers: &mut [Worker<'_>], random: &mut StdRng) {
        let begun = Instant::now();
        let seen = self.write(fault, workers, random).await;
        let written = self.books.tick();
        redis::quiescent(&self.cluster.addresses()).await;
        let (mut in_doubt, mut denials) = (0, 0);
        for worker in workers {
            in_doubt += worker.resolve().await;
            denials += std::mem::take(&mut worker.denials);
        }
        assert!(denials == 0 || fault.cuts_redis_off(), "{denials} new posts were denied to be new");
        let settled = Instant::now();
        let oracle = self.books.oracle();
        let reads = self.everyone.iter().map(|reader| (*reader, How::any(random), How::any(random)));
        let reads: Vec<_> = reads.collect();
        let check = async |(reader, first, _)| self.becomes(&oracle, reader, first).await;
        stream::iter(reads.clone()).for_each_concurrent(SIDE_BY_SIDE, check).await;
        let again: Vec<_> = reads.choose_multiple(random, LOOKS_AGAIN).copied().collect();
        let check = async |(reader, _, second)| self.stays(&oracle, reader, second).await;
        stream::iter(again).for_each_concurrent(SIDE_BY_SIDE, check).await;
        seen.iter().for_each(|seen| self.books.check(seen));
        self.books.settle(written);
        let largest = inboxes::largest(self.cluster).await;
        assert!(largest <= self.cap + 1, "an inbox of {largest} entries, its cap is {}", self.cap);
        let items: usize = self.everyone.iter().map(|reader| oracle.feed(*reader).len()).sum();
        println!(
            "round {round}, {fault:?}: {} scrolls beside writes, {in_doubt} posts in doubt, {denials} denied, {items} items in feeds; {:?}, {:?}",
            seen.len(),
            settled - begun,
            settled.elapsed()
        );
    }

    async fn write(&self, fault: Fault, workers: &mut [Worker<'_>], random: &mut StdRng) -> Vec<Seen> {
        let (done, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let round_began = now();
        let watchers: Vec<_> = (0..WATCHERS).map(|_| StdRng::seed_from_u64(random.random())).collect();
        let writing = async {
            let share = OPERATIONS.div_ceil(FAULTS.len() * WORKERS);
            let count = || {
                done.fetch_add(1, Ordering::Relaxed);
            };
            join_all(workers.iter_mut().map(|worker| worker.work(round_began, share, count))).await;
            stop.store(true, Ordering::Relaxed);
        };
        let watching = join_all(watchers.into_iter().map(|random| self.watch(random, &stop)));
        let disturbing = async {
            until("half of the writes", async || done.load(Ordering::Relaxed) > OPERATIONS / FAULTS.len() / 2).await;
            self.inject(fault, random).await;
        };
        let ((), seen, ()) = join3(writing, watching, disturbing).await;
        seen.into_iter().flatten().collect()
    }

    /// Scrolls, here and there to the end, until told to stop.
    async fn watch(&self, mut random: StdRng, stop: &AtomicBool) -> Vec<Seen> {
        let mut seen = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let reader = *self.everyone.choose(&mut random).expect("not empty");
            let begun = self.books.tick();
            let how = How { sizes: (1, 40), ..How::any(&mut random).beside_writes() };
            let pages = *[2, 5, 20].choose(&mut random).expect("not empty");
            let scroll = self.fleet.pages(reader, how, pages).await;
            seen.push(self.books.seen(reader, begun, &scroll));
        }
        seen
    }

    async fn inject(&self, fault: Fault, random: &mut StdRng) {
        match fault {
            Fault::None => {}
            Fault::KillServer => {
                self.expire_inboxes(random).await;
                let server = random.random_range(0..2);
                self.fleet.kill(server).await;
                self.fleet.restart(server).await;
            }
            Fault::FlushScripts => {
                for node in 0..PRIMARIES {
                    self.cluster.cli(node, &["SCRIPT", "FLUSH"]).await.expect("flush");
                }
            }
            Fault::CutConnections => {
                let node = random.random_range(0..PRIMARIES);
                self.cluster.cli(node, &["CLIENT", "KILL", "TYPE", "normal"]).await.expect("cut");
            }
            Fault::KillPrimary => {
                let failures = self.fleet.failures.load(Ordering::Relaxed);
                let node = random.random_range(0..PRIMARIES);
                self.cluster.kill(node).await.expect("kill");
                until("calls fail", async || self.fleet.failures.load(Ordering::Relaxed) > failures).await;
                self.cluster.restart(node).await.expect("restart");
                self.cluster.settle(LIMIT).await.expect("healthy again");
            }
            Fault::PausePrimary => {
                let node = random.random_range(0..PRIMARIES);
                self.cluster.pause(node).await.expect("pause");
                // The fault itself: it lasts this long.
                sleep(Duration::from_millis(random.random_range(100..1_500))).await;
                self.cluster.resume(node).await.expect("resume");
            }
            Fault::Reshard => {
                let node = random.random_range(0..PRIMARIES);
                let (other, slots) = ((node + 1) % PRIMARIES, random.random_range(50..200));
                self.cluster.reshard(node, other, slots).await.expect("reshard");
                self.cluster.settle(LIMIT).await.expect("agreed");
                self.cluster.reshard(other, node, slots).await.expect("reshard back");
                self.cluster.settle(LIMIT).await.expect("agreed");
            }
            Fault::ExpireInboxes => self.expire_inboxes(random).await,
        }
    }

    async fn expire_inboxes(&self, random: &mut StdRng) {
        for reader in self.everyone.choose_multiple(random, 15) {
            inboxes::expire(self.cluster, *reader).await;
        }
    }

    /// The feed becomes what it must be once everything in flight has arrived.
    async fn becomes(&self, oracle: &Oracle, reader: i64, how: How) {
        let begun = Instant::now();
        let mut fault = None;
        until("a look at a feed", async || {
            fault = oracle.fault(reader, &self.fleet.scroll(reader, how.beside_writes()).await);
            fault.is_none() || begun.elapsed() > PATIENCE
        })
        .await;
        assert_eq!(fault, None, "{how:?}");
    }

    /// A feed that was equal stays so.
    async fn stays(&self, oracle: &Oracle, reader: i64, how: How) {
        let fault = oracle.fault(reader, &self.fleet.scroll(reader, how).await);
        assert_eq!(fault, None, "was equal before: {how:?}");
    }
}
