use std::{sync::Arc, time::Duration};

use futures::join;
use keyspace::{List, Partition, by_partition};
use model::{Deadline, Entry, FeedEntry, Micros, Order, UserId, Version, Window};
use store::{
    Store, StoreError, Traffic,
    ops::{Push, Pushed},
};
use tasks::Tasks;
use tokio::sync::{Semaphore, oneshot};

use crate::{lists::Walk, settle::Settler};

/// Posts that are brought to their audience side by side.
const SIDE_BY_SIDE: usize = 16;
/// Posts that wait for that. More are left to the relay.
const QUEUE: usize = 4_096;
/// Followers of one read.
const MOST_FOLLOWERS: usize = 998;
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
    settler: Settler,
    queue: Arc<Semaphore>,
    places: Arc<Semaphore>,
    inbox_cap: u32,
}

/// A part of an audience.
struct Slice {
    followers: Vec<UserId>,
    /// After whom the audience goes on; `None` at its end.
    next: Option<Entry>,
}

impl FanOut {
    pub(crate) fn new(store: Store, tasks: Tasks, settler: Settler, inbox_cap: u32) -> Self {
        let (queue, places) = (Arc::new(Semaphore::new(QUEUE)), Arc::new(Semaphore::new(SIDE_BY_SIDE)));
        Self { store, tasks, settler, queue, places, inbox_cap }
    }

    /// Starts to deliver a post whose commit has a version. What is given ends when that ends. What is not delivered, because
    /// the process dies, Redis does not answer, or too much waits, is left to the relay.
    pub(crate) fn start(
        &self,
        partition: Partition,
        version: Version,
        entry: FeedEntry,
    ) -> impl Future<Output = ()> + use<> {
        let (done, wait) = oneshot::channel();
        if let Ok(queued) = self.queue.clone().try_acquire_owned() {
            let this = self.clone();
            self.tasks.spawn_once("fan-out", async move {
                let _queued = queued;
                let delivered = this.tasks.token().run_until_cancelled(this.deliver_in_turn(version, entry)).await;
                match delivered {
                    Some(Ok(())) => this.settler.settle(partition, version),
                    Some(Err(error)) => tracing::debug!(%error, author = %entry.author, "left to the relay"),
                    None => {}
                }
                let _nobody_waits = done.send(());
            });
        }
        async move {
            let _ended = wait.await;
        }
    }

    async fn deliver_in_turn(&self, committed: Version, entry: FeedEntry) -> Result<(), StoreError> {
        let Ok(_place) = self.places.acquire().await else { return Ok(()) };
        self.deliver(committed, entry).await
    }

    /// Delivers a post to everyone who follows its author. Who begins to follow meanwhile finds it in the author's timeline.
    pub(crate) async fn deliver(&self, committed: Version, entry: FeedEntry) -> Result<(), StoreError> {
        let running = metrics::gauge!("socialgraph_fanout_running");
        running.increment(1.0);
        let delivered = self.deliver_slices(entry).await;
        running.decrement(1.0);
        delivered?;
        let lag = Micros::now().get().saturating_sub(committed.0);
        metrics::histogram!("socialgraph_fanout_lag_seconds").record(lag as f64 / 1e6);
        Ok(())
    }

    async fn deliver_slices(&self, entry: FeedEntry) -> Result<(), StoreError> {
        let mut slice = self.slice(entry.author, None).await?;
        loop {
            let Some(next) = slice.next else { return self.push(entry, slice.followers).await };
            let (pushed, read) = join!(self.push(entry, slice.followers), self.slice(entry.author, Some(next)));
            pushed?;
            slice = read?;
        }
    }

    async fn slice(&self, author: UserId, after: Option<Entry>) -> Result<Slice, StoreError> {
        let walk = Walk { list: List::Followers, user: author, order: Order::NewestFirst, window: Window::ALL };
        let mut slice = Slice { followers: Vec::new(), next: after };
        for _ in 0..READS {
            let read = walk.slice(&self.store, slice.next, MOST_FOLLOWERS, Deadline::after(TIME_LIMIT)).await?;
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
        let pushes: Vec<_> =
            batches.into_iter().map(|batch| Push { entry, readers: batch.items, cap: self.inbox_cap }).collect();
        let mut total = Pushed::default();
        let mut failure = None;
        for pushed in self.store.run_all(&pushes, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await {
            match pushed {
                Ok(pushed) => {
                    total.pushed += pushed.pushed;
                    total.no_inbox += pushed.no_inbox;
                    total.below_floor += pushed.below_floor;
                }
                Err(error) => failure = Some(error),
            }
        }
        for (outcome, count) in
            [("pushed", total.pushed), ("no_inbox", total.no_inbox), ("below_floor", total.below_floor)]
        {
            metrics::counter!("socialgraph_fanout_deliveries_total", "outcome" => outcome).increment(count);
        }
        failure.map_or(Ok(()), Err)
    }
}
