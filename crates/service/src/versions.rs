use std::sync::atomic::{AtomicU64, Ordering};

use keyspace::{Partition, PartitionCount};
use model::Version;

/// The highest version that this instance has seen of each partition.
///
/// A replica that was promoted may lack the last changes, and with them the last versions; a commit takes a version above what
/// was seen, so that none is given out twice.
pub(crate) struct SeenVersions(Vec<AtomicU64>);

impl SeenVersions {
    pub(crate) fn new(count: PartitionCount) -> Self {
        Self(count.all().map(|_| AtomicU64::new(0)).collect())
    }

    pub(crate) fn get(&self, partition: Partition) -> Version {
        Version(self.of(partition).load(Ordering::Relaxed))
    }

    pub(crate) fn raise(&self, partition: Partition, version: Version) {
        self.of(partition).fetch_max(version.0, Ordering::Relaxed);
    }

    /// The next number of a partition: at least `least`, and greater than any that was given out before.
    pub(crate) fn take(&self, partition: Partition, least: u64) -> u64 {
        let next = |last: u64| least.max(last + 1);
        self.of(partition)
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last)))
            .map_or(least, next)
    }

    fn of(&self, partition: Partition) -> &AtomicU64 {
        &self.0[usize::from(partition.get())]
    }
}
