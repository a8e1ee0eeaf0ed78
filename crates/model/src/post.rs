use std::fmt;

use thiserror::Error;

use crate::{Micros, UserId};

/// A post's id, unique among the posts of its author: 1 to 2^63 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PostId(i64);

/// An id that is not greater than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must be greater than 0, not {0}")]
pub struct InvalidPostId(pub i64);

/// Where the ids that the service makes begin: 2024-01-01T00:00:00Z in microseconds.
const EPOCH: u64 = 1_704_067_200_000_000;
/// Bits of a made id that hold the partition.
const PARTITION_BITS: u32 = 12;

impl PostId {
    /// The least id.
    pub const MIN: Self = Self(1);
    /// The greatest id.
    pub const MAX: Self = Self(i64::MAX);

    /// Checks an id from outside.
    pub const fn new(id: i64) -> Result<Self, InvalidPostId> {
        if id > 0 { Ok(Self(id)) } else { Err(InvalidPostId(id)) }
    }

    /// The id of a post that is made at a time in a partition, as long as the author has no other at that time.
    pub const fn made_at(time: u64, partition: u16) -> Self {
        let since = time.saturating_sub(EPOCH) & (i64::MAX as u64 >> PARTITION_BITS);
        let id = (since << PARTITION_BITS) as i64 | partition as i64;
        // Only partition 0 before the epoch would have 0.
        if id > 0 { Self(id) } else { Self::MIN }
    }

    /// The number.
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl fmt::Display for PostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An entry of a feed: a post, by its time and its two ids. Also its place in the feed, and so a cursor.
///
/// The order is that of Redis: by time, and then by the bytes of the member, post first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FeedEntry {
    /// When it was published.
    pub at: Micros,
    /// The post's id.
    pub post: PostId,
    /// The post's author.
    pub author: UserId,
}

impl FeedEntry {
    /// The member of an inbox: post id and author id, each of 8 bytes, the highest first.
    pub fn member(self) -> [u8; 16] {
        ((self.post.get() as u128) << 64 | self.author.get() as u128).to_be_bytes()
    }

    /// Reads a member of an inbox; `None` if it is none.
    pub fn of_member(at: Micros, member: &[u8]) -> Option<Self> {
        let number = u128::from_be_bytes(member.try_into().ok()?);
        let post = PostId::new((number >> 64) as i64).ok()?;
        Some(Self { at, post, author: UserId::new(number as i64).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(at: u64, post: i64, author: i64) -> FeedEntry {
        FeedEntry {
            at: Micros::new(at).unwrap(),
            post: PostId::new(post).unwrap(),
            author: UserId::new(author).unwrap(),
        }
    }

    #[test]
    fn golden_members_and_ids() {
        assert_eq!(entry(5, 0x0102_0304, 0x0506).member(), [0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 5, 6]);
        assert_eq!(PostId::made_at(EPOCH + 3, 7).get(), 3 << 12 | 7);
        assert_eq!(PostId::made_at(0, 0), PostId::MIN);
        assert_eq!(PostId::new(0), Err(InvalidPostId(0)));
    }

    proptest! {
        #[test]
        fn field_f4_entries_order_as_their_members_do(
            a in 1..=i64::MAX, b in 1..=i64::MAX, c in 1..=i64::MAX, d in 1..=i64::MAX, shift in 0..63_u32
        ) {
            for (one, other) in [
                (entry(9, a, b), entry(9, c, d)),
                (entry(9, a, b), entry(9, a, d)),
                (entry(9, (a >> shift).max(1), b), entry(9, c, d)),
            ] {
                prop_assert_eq!(one.cmp(&other), one.member().cmp(&other.member()));
                prop_assert_eq!(FeedEntry::of_member(one.at, &one.member()), Some(one));
            }
        }

        #[test]
        fn made_ids_are_positive(time in 0..=1_u64 << 53, partition in 0..4096_u16) {
            prop_assert!(PostId::made_at(time, partition).get() > 0);
        }
    }
}
