use std::fmt;

use model::UserId;
use thiserror::Error;

use crate::slot::{SLOTS, Slot};

/// Into how many partitions a keyspace is divided: a power of two, 64 to 4,096. Chosen once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionCount(u16);

/// A number of partitions that is not a power of two from 64 to 4,096.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must be a power of two from 64 to 4096, not {0}")]
pub struct InvalidPartitionCount(pub u32);

impl PartitionCount {
    /// What a keyspace has when nobody chose another number.
    pub const DEFAULT: Self = Self(1024);

    /// Checks a number from outside.
    pub fn new(count: u32) -> Result<Self, InvalidPartitionCount> {
        match u16::try_from(count) {
            Ok(count @ 64..=4096) if count.is_power_of_two() => Ok(Self(count)),
            _ => Err(InvalidPartitionCount(count)),
        }
    }

    /// The number.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// The partition of a user.
    pub fn partition(self, user: UserId) -> Partition {
        Partition((mix64(user.get().cast_unsigned()) % u64::from(self.0)) as u16)
    }

    /// The partition that a number falls into if all 32-bit numbers are divided evenly, in order.
    pub(crate) const fn share(self, number: u32) -> Partition {
        Partition(((number as u64 * self.0 as u64) >> 32) as u16)
    }

    /// All partitions.
    pub fn all(self) -> impl ExactSizeIterator<Item = Partition> {
        (0..self.0).map(Partition)
    }

    /// The partition with a number, if there is one.
    pub fn get_partition(self, number: u16) -> Option<Partition> {
        (number < self.0).then_some(Partition(number))
    }

    /// The hash tag of every partition.
    ///
    /// A partition's tag is the first, in the order of bytes, of the three-character base-36 strings whose slot lies in the
    /// partition's band of slots, so that partitions are spread evenly over the slots and so over the primaries.
    pub(crate) fn tags(self) -> Box<[Tag]> {
        let mut tags = vec![None; usize::from(self.0)];
        for bytes in three_characters() {
            let slot = Slot::of(&bytes);
            let band = u32::from(slot.get()) * u32::from(self.0) / u32::from(SLOTS);
            tags[band as usize].get_or_insert(Tag { bytes, slot });
        }
        tags.into_iter().flatten().collect()
    }
}

/// A share of the users, 0 to the number of partitions - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition(u16);

impl Partition {
    /// The number.
    pub const fn get(self) -> u16 {
        self.0
    }

    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A partition's hash tag and the slot that it hashes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) bytes: [u8; 3],
    pub(crate) slot: Slot,
}

fn three_characters() -> impl Iterator<Item = [u8; 3]> {
    const BASE_36: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    BASE_36.iter().flat_map(|&a| BASE_36.iter().flat_map(move |&b| BASE_36.iter().map(move |&c| [a, b, c])))
}

/// The finalizer of SplitMix64: consecutive ids land in unrelated partitions.
pub(crate) fn mix64(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(id: i64) -> UserId {
        UserId::new(id).unwrap()
    }

    #[test]
    fn counts_are_powers_of_two_in_range() {
        for count in [0, 1, 32, 63, 65, 1000, 4097, 8192, 65_536, 66_560, u32::MAX] {
            assert_eq!(PartitionCount::new(count), Err(InvalidPartitionCount(count)));
        }
        assert_eq!(PartitionCount::new(64).unwrap().get(), 64);
        assert_eq!(PartitionCount::new(4096).unwrap().get(), 4096);
    }

    #[test]
    fn golden_partitions() {
        let partitions = [1, 2, 3, 42, i64::MAX].map(|id| PartitionCount::DEFAULT.partition(user(id)).get());
        assert_eq!(partitions, [485, 138, 240, 546, 701]);
        assert_eq!(mix64(1), 0x5692_161d_100b_05e5);
    }

    #[test]
    fn every_partition_has_a_tag_in_its_band() {
        for count in [64, 128, 256, 512, 1024, 2048, 4096] {
            let tags = PartitionCount::new(count).unwrap().tags();
            assert_eq!(tags.len(), count as usize);
            let band = u32::from(SLOTS) / count;
            for (partition, tag) in (0..).zip(&tags) {
                let slot = u32::from(tag.slot.get());
                assert!((partition * band..(partition + 1) * band).contains(&slot), "{partition} of {count}: {tag:?}");
            }
        }
    }

    #[test]
    fn field_r4_primaries_get_their_share_of_partitions_and_users() {
        let count = PartitionCount::DEFAULT;
        let tags = count.tags();
        for primaries in [3, 5, 8] {
            let primary_of =
                |partition: Partition| usize::from(tags[partition.index()].slot.get()) * primaries / usize::from(SLOTS);
            let mut partitions = vec![0_f64; primaries];
            let mut users = vec![0_f64; primaries];
            count.all().for_each(|partition| partitions[primary_of(partition)] += 1.0);
            (1..=100_000).for_each(|id| users[primary_of(count.partition(user(id)))] += 1.0);
            for (shares, total) in [(partitions, 1024.0), (users, 100_000.0)] {
                let fair = total / primaries as f64;
                assert!(shares.iter().all(|share| (share / fair - 1.0).abs() < 0.1), "{primaries}: {shares:?}");
            }
        }
    }
}
