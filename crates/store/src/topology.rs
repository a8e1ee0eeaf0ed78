use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use fred::{clients::Client, interfaces::ClusterInterface};
use keyspace::{Slot, SlotMap};
use tokio::sync::Semaphore;

use crate::config::{Mode, StoreConfig};

/// Which node serves which slot, and what is in flight to each.
#[derive(Debug)]
pub(crate) struct Topology {
    pub(crate) slots: SlotMap,
    nodes: Vec<Arc<Node>>,
}

impl Topology {
    /// The state of the cluster that the client knows; nodes that were known before are kept with what is in flight to them.
    pub(crate) fn read(client: &Client, config: &StoreConfig, before: Option<&Self>) -> Self {
        let mut known: Vec<Arc<Node>> = Vec::new();
        let mut number_of = |address: String| {
            let number = known.iter().position(|node| node.address == address).unwrap_or_else(|| {
                let kept = before.and_then(|topology| topology.nodes.iter().find(|node| node.address == address));
                known.push(kept.cloned().unwrap_or_else(|| Arc::new(Node::new(address, config.max_in_flight))));
                known.len() - 1
            });
            number as u16
        };
        let slots = match config.mode {
            Mode::Single => {
                let (host, port) = &config.servers[0];
                number_of(format!("{host}:{port}"));
                SlotMap::single()
            }
            Mode::Cluster => {
                let routing = client.cached_cluster_state();
                let ranges = routing.iter().flat_map(|routing| routing.slots());
                SlotMap::from_ranges(ranges.map(|range| (range.start, range.end, number_of(range.primary.to_string()))))
            }
        };
        Self { slots, nodes: known }
    }

    /// The node that serves a slot, if one does.
    pub(crate) fn node(&self, slot: Slot) -> Option<&Arc<Node>> {
        self.slots.node(slot).map(|number| &self.nodes[usize::from(number)])
    }

    /// One slot of each node.
    pub(crate) fn slot_of_each_node(&self, slots: impl Iterator<Item = Slot>) -> Vec<Slot> {
        let mut found = vec![None; self.nodes.len()];
        for slot in slots {
            if let Some(number) = self.slots.node(slot) {
                found[usize::from(number)].get_or_insert(slot);
            }
        }
        found.into_iter().flatten().collect()
    }

    pub(crate) fn nodes(&self) -> &[Arc<Node>] {
        &self.nodes
    }

    pub(crate) fn addresses(&self) -> Vec<String> {
        self.nodes.iter().map(|node| node.address.clone()).collect()
    }
}

/// A primary.
pub(crate) struct Node {
    pub(crate) address: String,
    pub(crate) permits: Semaphore,
    durations: RwLock<HashMap<&'static str, metrics::Histogram>>,
}

impl Node {
    fn new(address: String, max_in_flight: usize) -> Self {
        Self { address, permits: Semaphore::new(max_in_flight), durations: RwLock::default() }
    }

    /// Tells how many commands are in flight.
    pub(crate) fn record_in_flight(&self, most: usize) {
        let in_flight = most.saturating_sub(self.permits.available_permits());
        metrics::gauge!("socialgraph_redis_in_flight", "node" => self.address.clone()).set(in_flight as f64);
    }

    /// Counts a command's duration.
    pub(crate) fn record(&self, command: &'static str, duration: Duration) {
        let known = self.durations.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(histogram) = known.get(command) {
            return histogram.record(duration);
        }
        drop(known);
        let histogram = metrics::histogram!(
            "socialgraph_redis_command_duration_seconds",
            "command" => command, "node" => self.address.clone()
        );
        histogram.record(duration);
        self.durations.write().unwrap_or_else(PoisonError::into_inner).insert(command, histogram);
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)
    }
}
