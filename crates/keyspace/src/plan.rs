use crate::{
    partition::{Partition, PartitionCount},
    slot::{SLOTS, Slot},
};

/// What is to be done in one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch<T> {
    /// Where.
    pub partition: Partition,
    /// What, in the order given.
    pub items: Vec<T>,
}

/// Groups items by partition, at most `limit` (> 0) of them in one batch; within a partition their order is kept.
///
/// Batches come in the order of their partitions, and so of their slots: neighbours mostly go to one node.
pub fn by_partition<T>(
    count: PartitionCount,
    items: impl IntoIterator<Item = T>,
    limit: usize,
    partition_of: impl Fn(&T) -> Partition,
) -> Vec<Batch<T>> {
    let mut open: Vec<Vec<T>> = std::iter::repeat_with(Vec::new).take(usize::from(count.get())).collect();
    let mut batches = Vec::new();
    for item in items {
        let partition = partition_of(&item);
        let items = &mut open[partition.index()];
        items.push(item);
        if items.len() == limit {
            batches.push(Batch { partition, items: std::mem::take(items) });
        }
    }
    let rest = count.all().zip(open).filter(|(_, items)| !items.is_empty());
    batches.extend(rest.map(|(partition, items)| Batch { partition, items }));
    batches.sort_by_key(|batch| batch.partition);
    batches
}

/// Which node of a cluster serves which slot, by the node's number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotMap {
    nodes: Box<[Option<u16>]>,
}

impl SlotMap {
    /// A map in which one node serves every slot.
    pub fn single() -> Self {
        Self::from_ranges([(0, SLOTS - 1, 0)])
    }

    /// A map from ranges of slots, both ends included, and the number of the node that serves each.
    pub fn from_ranges(ranges: impl IntoIterator<Item = (u16, u16, u16)>) -> Self {
        let mut nodes = vec![None; usize::from(SLOTS)].into_boxed_slice();
        for (first, last, node) in ranges {
            for slot in first..=last.min(SLOTS - 1) {
                nodes[usize::from(slot)] = Some(node);
            }
        }
        Self { nodes }
    }

    /// The node of a slot; `None` if no node serves it now.
    pub fn node(&self, slot: Slot) -> Option<u16> {
        self.nodes[usize::from(slot.get())]
    }

    /// How many slots no node serves.
    pub fn uncovered(&self) -> usize {
        self.nodes.iter().filter(|node| node.is_none()).count()
    }

    /// Groups items by the node that serves them; within a node their order is kept. Those of uncovered slots come last.
    pub fn by_node<T>(
        &self,
        items: impl IntoIterator<Item = T>,
        slot_of: impl Fn(&T) -> Slot,
    ) -> Vec<(Option<u16>, Vec<T>)> {
        let mut groups: Vec<(Option<u16>, Vec<T>)> = Vec::new();
        for item in items {
            let node = self.node(slot_of(&item));
            match groups.iter_mut().find(|(known, _)| *known == node) {
                Some((_, items)) => items.push(item),
                None => groups.push((node, vec![item])),
            }
        }
        groups.sort_by_key(|(node, _)| node.map_or(u32::MAX, u32::from));
        groups
    }
}

#[cfg(test)]
mod tests {
    use model::UserId;
    use proptest::prelude::*;

    use super::*;
    use crate::Keyspace;

    proptest! {
        #[test]
        fn a_plan_loses_nothing_and_keeps_order(ids in prop::collection::vec(1..500_i64, 0..300), limit in 1..70_usize) {
            let count = PartitionCount::new(64).unwrap();
            let partition_of = |id: i64| count.partition(UserId::new(id).unwrap());
            let batches = by_partition(count, ids.iter().copied().enumerate(), limit, |&(_, id)| partition_of(id));
            let mut planned = Vec::new();
            for batch in &batches {
                prop_assert!((1..=limit).contains(&batch.items.len()));
                prop_assert!(batch.items.iter().all(|&(_, id)| partition_of(id) == batch.partition));
                planned.extend(batch.items.iter().copied());
            }
            prop_assert!(batches.is_sorted_by_key(|batch| batch.partition));
            for partition in count.all() {
                let of_partition = |&&(_, id): &&(usize, i64)| partition_of(id) == partition;
                prop_assert!(planned.iter().filter(of_partition).map(|&(row, _)| row).is_sorted());
            }
            planned.sort_unstable();
            prop_assert_eq!(planned, ids.into_iter().enumerate().collect::<Vec<_>>());
        }
    }

    #[test]
    fn items_go_to_the_node_of_their_slot() {
        let keys = Keyspace::new("sg", PartitionCount::DEFAULT).unwrap();
        let map = SlotMap::from_ranges([(0, 5_000, 0), (5_001, 10_000, 1)]);
        let groups = map.by_node(keys.partitions().all(), |&partition| keys.slot(partition));
        assert_eq!(groups.iter().map(|(node, _)| *node).collect::<Vec<_>>(), [Some(0), Some(1), None]);
        assert_eq!(groups.iter().map(|(_, partitions)| partitions.len()).sum::<usize>(), 1024);
        for (node, partitions) in &groups {
            assert!(partitions.iter().all(|&partition| map.node(keys.slot(partition)) == *node));
        }
        assert_eq!(map.uncovered(), 16_384 - 10_001);
        assert_eq!(SlotMap::single().uncovered(), 0);
    }
}
