mod feed;
mod likes;

use std::fmt::{self, Write};

use bytes::Bytes;
use model::{ImportId, UserId};
use thiserror::Error;

pub use self::likes::{LIKED_PARTS, LIKES_PARTS};
use crate::{
    chain::Shard,
    partition::{Partition, PartitionCount, Tag, mix64},
    slot::Slot,
};

/// The hash tag of what belongs to the keyspace as a whole.
const SHARED_TAG: &str = "000";

/// A key of a keyspace, and its slot. Only [`Keyspace`] makes keys, so that the slot is right.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    bytes: Bytes,
    slot: Slot,
}

impl Key {
    /// The name as Redis sees it.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The name as Redis sees it, without a copy.
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// The slot that the name hashes to.
    pub const fn slot(&self) -> Slot {
        self.slot
    }

    /// ZSET, an older part of the list whose head this is, by its id.
    pub fn segment(&self, id: impl fmt::Display) -> Self {
        let mut key = UnfinishedKey(self.to_string(), self.slot);
        let _infallible = write!(key.0, ":{id}");
        key.finish()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        String::from_utf8_lossy(&self.bytes).fmt(f)
    }
}

/// One of the two lists that a user has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum List {
    /// Whom the user follows.
    Following,
    /// Who follows the user.
    Followers,
}

/// The names of all keys of one graph. Several keyspaces may share a Redis: another tenant, or another kind of relation.
///
/// A key is `<name>:{<hash tag>}:<kind>`, and for what belongs to one user `:<user id in decimal>` after it.
#[derive(Clone, Debug)]
pub struct Keyspace {
    name: String,
    count: PartitionCount,
    tags: Box<[Tag]>,
    shared: Slot,
}

/// A name that is not 1 to 32 characters of `a-z`, `0-9`, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("must be 1 to 32 characters of a-z, 0-9, _ and -, not {0:?}")]
pub struct InvalidName(pub String);

impl Keyspace {
    /// A keyspace: all its keys begin with `name`.
    pub fn new(name: &str, count: PartitionCount) -> Result<Self, InvalidName> {
        let allowed = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'_' | b'-');
        if !(1..=32).contains(&name.len()) || !name.bytes().all(allowed) {
            return Err(InvalidName(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), count, tags: count.tags(), shared: Slot::of(SHARED_TAG.as_bytes()) })
    }

    /// The number of partitions.
    pub const fn partitions(&self) -> PartitionCount {
        self.count
    }

    /// The partition of a user.
    pub fn partition(&self, user: UserId) -> Partition {
        self.count.partition(user)
    }

    /// A partition's hash tag, without braces.
    pub fn hash_tag(&self, partition: Partition) -> String {
        self.tag(partition).bytes.iter().map(|&byte| char::from(byte)).collect()
    }

    /// The slot of a partition.
    pub fn slot(&self, partition: Partition) -> Slot {
        self.tag(partition).slot
    }

    /// ZSET: followee -> time of following in microseconds.
    pub fn following(&self, user: UserId) -> Key {
        self.of_user("following", user)
    }

    /// SET: the followees in segments of the list.
    pub fn following_ids(&self, user: UserId) -> Key {
        self.beside("following", user, ":ids")
    }

    /// ZSET: former followee -> version of the unfollow. Kept for 7 days.
    pub fn left(&self, user: UserId) -> Key {
        self.of_user("left", user)
    }

    /// ZSET: whom the user does not want to be recommended -> time of the dismissal in microseconds. At most 1,000.
    pub fn dismissed(&self, user: UserId) -> Key {
        self.of_user("dismissed", user)
    }

    /// ZSET: whom the user blocks -> time of the block in microseconds. At most 5,000.
    pub fn blocking(&self, user: UserId) -> Key {
        self.of_user("blocking", user)
    }

    /// ZSET: whom the user mutes -> time of the mute in microseconds. At most 5,000.
    pub fn muting(&self, user: UserId) -> Key {
        self.of_user("muting", user)
    }

    /// ZSET: whom the user mutes for a while -> until when in microseconds.
    pub fn mute_ends(&self, user: UserId) -> Key {
        self.of_user("mute_ends", user)
    }

    /// STRING: until when, in microseconds, the follows of the last hour weigh on a user. It expires then.
    pub fn rate(&self, user: UserId) -> Key {
        self.of_user("rate", user)
    }

    /// ZSET: follower -> time of following in microseconds.
    pub fn followers(&self, user: UserId) -> Key {
        self.of_user("followers", user)
    }

    /// ZSET: former follower -> version of the removal. Kept for 1 hour.
    pub fn gone(&self, user: UserId) -> Key {
        self.of_user("gone", user)
    }

    /// The ZSET of one of a user's lists.
    pub fn list(&self, list: List, user: UserId) -> Key {
        match list {
            List::Following => self.following(user),
            List::Followers => self.followers(user),
        }
    }

    /// ZSET: bound of a segment of one of a user's lists -> the bound's score, and '' -> entries of all segments, negated.
    pub fn list_parts(&self, list: List, user: UserId) -> Key {
        match list {
            List::Following => self.beside("following", user, ":parts"),
            List::Followers => self.beside("followers", user, ":parts"),
        }
    }

    /// HASH: shard of a list of followers -> how many segments were moved into it, by how many entries changes made it longer
    /// since, and the revision that tells so; and who moves segments.
    pub fn shards(&self, user: UserId) -> Key {
        self.beside("followers", user, ":shards")
    }

    /// ZSET, the head of a shard of a list of followers. Always empty: what there is lies in segments.
    pub fn shard(&self, user: UserId, shard: Shard) -> Key {
        self.unfinished_shard(user, shard).finish()
    }

    /// The parts of a shard: see [`Keyspace::list_parts`].
    pub fn shard_parts(&self, user: UserId, shard: Shard) -> Key {
        self.of_shard(user, shard, "parts")
    }

    /// ZSET: former follower -> version of the removal. Kept for 1 hour.
    pub fn shard_gone(&self, user: UserId, shard: Shard) -> Key {
        self.of_shard(user, shard, "gone")
    }

    /// HASH: by how many entries changes made a shard longer, how often, and the last step of moving a segment into it.
    pub fn shard_facts(&self, user: UserId, shard: Shard) -> Key {
        self.of_shard(user, shard, "facts")
    }

    /// ZSET: followee who is not active -> since when they were followed, in microseconds. Such a follow is in no list.
    pub fn aside(&self, user: UserId) -> Key {
        self.of_user("aside", user)
    }

    /// ZSET: followee -> the version of their state for which a follow was put aside or brought back last. Kept for 1 hour.
    pub fn aside_marks(&self, user: UserId) -> Key {
        self.beside("aside", user, ":marks")
    }

    /// ZSET: follower who is not active -> since when they follow, in microseconds. They are not on the list of followers.
    pub fn hidden(&self, user: UserId) -> Key {
        self.of_user("hidden", user)
    }

    /// HASH: the last operation about a user: whether they are active, and how far their edges are moved or removed. Most users have none.
    pub fn state(&self, user: UserId) -> Key {
        self.of_user("state", user)
    }

    /// STRING: which instance is at work on an operation about a user. It expires by itself.
    pub fn state_worker(&self, user: UserId) -> Key {
        self.beside("state", user, ":worker")
    }

    /// ZSET: user of the partition whom an unfinished operation is about -> its version.
    pub fn operations(&self, partition: Partition) -> Key {
        self.of_partition("operations", partition)
    }

    /// What all keys begin with.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What all keys of this keyspace look like, for `SCAN`.
    pub fn pattern(&self) -> String {
        format!("{}:{{*", self.name)
    }

    /// What the keys of lists of follows look like, for `SCAN`. See [`Keyspace::follower_of`].
    pub fn following_pattern(&self) -> String {
        format!("{}:{{*}}:following:*", self.name)
    }

    /// STREAM: every change in a partition, in order.
    pub fn log(&self, partition: Partition) -> Key {
        self.of_partition("log", partition)
    }

    /// ZSET: version of a log entry whose other half may not be applied yet -> the same version.
    pub fn pending(&self, partition: Partition) -> Key {
        self.of_partition("pending", partition)
    }

    /// STRING: the last version given out in a partition.
    pub fn clock(&self, partition: Partition) -> Key {
        self.of_partition("clock", partition)
    }

    /// STRING: the version of an entry of the log that all trimmed entries are at or before; absent as long as none was trimmed.
    pub fn trimmed(&self, partition: Partition) -> Key {
        self.of_partition("trimmed", partition)
    }

    /// A value of an instance's own, by the instance's name, to see how Redis keeps it. There for seconds only.
    pub fn trial(&self, partition: Partition, name: &str) -> Key {
        let mut key = self.of_tag("trial", self.tag(partition));
        let _infallible = write!(key.0, ":{name}");
        key.finish()
    }

    /// HASH: how far an import is. Kept for 7 days. It lies in a partition that the id chooses.
    pub fn import(&self, id: &ImportId) -> Key {
        let hash = id.as_str().bytes().fold(0, |hash, byte| mix64(hash ^ u64::from(byte)));
        let mut key = self.of_tag("import", self.tag(self.count.share((hash >> 32) as u32)));
        let _infallible = write!(key.0, ":{id}");
        key.finish()
    }

    /// HASH: the format number, the number of partitions and the token key of the keyspace.
    pub fn format(&self) -> Key {
        self.of_keyspace("format")
    }

    /// STRING: which instance converts lists of the first format.
    pub fn converter(&self) -> Key {
        self.of_keyspace("converter")
    }

    /// ZSET: running instance -> when its lease expires, in milliseconds.
    pub fn instances(&self) -> Key {
        self.of_keyspace("instances")
    }

    fn tag(&self, partition: Partition) -> &Tag {
        &self.tags[partition.index()]
    }

    fn of_user(&self, kind: &str, user: UserId) -> Key {
        self.unfinished(kind, user).finish()
    }

    fn beside(&self, kind: &str, user: UserId, suffix: &str) -> Key {
        let mut key = self.unfinished(kind, user);
        key.0.push_str(suffix);
        key.finish()
    }

    fn unfinished(&self, kind: &str, user: UserId) -> UnfinishedKey {
        let mut key = self.of_tag(kind, self.tag(self.partition(user)));
        let _infallible = write!(key.0, ":{user}");
        key
    }

    fn unfinished_shard(&self, user: UserId, shard: Shard) -> UnfinishedKey {
        let mut key = self.of_tag("shard", self.tag(shard.partition(self.count)));
        let _infallible = write!(key.0, ":{user}:{shard}");
        key
    }

    fn of_shard(&self, user: UserId, shard: Shard, what: &str) -> Key {
        let mut key = self.unfinished_shard(user, shard);
        let _infallible = write!(key.0, ":{what}");
        key.finish()
    }

    fn of_partition(&self, kind: &str, partition: Partition) -> Key {
        self.of_tag(kind, self.tag(partition)).finish()
    }

    fn of_keyspace(&self, kind: &str) -> Key {
        let bytes = format!("{}:{{{SHARED_TAG}}}:{kind}", self.name).into();
        Key { bytes, slot: self.shared }
    }

    fn of_tag(&self, kind: &str, tag: &Tag) -> UnfinishedKey {
        const MOST_DIGITS: usize = 20;
        let mut key = String::with_capacity(self.name.len() + kind.len() + 7 + MOST_DIGITS);
        key.push_str(&self.name);
        key.push_str(":{");
        key.extend(tag.bytes.iter().map(|&byte| char::from(byte)));
        key.push_str("}:");
        key.push_str(kind);
        UnfinishedKey(key, tag.slot)
    }
}

struct UnfinishedKey(String, Slot);

impl UnfinishedKey {
    fn finish(self) -> Key {
        Key { bytes: self.0.into(), slot: self.1 }
    }
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
