//! Where the graph lies.

use std::ops::RangeInclusive;

use service::{Instance, Node, NodeState, Topology};
use socialgraph::admin::v1;

use super::convert::timestamp;

pub(super) fn response(topology: Topology) -> v1::GetTopologyResponse {
    let Topology { nodes, partitions, instances, pending_changes, oldest_pending } = topology;
    v1::GetTopologyResponse {
        nodes: nodes.into_iter().map(node).collect(),
        instances: instances.into_iter().map(instance).collect(),
        partitions: partitions.into(),
        pending_changes: pending_changes.cast_signed(),
        oldest_pending_at: oldest_pending.map(timestamp),
    }
}

fn node(node: Node) -> v1::Node {
    let Node { id, address, replica_of, state, slots, partitions } = node;
    let role = if replica_of.is_some() { v1::NodeRole::Replica } else { v1::NodeRole::Primary };
    let state = match state {
        NodeState::Up => v1::NodeState::Up,
        NodeState::Suspected => v1::NodeState::Suspected,
        NodeState::Failed => v1::NodeState::Failed,
    };
    v1::Node {
        address,
        role: role.into(),
        state: state.into(),
        slots,
        partitions: ranges(&partitions),
        id,
        primary_id: replica_of.unwrap_or_default(),
    }
}

fn instance(instance: Instance) -> v1::Instance {
    let Instance { name, is_this, lease_until, partitions } = instance;
    let lease_until = Some(timestamp(lease_until));
    v1::Instance { name, asked: is_this, lease_until, partitions: ranges(&partitions) }
}

/// Such as `0-340,512`.
fn ranges(ranges: &[RangeInclusive<u16>]) -> String {
    let range = |range: &RangeInclusive<u16>| match (range.start(), range.end()) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_short() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[0..=340, 512..=512]), "0-340,512");
    }
}
