use std::time::Duration;

use keyspace::{Partition, by_partition};
use model::{Deadline, Version};
use store::{Store, Traffic, ops::Settle};
use tasks::Tasks;
use tokio::{
    sync::mpsc::{self, Receiver, Sender},
    time::sleep,
};

/// Most changes that wait to be settled. More are left to the relay.
const QUEUE: usize = 65_536;
/// How long changes are gathered into one batch.
const GATHER: Duration = Duration::from_millis(50);
/// Most changes of one command.
const MOST_VERSIONS: usize = 1_000;
/// How long settling a batch may take before it is left to the relay.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Forgets applied changes in batches, off the request path. What is not settled here, because the process dies or the
/// queue is full, the relay applies again and settles.
#[derive(Clone)]
pub(crate) struct Settler {
    queue: Sender<(Partition, Version)>,
}

impl Settler {
    pub(crate) fn start(store: Store, tasks: &Tasks) -> Self {
        let (queue, receiver) = mpsc::channel(QUEUE);
        tasks.spawn("settler", run(store, receiver, tasks.clone()));
        Self { queue }
    }

    /// The change is applied.
    pub(crate) fn settle(&self, partition: Partition, version: Version) {
        let _left_to_the_relay = self.queue.try_send((partition, version));
    }
}

async fn run(store: Store, mut queue: Receiver<(Partition, Version)>, tasks: Tasks) {
    let mut applied = Vec::new();
    let token = tasks.token().clone();
    loop {
        tokio::select! {
            received = queue.recv_many(&mut applied, QUEUE) => if received == 0 {
                // Every graph is gone; the task stays until it is told to end.
                return token.cancelled().await;
            },
            () = token.cancelled() => break,
        }
        tokio::select! {
            () = sleep(GATHER) => {}
            () = token.cancelled() => {}
        }
        while let Ok(change) = queue.try_recv() {
            applied.push(change);
        }
        metrics::gauge!("socialgraph_settle_queue").set(applied.len() as f64);
        settle(&store, applied.drain(..)).await;
        metrics::gauge!("socialgraph_settle_queue").set(0.0);
    }
    while let Ok(change) = queue.try_recv() {
        applied.push(change);
    }
    settle(&store, applied.drain(..)).await;
}

/// Settles changes; what cannot be settled is left to the relay.
pub(crate) async fn settle(store: &Store, applied: impl Iterator<Item = (Partition, Version)>) {
    let batches = by_partition(store.keys().partitions(), applied, MOST_VERSIONS, |&(partition, _)| partition);
    let operations: Vec<_> = batches
        .into_iter()
        .map(|batch| Settle {
            partition: batch.partition,
            versions: batch.items.into_iter().map(|(_, version)| version).collect(),
        })
        .collect();
    let results = store.run_all(&operations, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await;
    if let Some(error) = results.into_iter().find_map(Result::err) {
        tracing::debug!(%error, "left to the relay");
    }
}
