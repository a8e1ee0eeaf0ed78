use std::hash::Hasher;

use keyspace::{Partition, PartitionCount};
use model::Deadline;
use siphasher::sip::SipHasher13;
use store::{
    Store, StoreError, Traffic,
    ops::{Lease, Resign},
};

use crate::GraphSettings;

/// This instance's share of the partitions.
///
/// An instance holds one lease, and the partitions are shared out among the instances whose leases hold by rendezvous
/// hashing: each goes to the instance with the highest hash of (instance, partition). All instances compute the same, and
/// when one goes only its partitions move. Two holders of one partition, while they have not heard of each other, do no
/// harm.
pub(crate) struct Share {
    instance: String,
    count: PartitionCount,
    running: Vec<String>,
    partitions: Vec<Partition>,
}

impl Share {
    /// That of an instance, by its name.
    pub(crate) fn new(instance: String, count: PartitionCount) -> Self {
        Self { instance, count, running: Vec::new(), partitions: Vec::new() }
    }

    /// Renews the lease, and so learns which instances are running.
    pub(crate) async fn renew(
        &mut self,
        store: &Store,
        settings: &GraphSettings,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let lease = Lease { instance: self.instance.clone(), millis: settings.lease.as_millis() as u64 };
        let mut running = store.run(&lease, Traffic::Bulk, deadline).await?;
        running.sort_unstable();
        if running != self.running {
            self.partitions = share(&self.instance, &running, self.count);
            self.running = running;
            tracing::info!(instances = self.running.len(), partitions = self.partitions.len(), "partitions shared out");
            metrics::gauge!("socialgraph_relay_partitions").set(self.partitions.len() as f64);
        }
        Ok(())
    }

    /// Gives the lease back, so that others take over at once.
    pub(crate) async fn resign(&self, store: &Store, deadline: Deadline) -> Result<(), StoreError> {
        store.run(&Resign { instance: self.instance.clone() }, Traffic::Bulk, deadline).await
    }

    /// The partitions that this instance looks after.
    pub(crate) fn partitions(&self) -> &[Partition] {
        &self.partitions
    }
}

fn share(instance: &str, running: &[String], count: PartitionCount) -> Vec<Partition> {
    holders(running, count).filter(|&(_, name)| name == instance).map(|(partition, _)| partition).collect()
}

/// Which of the running instances holds each partition.
pub(crate) fn holders(running: &[String], count: PartitionCount) -> impl Iterator<Item = (Partition, &str)> {
    count.all().filter_map(|partition| {
        let holder = running.iter().max_by_key(|name| (weight(name, partition), name.as_str()))?;
        Some((partition, holder.as_str()))
    })
}

fn weight(instance: &str, partition: Partition) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(instance.as_bytes());
    hasher.write(&partition.get().to_be_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_partition_has_one_holder_and_only_a_leavers_partitions_move() {
        let count = PartitionCount::DEFAULT;
        let names: Vec<String> = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let before: Vec<_> = names.iter().map(|name| share(name, &names, count)).collect();
        let mut all: Vec<_> = before.concat();
        all.sort_unstable();
        assert_eq!(all, count.all().collect::<Vec<_>>());
        assert!(before.iter().all(|held| (150..370).contains(&held.len())), "uneven");
        for (name, held) in names[..3].iter().zip(&before) {
            let after = share(name, &names[..3], count);
            assert!(held.iter().all(|partition| after.contains(partition)));
        }
        assert_eq!(share("e", &names, count), []);
    }
}
