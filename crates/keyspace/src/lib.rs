//! Where a user's data lives: user -> partition -> hash tag -> slot -> node, and the names of all keys. Pure.
//!
//! All keys of a partition carry its hash tag, so that one script can read and write everything in one partition. What
//! crosses partitions is planned here as batches, one for each partition.

mod chain;
mod group;
mod key;
mod partition;
mod plan;
mod slot;

pub use chain::{Chain, Shard};
pub use group::{CrossSlot, SlotGroup};
pub use key::{InvalidName, Key, Keyspace, LIKED_PARTS, LIKES_PARTS, List};
pub use partition::{InvalidPartitionCount, Partition, PartitionCount};
pub use plan::{Batch, SlotMap, by_partition};
pub use slot::{SLOTS, Slot};
