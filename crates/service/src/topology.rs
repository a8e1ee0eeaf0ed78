//! Where the graph lies, who looks after it, and what is left to do.

use std::{collections::BTreeMap, ops::RangeInclusive};

use keyspace::Partition;
use model::{Deadline, Micros};
pub use store::ops::NodeState;
use store::{
    StoreError, Traffic,
    ops::{ClusterNode, ClusterNodes, Inspect, Inspected, Instances, OldestPending},
};

use crate::{Graph, ServiceError, graph::Inner, lease::holders};

/// Where the graph lies and who looks after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The nodes of Redis.
    pub nodes: Vec<Node>,
    /// The number of partitions.
    pub partitions: u16,
    /// The instances whose leases hold.
    pub instances: Vec<Instance>,
    /// Changes of which the second half may not be applied yet, posts that are being delivered included.
    pub pending_changes: u64,
    /// Since when the oldest of them is pending.
    pub oldest_pending: Option<Micros>,
}

/// A node of Redis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its id in the cluster; empty for a single server.
    pub id: String,
    /// `host:port`.
    pub address: String,
    /// Of a replica, the id of its primary.
    pub replica_of: Option<String>,
    /// How it seems to be to another node.
    pub state: NodeState,
    /// Slots that it serves.
    pub slots: u32,
    /// Partitions that it serves.
    pub partitions: Vec<RangeInclusive<u16>>,
}

/// An instance of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its name, which it draws at its start.
    pub name: String,
    /// Whether it is the one that was asked.
    pub is_this: bool,
    /// Until when its lease holds, in microseconds since 1970, unless it is renewed.
    pub lease_until: Micros,
    /// The partitions that it holds.
    pub partitions: Vec<RangeInclusive<u16>>,
}

impl Graph {
    /// Tells where the graph lies. Two round trips, with two small commands a partition.
    pub async fn topology(&self, deadline: Deadline) -> Result<Topology, ServiceError> {
        let inner = &self.inner;
        let (nodes, instances, pending) =
            futures::try_join!(inner.nodes(deadline), inner.instances(deadline), inner.pending(deadline))?;
        let (pending_changes, oldest_pending) = pending;
        let partitions = inner.store.keys().partitions().get();
        Ok(Topology { nodes, partitions, instances, pending_changes, oldest_pending })
    }
}

impl Inner {
    async fn nodes(&self, deadline: Deadline) -> Result<Vec<Node>, StoreError> {
        let (store, keys) = (&self.store, self.store.keys());
        let known = match store.layout().of_nodes.into_iter().next() {
            Some((_, partition)) if store.is_cluster() => {
                store.run(&ClusterNodes(partition), Traffic::Interactive, deadline).await?
            }
            Some((address, _)) => vec![ClusterNode {
                id: String::new(),
                address,
                replica_of: None,
                state: NodeState::Up,
                slots: vec![0..=keyspace::SLOTS - 1],
            }],
            None => return Err(StoreError::Unavailable("no primary serves a partition".to_owned())),
        };
        let partitions_of = |slots: &[RangeInclusive<u16>]| {
            let is_here =
                |&partition: &Partition| slots.iter().any(|range| range.contains(&keys.slot(partition).get()));
            ranges(keys.partitions().all().filter(is_here))
        };
        let nodes = known.into_iter().map(|node| Node {
            partitions: partitions_of(&node.slots),
            slots: node.slots.iter().map(|range| u32::from(range.end() - range.start()) + 1).sum(),
            id: node.id,
            address: node.address,
            replica_of: node.replica_of,
            state: node.state,
        });
        Ok(nodes.collect())
    }

    async fn instances(&self, deadline: Deadline) -> Result<Vec<Instance>, StoreError> {
        let leases = self.store.run(&Instances, Traffic::Interactive, deadline).await?;
        let now = Micros::now().get() / 1_000;
        let mut until: BTreeMap<String, u64> = leases.into_iter().filter(|&(_, until)| until > now).collect();
        let names: Vec<String> = until.keys().cloned().collect();
        let mut held: BTreeMap<&str, Vec<Partition>> = BTreeMap::new();
        for (partition, name) in holders(&names, self.store.keys().partitions()) {
            held.entry(name).or_default().push(partition);
        }
        let instances = names.iter().map(|name| Instance {
            name: name.clone(),
            is_this: *name == self.instance,
            lease_until: until.remove(name).and_then(|until| Micros::new(until * 1_000).ok()).unwrap_or(Micros::MIN),
            partitions: ranges(held.remove(name.as_str()).unwrap_or_default()),
        });
        Ok(instances.collect())
    }

    async fn pending(&self, deadline: Deadline) -> Result<(u64, Option<Micros>), StoreError> {
        let (store, keys) = (&self.store, self.store.keys());
        let partitions = || keys.partitions().all();
        let counts: Vec<_> = partitions().map(|partition| Inspect::SetEntries(keys.pending(partition))).collect();
        let oldest: Vec<_> = partitions().map(OldestPending).collect();
        let (counts, oldest) = futures::join!(
            store.run_all(&counts, Traffic::Bulk, deadline),
            store.run_all(&oldest, Traffic::Bulk, deadline)
        );
        let mut pending = 0;
        for count in counts {
            if let Inspected::Number(count) = count? {
                pending += count;
            }
        }
        let oldest = oldest.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().min();
        Ok((pending, oldest.and_then(|version| Micros::new(version.0).ok())))
    }
}

/// Rising numbers as ranges.
fn ranges(partitions: impl IntoIterator<Item = Partition>) -> Vec<RangeInclusive<u16>> {
    let mut ranges: Vec<RangeInclusive<u16>> = Vec::new();
    for number in partitions.into_iter().map(Partition::get) {
        match ranges.last_mut() {
            Some(last) if last.end() + 1 == number => *last = *last.start()..=number,
            _ => ranges.push(number..=number),
        }
    }
    ranges
}
