//! A look at the cluster, and at who serves the keyspace.

use std::ops::RangeInclusive;

use fred::types::Value;
use keyspace::{Keyspace, Partition};

use super::Operation;
use crate::{StoreError, call::Call, value};

/// Most instances that are told.
const MOST_INSTANCES: i64 = 1_000;

/// What the primary of a partition knows of all nodes of its cluster.
#[derive(Clone, Copy, Debug)]
pub struct ClusterNodes(pub Partition);

/// A node of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterNode {
    /// Its id.
    pub id: String,
    /// `host:port`.
    pub address: String,
    /// Of a replica, the id of its primary.
    pub replica_of: Option<String>,
    /// How it seems to be.
    pub state: NodeState,
    /// The slots that it serves.
    pub slots: Vec<RangeInclusive<u16>>,
}

/// How a node seems to be to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Well.
    Up,
    /// It did not answer for a while.
    Suspected,
    /// Most agree that it is down.
    Failed,
}

impl Operation for ClusterNodes {
    type Output = Vec<ClusterNode>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::to_slot("CLUSTER", keys.slot(self.0), vec![Value::from_static_str("NODES")]))
    }

    fn answer(&self, answer: Value) -> Result<Vec<ClusterNode>, StoreError> {
        let nodes = value::text(&answer)?.lines().filter(|line| !line.is_empty());
        nodes.map(|line| node(line).ok_or_else(|| value::unexpected("a node of a cluster", &answer))).collect()
    }
}

/// Reads `<id> <ip:port@cport[,hostname]> <flags> <primary> <ping> <pong> <epoch> <link> <slot> <slot> …`.
fn node(line: &str) -> Option<ClusterNode> {
    let words: Vec<_> = line.split(' ').collect();
    let [id, address, flags, primary, _, _, _, _, slots @ ..] = &words[..] else { return None };
    let has = |flag: &str| flags.split(',').any(|other| other == flag);
    let state = match () {
        () if has("fail") || has("noaddr") => NodeState::Failed,
        () if has("fail?") || has("handshake") => NodeState::Suspected,
        () => NodeState::Up,
    };
    // A slot that moves is in brackets; it is among the others as well.
    let slots = slots.iter().filter(|slot| !slot.starts_with('[') && !slot.is_empty()).map(|slot| {
        let (first, last) = slot.split_once('-').unwrap_or((slot, slot));
        Some(first.parse().ok()?..=last.parse().ok()?)
    });
    Some(ClusterNode {
        id: (*id).to_owned(),
        address: address.split('@').next()?.to_owned(),
        replica_of: (*primary != "-").then(|| (*primary).to_owned()),
        state,
        slots: slots.collect::<Option<_>>()?,
    })
}

/// The instances that have or had a lease, at most 1,000, each with the time in milliseconds since 1970 until which it holds.
#[derive(Clone, Copy, Debug)]
pub struct Instances;

impl Operation for Instances {
    type Output = Vec<(String, u64)>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let args = [(-MOST_INSTANCES).to_string(), "-1".to_owned(), "WITHSCORES".to_owned()];
        Ok(Call::command("ZRANGE", keys.instances(), args))
    }

    fn answer(&self, answer: Value) -> Result<Vec<(String, u64)>, StoreError> {
        let pairs = value::pairs(answer)?;
        let instances = pairs.iter().map(|[name, until]| {
            let until = value::text(until)?.parse::<f64>().map_err(|_| value::unexpected("a time", until))?;
            Ok((value::text(name)?.to_owned(), until as u64))
        });
        instances.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_lines() {
        let primary = "07c3 127.0.0.1:30004@31004,host master,fail? - 0 1426238317239 4 connected 0-2 7 [5->-e7]";
        let replica = "e7d1 [::1]:30001@31001 myself,slave 07c3 0 0 1 connected";
        let expected = ClusterNode {
            id: "07c3".to_owned(),
            address: "127.0.0.1:30004".to_owned(),
            replica_of: None,
            state: NodeState::Suspected,
            slots: vec![0..=2, 7..=7],
        };
        assert_eq!(node(primary), Some(expected));
        let replica = node(replica).unwrap();
        assert_eq!((replica.replica_of.as_deref(), replica.state), (Some("07c3"), NodeState::Up));
        assert!(replica.slots.is_empty());
        for bad in ["", "07c3 x:1 master -", "07c3 x:1@2 master - 0 0 1 connected x-y"] {
            assert_eq!(node(bad), None, "{bad}");
        }
    }
}
