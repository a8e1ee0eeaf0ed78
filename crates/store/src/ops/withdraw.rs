//! The end of follows that their followees' partitions do not take.

use fred::types::Value;
use keyspace::{Keyspace, Partition, SlotGroup};
use model::{Edge, Micros, Version};

use super::{Operation, commit::version, lists::following_keys};
use crate::{StoreError, call::Call, script, value};

/// Commits the end of follows of one partition, without a trace among former follows. See `withdraw.lua`.
#[derive(Clone, Debug)]
pub struct Withdraw {
    /// The partition of all followers.
    pub partition: Partition,
    /// 1 to 64 edges, each with its score; those of each follower next to each other.
    edges: Vec<(Edge, Micros)>,
    /// The highest version seen of the partition.
    pub seen: Version,
}

/// What became of a [`Withdraw`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withdrawn {
    /// What became of each edge.
    pub rows: Vec<WithdrawnRow>,
    /// The version of the log entry; if no edge was there, the last version of the partition.
    pub version: Version,
}

/// What became of an edge of a [`Withdraw`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WithdrawnRow {
    /// Which edge.
    pub edge: Edge,
    /// The score that it had to have.
    pub followed_at: Micros,
    /// The version of the change; `None` if there was no such edge.
    pub version: Option<Version>,
    /// Whether the follower has an inbox.
    pub has_inbox: bool,
}

impl Withdraw {
    /// Ends 1 to 64 follows, in any order; the followers of all are in one partition.
    pub fn new(partition: Partition, mut edges: Vec<(Edge, Micros)>, seen: Version) -> Self {
        edges.sort_by_key(|(edge, _)| edge.follower());
        Self { partition, edges, seen }
    }

    fn by_follower(&self) -> impl Iterator<Item = &[(Edge, Micros)]> {
        self.edges.chunk_by(|(one, _), (next, _)| one.follower() == next.follower())
    }
}

impl Operation for Withdraw {
    type Output = Withdrawn;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let partition = self.partition;
        let mut names = vec![keys.log(partition), keys.pending(partition), keys.clock(partition)];
        let mut args = vec![version(self.seen)];
        for edges in self.by_follower() {
            let follower = edges[0].0.follower();
            names.extend(following_keys(keys, follower));
            names.extend([keys.feed(follower), keys.aside(follower)]);
            args.extend([Value::Integer(follower.get()), Value::Integer(edges.len() as i64)]);
            for (edge, at) in edges {
                args.extend([edge.followee().get().into(), Value::Integer(at.get().cast_signed())]);
            }
        }
        Ok(Call::script(&script::WITHDRAW, SlotGroup::new(names)?, args))
    }

    fn answer(&self, answer: Value) -> Result<Withdrawn, StoreError> {
        let [first, letters, inboxes] = value::array_of(answer)?;
        let (letters, inboxes) = (value::text(&letters)?.as_bytes(), value::text(&inboxes)?.as_bytes());
        if letters.len() != self.edges.len() {
            return Err(StoreError::Refused(format!("{} letters for {} edges", letters.len(), self.edges.len())));
        }
        let mut next = value::number(&first)?;
        let mut last = Version(next);
        let mut rows = Vec::with_capacity(self.edges.len());
        for (edges, &inbox) in self.by_follower().zip(inboxes) {
            for &(edge, followed_at) in edges {
                let is_removed = letters[rows.len()] == b'r';
                let version = is_removed.then_some(Version(next));
                last = version.unwrap_or(last);
                next += u64::from(is_removed);
                rows.push(WithdrawnRow { edge, followed_at, version, has_inbox: inbox == b'y' });
            }
        }
        Ok(Withdrawn { rows, version: last })
    }
}
