//! Looks at many places of many lists at once.

use std::collections::BTreeSet;

use keyspace::{Partition, by_partition};
use model::{Deadline, Edge, Micros, Version};
use store::{
    Store, StoreError, Traffic,
    ops::{LogChange, LookUp, LookUpRow, LookedUp, MOST_ROWS, Written},
};

/// Higher than any version: times and versions are exact up to 2^53.
const LAST_VERSION: Version = Version(Micros::MAX.get() - 1_024);

/// Since when lists have the members of places, where they are to be, in the order given: perhaps with another time than the place's. Two round trips
/// at most, and two more for what is in shards.
pub(super) async fn times_at(
    store: &Store,
    rows: &[LookUpRow],
    deadline: Deadline,
) -> Result<Vec<Option<Micros>>, StoreError> {
    let mut times = vec![None; rows.len()];
    let mut open: Vec<_> = rows.iter().copied().enumerate().collect();
    while !open.is_empty() {
        let answers = look_up(store, std::mem::take(&mut open), false, deadline).await?;
        for (index, row, answer) in answers {
            match answer {
                LookedUp::Not => {}
                LookedUp::Since(at) => times[index] = Some(at),
                LookedUp::InShard(shard) => open.push((index, LookUpRow { shard: Some(shard), ..row })),
            }
        }
    }
    Ok(times)
}

/// The same wherever in the newest parts of the lists they are.
pub(super) async fn times_anywhere(
    store: &Store,
    rows: &[LookUpRow],
    deadline: Deadline,
) -> Result<Vec<Option<Micros>>, StoreError> {
    let mut times = vec![None; rows.len()];
    for (index, _, answer) in look_up(store, rows.iter().copied().enumerate().collect(), true, deadline).await? {
        if let LookedUp::Since(at) = answer {
            times[index] = Some(at);
        }
    }
    Ok(times)
}

async fn look_up(
    store: &Store,
    rows: Vec<(usize, LookUpRow)>,
    is_search: bool,
    deadline: Deadline,
) -> Result<Vec<(usize, LookUpRow, LookedUp)>, StoreError> {
    let keys = store.keys();
    let most = if is_search { LookUp::MOST_SEARCHED } else { MOST_ROWS };
    let batches = by_partition(keys.partitions(), rows, most, |(_, row)| row.partition(keys));
    let operations: Vec<_> = batches
        .iter()
        .map(|batch| LookUp { rows: batch.items.iter().map(|&(_, row)| row).collect(), is_search })
        .collect();
    let mut all = Vec::new();
    for (batch, answers) in batches.iter().zip(store.run_all(&operations, Traffic::Bulk, deadline).await) {
        all.extend(batch.items.iter().zip(answers?).map(|(&(index, row), answer)| (index, row, answer)));
    }
    Ok(all)
}

/// What changes are pending of edges whose followers are in some partitions.
pub(super) struct Pending {
    edges: BTreeSet<Edge>,
    /// Where a pending change cannot be read.
    unreadable: BTreeSet<Partition>,
}

impl Pending {
    /// Reads all that is pending in the partitions given. One round trip for each 64 changes.
    pub(super) async fn read(
        store: &Store,
        partitions: BTreeSet<Partition>,
        deadline: Deadline,
    ) -> Result<Self, StoreError> {
        let first = |partition| Written { partition, version: LAST_VERSION, after: String::new() };
        let mut reads: Vec<_> = partitions.into_iter().map(first).collect();
        let mut pending = Self { edges: BTreeSet::new(), unreadable: BTreeSet::new() };
        while !reads.is_empty() {
            let answers = store.run_all(&reads, Traffic::Bulk, deadline).await;
            for (read, answer) in std::mem::take(&mut reads).into_iter().zip(answers) {
                let written = answer?;
                for entry in &written.pending {
                    pending.add(read.partition, &entry.changes);
                }
                if !written.next.is_empty() {
                    reads.push(Written { after: written.next, ..read });
                }
            }
        }
        Ok(pending)
    }

    fn add(&mut self, partition: Partition, changes: &[LogChange]) {
        if changes.is_empty() {
            self.unreadable.insert(partition);
        }
        self.edges.extend(changes.iter().filter_map(|change| match *change {
            LogChange::Edge(edge, _) => Some(edge),
            LogChange::Post(_)
            | LogChange::Deleted(_)
            | LogChange::State(..)
            | LogChange::Blocked { .. }
            | LogChange::Other => None,
        }));
    }

    /// Whether a change of an edge may be under way.
    pub(super) fn has(&self, edge: Edge, of_follower: Partition) -> bool {
        self.edges.contains(&edge) || self.unreadable.contains(&of_follower)
    }
}
