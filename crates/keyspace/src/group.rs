use thiserror::Error;

use crate::{Key, Slot};

/// Keys that are proven to share a slot: the only thing that a script or a multi-key command accepts.
#[derive(Clone, Debug)]
pub struct SlotGroup {
    slot: Slot,
    keys: Vec<Key>,
}

/// Keys of different slots in one group, or none at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CrossSlot {
    /// Two keys of the group have different slots.
    #[error("keys of slots {0:?} and {1:?} in one group")]
    Different(Slot, Slot),
    /// There is no key, and so no slot.
    #[error("a group needs at least one key")]
    Empty,
}

impl SlotGroup {
    /// A group of keys, in the order given.
    pub fn new(keys: Vec<Key>) -> Result<Self, CrossSlot> {
        let slot = keys.first().ok_or(CrossSlot::Empty)?.slot();
        match keys.iter().find(|key| key.slot() != slot) {
            Some(other) => Err(CrossSlot::Different(slot, other.slot())),
            None => Ok(Self { slot, keys }),
        }
    }

    /// The slot of all keys.
    pub const fn slot(&self) -> Slot {
        self.slot
    }

    /// The keys.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The keys, without a copy.
    pub fn into_keys(self) -> Vec<Key> {
        self.keys
    }
}

impl From<Key> for SlotGroup {
    fn from(key: Key) -> Self {
        Self { slot: key.slot(), keys: vec![key] }
    }
}

#[cfg(test)]
mod tests {
    use model::UserId;

    use super::*;
    use crate::{Keyspace, PartitionCount};

    #[test]
    fn field_r3_a_group_refuses_keys_of_two_slots() {
        let keys = Keyspace::new("sg", PartitionCount::DEFAULT).unwrap();
        let (one, two) = (UserId::new(1).unwrap(), UserId::new(2).unwrap());
        let crossing = SlotGroup::new(vec![keys.following(one), keys.following(two)]);
        assert_eq!(crossing.unwrap_err(), CrossSlot::Different(keys.following(one).slot(), keys.following(two).slot()));
        assert_eq!(SlotGroup::new(Vec::new()).unwrap_err(), CrossSlot::Empty);
        let log = keys.log(keys.partition(one));
        assert_eq!(SlotGroup::new(vec![keys.following(one), log]).unwrap().keys().len(), 2);
    }
}
