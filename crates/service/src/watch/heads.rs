use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use keyspace::{Partition, PartitionCount};
use model::{Deadline, Version};
use store::{Store, StoreError, Traffic, ops::Clock};
use tasks::Tasks;
use tokio::{
    sync::{Notify, watch},
    time::{MissedTickBehavior, interval},
};

use crate::{ServiceError, versions::SeenVersions};

/// How often the clocks are read.
const INTERVAL: Duration = Duration::from_millis(200);
/// How long reading them may take. What a failing primary has comes later then; what the others have does not wait longer.
const TIME_LIMIT: Duration = Duration::from_secs(1);
/// For how long clocks that cannot be read are put up with: longer than a failover.
const OUTAGE_LIMIT: Duration = Duration::from_secs(30);

/// How far each watched partition has come. The clocks are read only while somebody follows them.
pub(super) struct Heads {
    count: PartitionCount,
    rounds: watch::Sender<Round>,
    /// How many follow each partition.
    followed: Vec<AtomicUsize>,
    wake: Notify,
}

/// What was read.
#[derive(Clone, Default)]
struct Round {
    /// By partition. Of one that nobody follows, what it was when somebody did.
    clocks: Vec<Version>,
    /// Since when some clock could not be read, and why at last.
    failing: Option<(Instant, StoreError)>,
}

/// Follows some partitions until it is dropped.
pub(super) struct Following {
    heads: Arc<Heads>,
    partitions: Vec<Partition>,
    rounds: watch::Receiver<Round>,
}

impl Heads {
    pub(super) fn start(store: Store, seen: Arc<SeenVersions>, tasks: &Tasks) -> Arc<Self> {
        let count = store.keys().partitions();
        let clocks = count.all().map(|_| Version(0)).collect();
        let heads = Arc::new(Self {
            count,
            rounds: watch::Sender::new(Round { clocks, failing: None }),
            followed: count.all().map(|_| AtomicUsize::new(0)).collect(),
            wake: Notify::new(),
        });
        let (token, this) = (tasks.token().clone(), heads.clone());
        tasks.spawn("watch-heads", async move {
            token.run_until_cancelled(this.run(&store, &seen)).await;
        });
        heads
    }

    pub(super) fn follow(self: &Arc<Self>, partitions: Vec<Partition>) -> Following {
        for partition in &partitions {
            self.followed[usize::from(partition.get())].fetch_add(1, Ordering::Relaxed);
        }
        self.wake.notify_one();
        Following { heads: self.clone(), partitions, rounds: self.rounds.subscribe() }
    }

    async fn run(&self, store: &Store, seen: &SeenVersions) {
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let is_followed =
                |partition: &Partition| self.followed[usize::from(partition.get())].load(Ordering::Relaxed) > 0;
            let clocks: Vec<_> = self.count.all().filter(is_followed).map(Clock).collect();
            if clocks.is_empty() {
                self.wake.notified().await;
                continue;
            }
            let read = store.run_all(&clocks, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await;
            self.rounds.send_modify(|round| {
                let mut failure = None;
                for (Clock(partition), clock) in clocks.into_iter().zip(read) {
                    match clock {
                        Ok(clock) => {
                            // What is told must never be given out again.
                            seen.raise(partition, clock);
                            round.clocks[usize::from(partition.get())] = clock;
                        }
                        Err(error) => failure = Some(error),
                    }
                }
                let since = round.failing.take().map_or_else(Instant::now, |(since, _)| since);
                round.failing = failure.map(|error| (since, error));
            });
        }
    }
}

impl Following {
    /// Ends after each look at the clocks.
    pub(super) async fn changed(&mut self) {
        if self.rounds.changed().await.is_err() {
            // The instance ends; so will whoever waits here.
            std::future::pending::<()>().await;
        }
    }

    /// The clocks of the partitions followed, in their order; fails if some could not be read for too long.
    pub(super) fn clocks(&mut self) -> Result<Vec<Version>, ServiceError> {
        let round = self.rounds.borrow_and_update();
        match &round.failing {
            Some((since, error)) if since.elapsed() > OUTAGE_LIMIT => Err(ServiceError::of_own_limit(error.clone())),
            _ => Ok(self.partitions.iter().map(|partition| round.clocks[usize::from(partition.get())]).collect()),
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        for partition in &self.partitions {
            self.heads.followed[usize::from(partition.get())].fetch_sub(1, Ordering::Relaxed);
        }
    }
}
