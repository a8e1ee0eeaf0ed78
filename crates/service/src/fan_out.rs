use std::{sync::Arc, time::Duration};

use futures::join;
use keyspace::{List, Partition, by_partition};
use model::{Deadline, Entry, FeedEntry, Micros, Order, UserId, Version, Window};
use store::{
    Operation, Store, StoreError, Traffic,
    ops::{FindDelivery, Push, PushOne, Pushed, SaveDelivery},
};
use tasks::Tasks;
use tokio::sync::{Semaphore, oneshot};

use crate::{
    lanes::{Lanes, Ticket, Underway},
    lists::{MOST_ENTRIES, Walk},
};

/// Posts of small audiences that are delivered side by side, and of large ones, which take longer.
const SMALL_SIDE_BY_SIDE: usize = 16;
const LARGE_SIDE_BY_SIDE: usize = 4;
/// What a small audience is.
const SMALL: u64 = 10_000;
/// Reads of one slice: so many followers are grouped by partition at a time, about 16 in each of 1,024.
const READS: usize = 16;
/// Readers of one script.
const MOST_READERS: usize = 64;
/// How long a slice may take: longer than a failover.
const TIME_LIMIT: Duration = Duration::from_secs(15);

/// Brings posts to the inboxes of their authors' followers. Clones share the same bounds.
#[derive(Clone)]
pub(crate) struct FanOut {
    store: Store,
    tasks: Tasks,
    lanes: Lanes,
    underway: Underway<(Partition, Version)>,
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
    inbox_cap: u32,
}

/// A post on its way.
#[derive(Clone, Copy)]
pub(crate) struct Outgoing {
    /// Where it was committed.
    pub(crate) partition: Partition,
    /// The version of its commit.
    pub(crate) committed: Version,
    /// Which post.
    pub(crate) entry: FeedEntry,
    /// How many followers the author had, at most.
    pub(crate) audience: u64,
    /// Whether nobody has brought it to anybody yet.
    pub(crate) is_new: bool,
}

/// A part of an audience.
struct Slice {
    followers: Vec<UserId>,
    /// After whom the audience goes on; `None` at its end.
    next: Option<Entry>,
}

/// How far a post is.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// How many followers it has passed.
    passed: u64,
    /// The last of them.
    after: Option<Entry>,
}

impl FanOut {
    pub(crate) fn new(store: Store, tasks: Tasks, inbox_cap: u32) -> Self {
        let [small, large] = [SMALL_SIDE_BY_SIDE, LARGE_SIDE_BY_SIDE].map(|places| Arc::new(Semaphore::new(places)));
        let (lanes, underway) = (Lanes::new(), Underway::new());
        Self { store, tasks, lanes, underway, small, large, inbox_cap }
    }

    /// Waits until a new post of an author may be on its way to its audience; `None` if it may not in time.
    pub(crate) async fn admit(&self, author: UserId, wait: Duration) -> Option<Ticket> {
        self.lanes.admit(author, wait).await
    }

    /// Starts to deliver a post. What is given ends when that ends, or at once if it is underway. What
    /// is not delivered, because the process dies or Redis does not answer, is left to the relay.
    pub(crate) fn start(&self, ticket: Ticket, outgoing: Outgoing) -> impl Future<Output = ()> + use<> {
        let (done, wait) = oneshot::channel();
        let Outgoing { partition, committed, entry, .. } = outgoing;
        if let Some(doing) = self.underway.begin((partition, committed)) {
            let this = self.clone();
            self.tasks.spawn_once("fan-out", async move {
                let delivery = this.deliver_in_turn(&ticket, outgoing);
                let delivered = this.tasks.token().run_until_cancelled(delivery).await;
                drop(ticket);
                let _nobody_waits = done.send(());
                let ended = match delivered {
                    Some(Ok(passed)) => this.save(committed, entry, Progress { passed, after: None }).await,
                    Some(Err(error)) => Err(error),
                    None => Ok(()),
                };
                if let Err(error) = ended {
                    tracing::debug!(%error, author = %entry.author, "left to the relay");
                }
                // Only now, or the relay would take what is not settled for left behind.
                drop(doing);
            });
        }
        async move {
            let _ended = wait.await;
        }
    }

    /// Starts to deliver a post that was left behind, unless too much is on its way already.
    pub(crate) fn resume(&self, partition: Partition, version: Version, entry: FeedEntry) {
        if self.underway.contains((partition, version)) {
            return;
        }
        if let Some(ticket) = self.lanes.try_admit(entry.author) {
            metrics::counter!("socialgraph_relay_replayed_total", "kind" => "post").increment(1);
            let outgoing = Outgoing { partition, committed: version, entry, audience: u64::MAX, is_new: false };
            drop(self.start(ticket, outgoing));
        }
    }

    async fn deliver_in_turn(&self, ticket: &Ticket, outgoing: Outgoing) -> Result<u64, StoreError> {
        let Outgoing { committed, entry, audience, is_new, .. } = outgoing;
        let _turn = ticket.turn().await;
        let places = if audience <= SMALL { &self.small } else { &self.large };
        let _place = places.acquire().await;
        let begin = if is_new { Progress::default() } else { self.left_behind(entry).await? };
        self.deliver(committed, entry, begin).await
    }

    /// How far a post was brought before.
    async fn left_behind(&self, entry: FeedEntry) -> Result<Progress, StoreError> {
        let find = FindDelivery { author: entry.author, post: entry.post };
        let found = self.store.run(&find, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await?.unwrap_or_default();
        Ok(found.place.map_or(Progress::default(), |after| Progress { passed: found.passed, after: Some(after) }))
    }

    /// Keeps how far a post is. At the end it is settled with that.
    async fn save(&self, committed: Version, entry: FeedEntry, progress: Progress) -> Result<(), StoreError> {
        let Progress { passed, after: place } = progress;
        let save = SaveDelivery { author: entry.author, post: entry.post, committed, passed, place };
        self.store.run(&save, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await
    }

    /// Delivers a post to everyone who follows its author, and gives how many these are. Who begins to follow meanwhile finds it in the
    /// author's timeline.
    async fn deliver(&self, committed: Version, entry: FeedEntry, begin: Progress) -> Result<u64, StoreError> {
        let running = metrics::gauge!("socialgraph_fanout_running");
        running.increment(1.0);
        let delivered = self.deliver_slices(committed, entry, begin).await;
        running.decrement(1.0);
        let passed = delivered?;
        let lag = Micros::now().get().saturating_sub(committed.0);
        metrics::histogram!("socialgraph_fanout_lag_seconds").record(lag as f64 / 1e6);
        Ok(passed)
    }

    async fn deliver_slices(&self, committed: Version, entry: FeedEntry, begin: Progress) -> Result<u64, StoreError> {
        let mut passed = begin.passed;
        let mut slice = self.slice(entry.author, begin.after).await?;
        loop {
            passed += slice.followers.len() as u64;
            let Some(next) = slice.next else { return self.push(entry, slice.followers).await.map(|()| passed) };
            let (pushed, read) = join!(self.push(entry, slice.followers), self.slice(entry.author, Some(next)));
            pushed?;
            self.save(committed, entry, Progress { passed, after: Some(next) }).await?;
            slice = read?;
        }
    }

    async fn slice(&self, author: UserId, after: Option<Entry>) -> Result<Slice, StoreError> {
        let walk = Walk { list: List::Followers, user: author, order: Order::NewestFirst, window: Window::ALL };
        let mut slice = Slice { followers: Vec::new(), next: after };
        for _ in 0..READS {
            let read = walk.slice(&self.store, slice.next, MOST_ENTRIES, Deadline::after(TIME_LIMIT)).await?;
            slice.followers.extend(read.entries.iter().map(|entry| entry.user));
            slice.next = read.next;
            if slice.next.is_none() {
                break;
            }
        }
        Ok(slice)
    }

    async fn push(&self, entry: FeedEntry, followers: Vec<UserId>) -> Result<(), StoreError> {
        let keys = self.store.keys();
        let batches = by_partition(keys.partitions(), followers, MOST_READERS, |&reader| keys.partition(reader));
        let pushes: Vec<_> = batches.into_iter().map(|batch| Push { entry, readers: batch.items }).collect();
        let mut total = Pushed::default();
        let pushed = self.run(&pushes, &mut total).await;
        let left = std::mem::take(&mut total.left).into_iter();
        let ones: Vec<_> = left.map(|reader| PushOne { entry, reader, cap: self.inbox_cap }).collect();
        let placed = self.run(&ones, &mut total).await;
        for (outcome, count) in
            [("pushed", total.pushed), ("no_inbox", total.no_inbox), ("below_floor", total.below_floor)]
        {
            metrics::counter!("socialgraph_fanout_deliveries_total", "outcome" => outcome).increment(count);
        }
        pushed.and(placed)
    }

    /// Does all, and adds up what became of it. Gives the last error.
    async fn run<O: Operation<Output = Pushed>>(&self, pushes: &[O], total: &mut Pushed) -> Result<(), StoreError> {
        let mut outcome = Ok(());
        for pushed in self.store.run_all(pushes, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await {
            match pushed {
                Ok(pushed) => {
                    total.pushed += pushed.pushed;
                    total.no_inbox += pushed.no_inbox;
                    total.below_floor += pushed.below_floor;
                    total.left.extend(pushed.left);
                }
                Err(error) => outcome = Err(error),
            }
        }
        outcome
    }
}
