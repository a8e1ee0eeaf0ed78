use std::fmt;

use model::UserId;

use crate::{Keyspace, List, Partition, PartitionCount, partition::mix64};

/// A list in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Chain {
    /// One of a user's lists of follows.
    Follows(List, UserId),
    /// The posts of an author.
    Posts(UserId),
}

/// A stretch of a list of followers that lies in a partition of its own, by the number that chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shard(u32);

/// The golden ratio's fraction of 2^32, as `spread.lua` has it.
const GOLDEN_FRACTION: u32 = 2_654_435_769;

impl Shard {
    /// What the number of a list's first shard is counted from, so that lists begin in different partitions. Each shard is the
    /// golden ratio's fraction of all numbers after the one before: any number of them is spread evenly.
    pub fn origin(user: UserId) -> u32 {
        mix64(user.get().cast_unsigned()) as u32
    }

    /// One of a list's shards, by its number from 1.
    pub fn numbered(user: UserId, number: u32) -> Self {
        Self(Self::origin(user).wrapping_add(GOLDEN_FRACTION.wrapping_mul(number)))
    }

    /// Reads what [`Display`](fmt::Display) wrote.
    pub fn parse(text: &str) -> Option<Self> {
        u32::from_str_radix(text.strip_prefix('*')?, 16).ok().map(Self)
    }

    /// Where it lies.
    pub fn partition(self, partitions: PartitionCount) -> Partition {
        partitions.share(self.0)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "*{:x}", self.0)
    }
}

impl Keyspace {
    /// The list of which a key is the head, if it is one of this keyspace.
    pub fn chain_of(&self, key: &[u8]) -> Option<Chain> {
        let (kind, user, "") = self.of_whom(key)? else { return None };
        match kind {
            "following" => Some(Chain::Follows(List::Following, user)),
            "followers" => Some(Chain::Follows(List::Followers, user)),
            "posts" => Some(Chain::Posts(user)),
            _ => None,
        }
    }

    /// Whose list of follows it is that a key is the head or the parts of, if it is one of this keyspace. A list that is not empty has
    /// at least one of these.
    pub fn follower_of(&self, key: &[u8]) -> Option<UserId> {
        match self.of_whom(key)? {
            ("following", user, "" | "parts") => Some(user),
            _ => None,
        }
    }

    /// Kind, user, and what comes after them, of a key of a user of this keyspace.
    fn of_whom<'a>(&self, key: &'a [u8]) -> Option<(&'a str, UserId, &'a str)> {
        let mut words = str::from_utf8(key).ok()?.splitn(5, ':');
        let (name, tag, kind, user) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let user = UserId::new(user.parse().ok()?).ok()?;
        let tag_of_user = self.hash_tag(self.partition(user));
        let is_ours = name == self.name() && tag.strip_prefix('{')?.strip_suffix('}')? == tag_of_user;
        is_ours.then(|| (kind, user, words.next().unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_read_as_they_are_written() {
        for shard in [Shard(0), Shard(0x5a), Shard(u32::MAX)] {
            assert_eq!(Shard::parse(&shard.to_string()), Some(shard));
        }
        for wrong in ["", "*", "5a", "*100000000", "*g", "* 5a"] {
            assert_eq!(Shard::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn shards_are_spread_evenly() {
        for count in [64, 1024, 4096] {
            let count = PartitionCount::new(count).unwrap();
            let user = UserId::new(42).unwrap();
            for (shards, nodes) in [(9, 3_usize), (30, 3), (100, 8)] {
                let mut of_node = vec![0_usize; nodes];
                for number in 1..=shards {
                    let shard = Shard::numbered(user, number);
                    of_node[usize::from(shard.partition(count).get()) * nodes / usize::from(count.get())] += 1;
                }
                let mean = shards as usize / nodes;
                assert!(of_node.iter().all(|shards| (mean - 1..=mean + 2).contains(shards)), "{of_node:?}");
            }
        }
    }

    #[test]
    fn followers_are_known_by_their_keys() {
        let keys = Keyspace::new("sg", PartitionCount::DEFAULT).unwrap();
        let user = UserId::new(42).unwrap();
        for (key, follower) in [
            (keys.following(user), Some(user)),
            (keys.list_parts(List::Following, user), Some(user)),
            (keys.following_ids(user), None),
            (keys.following(user).segment("1z141z3"), None),
            (keys.followers(user), None),
            (keys.list_parts(List::Followers, user), None),
            (keys.clock(keys.partition(user)), None),
        ] {
            assert_eq!(keys.follower_of(key.bytes()), follower, "{key}");
        }
        assert_eq!(keys.follower_of(b"tg:{0x1}:following:42"), None);
    }

    #[test]
    fn heads_of_lists_are_known() {
        let keys = Keyspace::new("sg", PartitionCount::DEFAULT).unwrap();
        let user = UserId::new(42).unwrap();
        for (key, chain) in [
            (keys.following(user), Some(Chain::Follows(List::Following, user))),
            (keys.followers(user), Some(Chain::Follows(List::Followers, user))),
            (keys.posts(user), Some(Chain::Posts(user))),
            (keys.following_ids(user), None),
            (keys.list_parts(List::Followers, user), None),
            (keys.followers(user).segment("1z141z3"), None),
            (keys.shards(user), None),
            (keys.inbox(user), None),
            (keys.format(), None),
        ] {
            assert_eq!(keys.chain_of(key.bytes()), chain, "{key}");
        }
        for foreign in
            ["tg:{0x1}:followers:42", "sg:{0x2}:followers:42", "sg:0x1:followers:42", "sg:{0x1}:followers:x", ""]
        {
            assert_eq!(keys.chain_of(foreign.as_bytes()), None, "{foreign}");
        }
    }
}
