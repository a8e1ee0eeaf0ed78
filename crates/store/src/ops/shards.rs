//! The oldest segments of very long lists of followers, in other partitions.

use std::time::Duration;

use fred::types::Value;
use keyspace::{Key, Keyspace, List, Shard, SlotGroup};
use model::{Micros, UserId};

use super::{Operation, ShardGrowth, lists::list_keys};
use crate::{StoreError, call::Call, script, value};

/// Takes the work of moving the oldest segments of a list of followers into shards, or keeps it. See `spread.lua`.
#[derive(Clone, Debug)]
pub struct Spread {
    /// Whose list.
    pub user: UserId,
    /// Who works.
    pub worker: String,
    /// For how long others leave the list alone.
    pub lease: Duration,
    /// How many segments stay where they are.
    pub stays: u32,
    /// Of how many segments a shard is made.
    pub full: u32,
}

/// What there is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpreadStep {
    /// A segment is to move.
    Move(Spreading),
    /// Another worker has the work.
    Elsewhere,
    /// Nothing.
    Done,
}

/// A segment that is to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spreading {
    /// Whose list.
    pub user: UserId,
    /// Where to.
    pub shard: Shard,
    /// Steps with lower numbers are void.
    step: i64,
    segment: Bound,
    /// Members and scores in turn, with blanks in between.
    rows: String,
    /// Of the shard until now; `None` if it is new.
    shard_before: Option<Bound>,
}

/// A name in a directory of parts, and its score.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bound {
    name: String,
    score: String,
}

impl Bound {
    fn member(&self) -> &str {
        self.name.split(' ').next().unwrap_or_default()
    }
}

impl Operation for Spread {
    type Output = SpreadStep;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let args = vec![
            self.worker.as_str().into(),
            (self.lease.as_millis() as i64).into(),
            self.stays.into(),
            self.full.into(),
            Shard::origin(self.user).into(),
        ];
        Ok(Call::script(&script::SPREAD, home(keys, self.user)?, args))
    }

    fn answer(&self, answer: Value) -> Result<SpreadStep, StoreError> {
        let told = value::array(answer)?;
        match told.len() {
            0 => return Ok(SpreadStep::Done),
            1 => return Ok(SpreadStep::Elsewhere),
            _ => {}
        }
        let [step, name, score, rows, shard, shard_name, shard_score] = value::array_of(Value::Array(told))?;
        let bound = |name: &Value, score: &Value| {
            Ok::<_, StoreError>(Bound { name: value::text(name)?.to_owned(), score: value::text(score)?.to_owned() })
        };
        let shard_before = bound(&shard_name, &shard_score)?;
        Ok(SpreadStep::Move(Spreading {
            user: self.user,
            shard: value::shard(value::text(&shard)?)?,
            step: value::number(&step)?,
            segment: bound(&name, &score)?,
            rows: value::text(&rows)?.to_owned(),
            shard_before: Some(shard_before).filter(|bound| !bound.name.is_empty()),
        }))
    }
}

/// Copies the segment to the end of the shard. See `adopt.lua`.
#[derive(Clone, Debug)]
pub struct Adopt<'a>(pub &'a Spreading);

impl Operation for Adopt<'_> {
    /// Whether no later step was there.
    type Output = bool;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let Spreading { user, shard, step, segment, rows, shard_before } = self.0;
        let names = vec![keys.shard(*user, *shard), keys.shard_parts(*user, *shard), keys.shard_facts(*user, *shard)];
        let [score_before, member_before] =
            shard_before.as_ref().map_or(["", ""], |bound| [bound.score.as_str(), bound.member()]);
        let mut args: Vec<Value> = vec![
            (*step).into(),
            score_before.into(),
            member_before.into(),
            segment.score.as_str().into(),
            segment.member().into(),
        ];
        let mut words = rows.split(' ');
        while let (Some(member), Some(score)) = (words.next(), words.next()) {
            args.extend([score.into(), member.into()]);
        }
        Ok(Call::script(&script::ADOPT, SlotGroup::new(names)?, args).with_new_segments(&[1]))
    }

    fn answer(&self, answer: Value) -> Result<bool, StoreError> {
        Ok(value::number::<u8>(&answer)? == 1)
    }
}

/// Gives the segment over to the shard. See `hand_over.lua`.
#[derive(Clone, Debug)]
pub struct HandOver<'a>(pub &'a Spreading);

impl Operation for HandOver<'_> {
    /// Whether the segment was as it was copied, and no later step began.
    type Output = bool;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let Spreading { user, shard, step, segment, rows, shard_before } = self.0;
        let name_before = shard_before.as_ref().map_or("", |bound| bound.name.as_str());
        let args = vec![
            (*step).into(),
            segment.name.as_str().into(),
            segment.score.as_str().into(),
            rows.as_str().into(),
            shard.to_string().into(),
            name_before.into(),
        ];
        Ok(Call::script(&script::HAND_OVER, home(keys, *user)?, args))
    }

    fn answer(&self, answer: Value) -> Result<bool, StoreError> {
        Ok(value::number::<u8>(&answer)? == 1)
    }
}

/// Counts what changes made of the length of a shard in the length of its list. See `recount.lua`.
#[derive(Clone, Copy, Debug)]
pub struct Recount {
    /// Whose list.
    pub user: UserId,
    /// Which shard.
    pub shard: Shard,
    /// What they made of it.
    pub growth: ShardGrowth,
}

impl Operation for Recount {
    type Output = ();

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let names = vec![keys.list_parts(List::Followers, self.user), keys.shards(self.user)];
        let args = vec![
            self.shard.to_string().into(),
            self.growth.entries.into(),
            (self.growth.revision.cast_signed()).into(),
        ];
        Ok(Call::script(&script::RECOUNT, SlotGroup::new(names)?, args))
    }

    fn answer(&self, _ok: Value) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Whether a shard of a list of followers has a reader since a time. See `listed.lua`.
#[derive(Clone, Copy, Debug)]
pub struct IsListed {
    /// Whose list.
    pub user: UserId,
    /// Which shard.
    pub shard: Shard,
    /// Who follows.
    pub follower: UserId,
    /// Since when.
    pub since: Micros,
}

impl Operation for IsListed {
    type Output = bool;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let names = vec![keys.shard(self.user, self.shard), keys.shard_parts(self.user, self.shard)];
        let args = vec![self.since.get().cast_signed().into(), self.follower.get().into()];
        Ok(Call::script(&script::LISTED, SlotGroup::new(names)?, args))
    }

    fn answer(&self, answer: Value) -> Result<bool, StoreError> {
        Ok(value::number::<u8>(&answer)? == 1)
    }
}

fn home(keys: &Keyspace, user: UserId) -> Result<SlotGroup, StoreError> {
    let [head, parts]: [Key; 2] = list_keys(keys, List::Followers, user);
    Ok(SlotGroup::new(vec![head, parts, keys.shards(user)])?)
}
