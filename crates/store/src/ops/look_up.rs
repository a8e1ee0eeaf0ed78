//! A look at both ends of edges, and the truth about them committed anew.

use fred::types::Value;
use keyspace::{Keyspace, List, Partition, Shard, SlotGroup};
use model::{Edge, Entry, Micros, UserId, Version};

use super::{
    FollowerChange, Operation,
    commit::version,
    lists::{list_keys, part_keys},
};
use crate::{StoreError, call::Call, script, value};

/// Most looks into segments of one script.
const MOST_LOOKS: usize = 1_024;

/// Tells since when lists have members. See `look_up.lua`.
#[derive(Clone, Debug)]
pub struct LookUp {
    /// What is looked for: 1 to 64 rows, all of one partition; for a search at most 8.
    pub rows: Vec<LookUpRow>,
    /// Whether the members are searched for in the newest parts, and not in their places.
    pub is_search: bool,
}

/// A place in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookUpRow {
    /// Which list.
    pub list: List,
    /// Whose.
    pub user: UserId,
    /// A shard of it; `None` for what is not in shards.
    pub shard: Option<Shard>,
    /// Who is looked for, and where.
    pub entry: Entry,
}

impl LookUpRow {
    /// Where it lies.
    pub fn partition(&self, keys: &Keyspace) -> Partition {
        self.shard.map_or_else(|| keys.partition(self.user), |shard| shard.partition(keys.partitions()))
    }
}

/// What a list has of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookedUp {
    /// It is not there.
    Not,
    /// It is there, since a time that may be another one.
    Since(Micros),
    /// The place is in a shard.
    InShard(Shard),
}

impl LookUp {
    /// Most rows of a search.
    pub const MOST_SEARCHED: usize = 8;
}

impl Operation for LookUp {
    /// What is known of each row, in the order given.
    type Output = Vec<LookedUp>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let searched = if self.is_search { MOST_LOOKS / Self::MOST_SEARCHED } else { 0 };
        let mut args = Vec::with_capacity(1 + 2 * self.rows.len());
        args.push(Value::Integer(searched as i64));
        for LookUpRow { entry, .. } in &self.rows {
            args.extend([Value::Integer(entry.at.get().cast_signed()), entry.user.get().into()]);
        }
        let names = self.rows.iter().flat_map(|row| part_keys(keys, row.list, row.user, row.shard));
        Ok(Call::script(&script::LOOK_UP, SlotGroup::new(names.collect())?, args))
    }

    fn answer(&self, answer: Value) -> Result<Vec<LookedUp>, StoreError> {
        let told = value::array(answer)?;
        if told.len() != self.rows.len() {
            return Err(value::unexpected("an answer a row", &Value::Array(told)));
        }
        told.iter().map(looked_up).collect()
    }
}

fn looked_up(told: &Value) -> Result<LookedUp, StoreError> {
    match value::text(told).ok().and_then(Shard::parse) {
        Some(shard) => Ok(LookedUp::InShard(shard)),
        None => Ok(value::optional_score(told)?.map_or(LookedUp::Not, LookedUp::Since)),
    }
}

/// Commits what a partition has of edges as new changes. See `restate.lua`.
#[derive(Clone, Debug)]
pub struct Restate {
    /// The partition of all followers.
    pub partition: Partition,
    /// 1 to 64 edges, each with a score; those of each follower next to each other.
    edges: Vec<(Edge, Micros)>,
    /// The highest version seen of the partition.
    pub seen: Version,
}

/// What became of a [`Restate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restated {
    /// The changes of the followees' lists.
    pub changes: Vec<(Edge, FollowerChange)>,
    /// The version of the log entry.
    pub version: Version,
}

impl Restate {
    /// Restates 1 to 64 edges, in any order; the followers of all are in one partition.
    pub fn new(partition: Partition, mut edges: Vec<(Edge, Micros)>, seen: Version) -> Self {
        edges.sort_by_key(|(edge, _)| edge.follower());
        Self { partition, edges, seen }
    }
}

impl Operation for Restate {
    type Output = Restated;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let partition = self.partition;
        let mut names = vec![keys.log(partition), keys.pending(partition), keys.clock(partition)];
        let mut args = vec![version(self.seen)];
        for edges in self.edges.chunk_by(|(one, _), (next, _)| one.follower() == next.follower()) {
            let follower = edges[0].0.follower();
            names.extend(list_keys(keys, List::Following, follower));
            args.extend([Value::Integer(follower.get()), Value::Integer(edges.len() as i64)]);
            for (edge, at) in edges {
                args.extend([edge.followee().get().into(), Value::Integer(at.get().cast_signed())]);
            }
        }
        Ok(Call::script(&script::RESTATE, SlotGroup::new(names)?, args))
    }

    fn answer(&self, answer: Value) -> Result<Restated, StoreError> {
        let [first, letters] = value::array_of(answer)?;
        let (first, letters) = (value::number::<u64>(&first)?, value::text(&letters)?.bytes());
        let rows = (first..).zip(&self.edges).zip(letters);
        let changes: Vec<_> = rows
            .map(|((number, &(edge, at)), letter)| {
                let version = Version(number);
                let change = match letter {
                    b'+' => FollowerChange::Present { followed_at: at, version },
                    _ => FollowerChange::Absent { removed: Some(at), version },
                };
                (edge, change)
            })
            .collect();
        let version = Version(first + self.edges.len() as u64 - 1);
        Ok(Restated { changes, version })
    }
}
