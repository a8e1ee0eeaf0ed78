//! The end of follows that their followees' partitions do not take.

use keyspace::{Partition, by_partition};
use model::{Deadline, Edge, Micros, Version};
use store::{
    Store, StoreError, Traffic,
    ops::{FollowerChange, MOST_ROWS, Withdraw, WithdrawnRow},
};

use crate::versions::SeenVersions;

/// Withdrawals whose first half is written.
#[derive(Debug, Default)]
pub(crate) struct Withdrawals {
    /// What became of each edge.
    pub(crate) rows: Vec<WithdrawnRow>,
    /// The log entries, which are to be settled after the second half.
    pub(crate) committed: Vec<(Partition, Version)>,
}

impl Withdrawals {
    /// The changes of the followees' lists.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (Edge, FollowerChange)> {
        self.rows.iter().filter_map(|row| {
            let change = FollowerChange::Absent { removed: Some(row.followed_at), version: row.version? };
            Some((row.edge, change))
        })
    }
}

/// Withdraws edges, each with its score, from their followers' lists. After an error some may be withdrawn, which the relay finishes.
pub(crate) async fn withdraw(
    store: &Store,
    seen: &SeenVersions,
    edges: impl IntoIterator<Item = (Edge, Micros)>,
    traffic: Traffic,
    deadline: Deadline,
) -> Result<Withdrawals, StoreError> {
    let keys = store.keys();
    let batches =
        by_partition(keys.partitions(), edges, MOST_ROWS, |(edge, _): &(Edge, _)| keys.partition(edge.follower()));
    let operations: Vec<_> = batches
        .into_iter()
        .map(|batch| Withdraw::new(batch.partition, batch.items, seen.get(batch.partition)))
        .collect();
    let results = store.run_all(&operations, traffic, deadline).await;
    let mut withdrawals = Withdrawals::default();
    for (operation, result) in operations.iter().zip(results) {
        let withdrawn = result?;
        seen.raise(operation.partition, withdrawn.version);
        if withdrawn.rows.iter().any(|row| row.version.is_some()) {
            withdrawals.committed.push((operation.partition, withdrawn.version));
        }
        withdrawals.rows.extend(withdrawn.rows);
    }
    Ok(withdrawals)
}
