//! What is kept of lists beside their entries: numbers of entries, and sets of members.

use fred::types::Value;
use keyspace::{Keyspace, List, Shard, SlotGroup};
use model::{Entry, UserId};

use super::{
    Operation, Segment,
    lists::{following_keys, part_keys},
    whole_lists::segments,
};
use crate::{StoreError, call::Call, script, value};

/// Counts the entries of a list by its segments. See `tally.lua`.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Which list.
    pub list: List,
    /// Whose.
    pub user: UserId,
    /// A shard of it; `None` for what is not in shards.
    pub shard: Option<Shard>,
    /// Only segments up to this place.
    pub bound: Option<Entry>,
    /// How many entries the shards have, and the facts that were told with them, if the number is to be set right.
    pub mend: Option<(u64, String)>,
}

/// What became of a [`Tally`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tallied {
    /// The entries of the head.
    pub head: u64,
    /// The number that is kept of all other entries, those of shards included.
    pub kept: i64,
    /// The entries of segments.
    pub entries: u64,
    /// The shards, oldest first.
    pub shards: Vec<Segment>,
    /// Fields and values in turn, each on a line.
    pub facts: String,
}

impl Tallied {
    /// The revision of a shard that a list has counted, 0 if none.
    pub fn counted_revision(&self, shard: Shard) -> u64 {
        let counted = self.fact(&shard.to_string()).and_then(|fact| fact.rsplit(' ').next());
        counted.and_then(|revision| revision.parse().ok()).unwrap_or(0)
    }

    /// The revision of a shard itself, 0 if it never changed.
    pub fn revision(&self) -> u64 {
        self.fact("revision").and_then(|revision| revision.parse().ok()).unwrap_or(0)
    }

    fn fact(&self, name: &str) -> Option<&str> {
        let mut lines = self.facts.split('\n');
        while let (Some(field), Some(value)) = (lines.next(), lines.next()) {
            if field == name {
                return Some(value);
            }
        }
        None
    }
}

impl Operation for Tally {
    /// `None`: there are too many segments for one look.
    type Output = Option<Tallied>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let [head, parts] = part_keys(keys, self.list, self.user, self.shard);
        let facts = match (self.list, self.shard) {
            (_, Some(shard)) => keys.shard_facts(self.user, shard),
            (List::Followers, None) => keys.shards(self.user),
            (List::Following, None) => keys.following_ids(self.user),
        };
        let blank = || Value::from_static_str("");
        let [score, member] = match self.bound {
            Some(bound) => [bound.at.get().cast_signed().into(), bound.user.get().into()],
            None => [blank(), blank()],
        };
        let [in_shards, known] = match &self.mend {
            Some((in_shards, facts)) => [in_shards.to_string().into(), facts.as_str().into()],
            None => [blank(), blank()],
        };
        let group = SlotGroup::new(vec![head, parts, facts])?;
        Ok(Call::script(&script::TALLY, group, vec![score, member, in_shards, known]))
    }

    fn answer(&self, answer: Value) -> Result<Option<Tallied>, StoreError> {
        let told = value::array(answer)?;
        if told.len() == 1 {
            return Ok(None);
        }
        let [_, head, kept, entries, shards, facts] = value::array_of(Value::Array(told))?;
        Ok(Some(Tallied {
            head: value::number(&head)?,
            kept: value::number(&kept)?,
            entries: value::number(&entries)?,
            shards: segments(&shards)?,
            facts: value::text(&facts)?.to_owned(),
        }))
    }
}

/// Compares the set of whom somebody follows by segments with the segments. See `check_ids.lua`.
#[derive(Clone, Debug)]
pub struct CheckIds {
    /// Who follows.
    pub user: UserId,
    /// Whom to look at: so many that there are at most 1,024 looks into segments, or one.
    pub followees: Vec<UserId>,
    /// Whether the set is set right.
    pub mend: bool,
}

/// What a set has of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdState {
    /// What the segments have.
    Right,
    /// It lacks the user.
    Missing,
    /// It has the user, and no segment has.
    Stray,
}

impl Operation for CheckIds {
    /// Of each user, in the order given, as it was before.
    type Output = Vec<IdState>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let mode = Value::from_static_str(if self.mend { "mend" } else { "" });
        let args = std::iter::once(mode).chain(self.followees.iter().map(|user| user.get().into()));
        let group = SlotGroup::new(following_keys(keys, self.user).into())?;
        Ok(Call::script(&script::CHECK_IDS, group, args.collect()))
    }

    fn answer(&self, answer: Value) -> Result<Vec<IdState>, StoreError> {
        let states = value::text(&answer)?.bytes().map(|letter| match letter {
            b'=' => Ok(IdState::Right),
            b'-' => Ok(IdState::Missing),
            b'+' => Ok(IdState::Stray),
            _ => Err(value::unexpected("what a set has", &answer)),
        });
        states.collect()
    }
}

/// Reads on in the set of whom somebody follows by segments. Those who are there all along are met, perhaps more than once.
#[derive(Clone, Copy, Debug)]
pub struct ScanIds {
    /// Who follows.
    pub user: UserId,
    /// From the part before; 0 for the first.
    pub cursor: u64,
}

impl Operation for ScanIds {
    /// A cursor, 0 at the end; and users.
    type Output = (u64, Vec<UserId>);

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let args = [self.cursor.to_string(), "COUNT".to_owned(), "1000".to_owned()];
        Ok(Call::command("SSCAN", keys.following_ids(self.user), args))
    }

    fn answer(&self, answer: Value) -> Result<(u64, Vec<UserId>), StoreError> {
        let [cursor, users] = value::array_of(answer)?;
        Ok((value::number(&cursor)?, value::array(users)?.iter().map(value::user).collect::<Result<_, _>>()?))
    }
}
