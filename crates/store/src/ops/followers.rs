//! The second half of a write: the followee's list of followers.

use std::{collections::BTreeSet, sync::Arc};

use fred::types::Value;
use keyspace::{Keyspace, List, Shard, SlotGroup};
use model::{Edge, Entry, Micros, UserId, Version};

use super::{
    Operation, Segment,
    commit::version,
    lists::{MANY_ROWS, list_keys},
};
use crate::{StoreError, call::Call, script, value};

/// How long a removal is remembered against late additions: 1 hour, in seconds.
const GONE_KEPT_SECONDS: i64 = 3600;

/// Makes lists of followers follow committed changes. See `apply.lua`.
#[derive(Clone, Debug)]
pub struct Apply {
    cause: Cause,
    /// Those of each followee next to each other.
    changes: Vec<(Edge, FollowerChange)>,
}

/// What became of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowerChange {
    /// It is there.
    Present {
        /// Its score.
        followed_at: Micros,
        /// The version of the change.
        version: Version,
    },
    /// It is gone.
    Absent {
        /// The score that it had; `None` if it was not known to be there: whatever is not newer than the version goes.
        removed: Option<Micros>,
        /// The version of the change.
        version: Version,
    },
}

impl FollowerChange {
    /// The version of the change.
    pub fn version(self) -> Version {
        let (Self::Present { version, .. } | Self::Absent { version, .. }) = self;
        version
    }
}

/// What makes a followee's list change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A follow began or ended.
    Edge,
    /// The follower became active or inactive. The edge is there all the while; versions are those of the follower's state.
    State,
}

/// What became of an [`Apply`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Changes that are to be applied to shards as well.
    pub routed: Vec<Routed>,
    /// Whose lists may need another shard.
    pub large: Vec<UserId>,
    /// Additions that the followees' partitions refused. Nothing was done, and the edges are to be withdrawn.
    pub refused: Vec<Refused>,
    /// Of edges to show, those whose followee's state ever changed lately.
    pub shown: Vec<Shown>,
}

/// What the followee's partition knows of an edge to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Which.
    pub edge: Edge,
    /// Whether the followee is active.
    pub is_active: bool,
    /// The version of the followee's state.
    pub version: Version,
}

/// An addition that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Of which edge.
    pub edge: Edge,
    /// The score of the edge.
    pub followed_at: Micros,
    /// Why.
    pub refusal: Refusal,
}

/// Why a followee's partition refuses a follower, which only that partition knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The followee is not active.
    Unavailable,
    /// The followee blocks the follower.
    Blocked,
}

impl Refusal {
    fn parse(letter: &str) -> Option<Self> {
        match letter {
            "u" => Some(Self::Unavailable),
            "b" => Some(Self::Blocked),
            _ => None,
        }
    }
}

/// A change of what lies in a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routed {
    /// Which.
    pub shard: Shard,
    /// Of what.
    pub edge: Edge,
    /// To what.
    pub change: FollowerChange,
}

impl Apply {
    /// Applies 1 to 64 changes, in any order; the followees of all are in one partition.
    pub fn new(changes: Vec<(Edge, FollowerChange)>) -> Self {
        Self::because_of(Cause::Edge, changes)
    }

    /// The same, with what makes the lists change.
    pub fn because_of(cause: Cause, mut changes: Vec<(Edge, FollowerChange)>) -> Self {
        changes.sort_by_key(|(edge, _)| edge.followee());
        Self { cause, changes }
    }

    /// Reads the number of a change, a letter and a version.
    fn shown(&self, text: &str) -> Option<Shown> {
        let mut words = text.split(' ');
        let (edge, _) = *self.changes.get(words.next()?.parse::<usize>().ok()?)?;
        let is_active = words.next()? == "a";
        Some(Shown { edge, is_active, version: Version(words.next()?.parse().ok()?) })
    }

    fn by_followee(&self) -> impl Iterator<Item = &[(Edge, FollowerChange)]> {
        self.changes.chunk_by(|(one, _), (next, _)| one.followee() == next.followee())
    }
}

/// What `apply.lua` takes for one list.
fn push_changes<'a>(
    args: &mut Vec<Value>,
    cause: Cause,
    changes: impl ExactSizeIterator<Item = &'a (Edge, FollowerChange)>,
) {
    args.push(Value::Integer(changes.len() as i64));
    for (edge, change) in changes {
        let (kind, at, change_version) = match (*change, cause) {
            (FollowerChange::Present { followed_at, version }, Cause::Edge) => ("+", followed_at.get(), version),
            (FollowerChange::Present { followed_at, version }, Cause::State) => ("s", followed_at.get(), version),
            (FollowerChange::Absent { removed, version }, Cause::Edge) => {
                ("-", removed.map_or(0, Micros::get), version)
            }
            (FollowerChange::Absent { removed, version }, Cause::State) => {
                ("h", removed.map_or(0, Micros::get), version)
            }
        };
        args.extend([
            Value::from_static_str(kind),
            Value::Integer(edge.follower().get()),
            version(change_version),
            Value::Integer(at.cast_signed()),
        ]);
    }
}

impl Operation for Apply {
    type Output = Applied;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let mut names = Vec::with_capacity(5 * self.changes.len());
        let mut args = Vec::with_capacity(2 + 5 * self.changes.len());
        let mut growing = Vec::new();
        args.extend([Value::Integer(GONE_KEPT_SECONDS), Value::from_static_str("")]);
        for changes in self.by_followee() {
            let followee = changes[0].0.followee();
            if changes.len() >= MANY_ROWS {
                growing.push(names.len() + 1);
            }
            names.extend(list_keys(keys, List::Followers, followee));
            names.extend([keys.gone(followee), keys.state(followee), keys.blocking(followee), keys.hidden(followee)]);
            push_changes(&mut args, self.cause, changes.iter());
        }
        Ok(Call::script(&script::APPLY, SlotGroup::new(names)?, args).with_new_segments(&growing))
    }

    fn answer(&self, answer: Value) -> Result<Applied, StoreError> {
        let told = value::array(answer)?;
        let mut applied = Applied::default();
        for item in &told {
            let text = value::text(item)?;
            let wrong = || StoreError::Refused(format!("expected a change or a list, got {text:?}"));
            if let Some(list) = text.strip_prefix('+') {
                let list = list.parse().ok().and_then(|number| self.by_followee().nth(number)).ok_or_else(wrong)?;
                applied.large.push(list[0].0.followee());
                continue;
            }
            if let Some(shown) = text.strip_prefix('=') {
                applied.shown.push(self.shown(shown).ok_or_else(wrong)?);
                continue;
            }
            let (number, what) = text.split_once(' ').ok_or_else(wrong)?;
            let place = number.strip_prefix('!').unwrap_or(number);
            let change = place.parse::<usize>().ok().and_then(|number| self.changes.get(number));
            let &(edge, change) = change.ok_or_else(wrong)?;
            match change {
                FollowerChange::Present { followed_at, .. }
                | FollowerChange::Absent { removed: Some(followed_at), .. }
                    if place != number =>
                {
                    let refusal = Refusal::parse(what).ok_or_else(wrong)?;
                    applied.refused.push(Refused { edge, followed_at, refusal });
                }
                FollowerChange::Present { .. } | FollowerChange::Absent { .. } => {
                    applied.routed.push(Routed { shard: value::shard(what)?, edge, change })
                }
            }
        }
        Ok(applied)
    }
}

/// Makes a shard of a list of followers follow committed changes, after the list itself. See `apply.lua`.
#[derive(Clone, Debug)]
pub struct ApplyToShard {
    /// The shard.
    pub shard: Shard,
    /// What makes it change.
    pub cause: Cause,
    /// 1 to 64 changes of one followee.
    pub changes: Vec<(Edge, FollowerChange)>,
    /// The segments of the shard, oldest first, as far as they are known: the script need not ask for them then.
    pub segments: Arc<[Segment]>,
}

impl ApplyToShard {
    /// Where the changes are probably to be made.
    fn segments_of_changes(&self) -> BTreeSet<&str> {
        let places = self.changes.iter().filter_map(|(edge, change)| {
            let (FollowerChange::Present { followed_at: at, .. } | FollowerChange::Absent { removed: Some(at), .. }) =
                *change
            else {
                return None;
            };
            Some(Entry { at, user: edge.follower() })
        });
        places.filter_map(|place| Segment::id_at(&self.segments, place)).collect()
    }
}

/// What changes made of the length of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardGrowth {
    /// By how many entries they made it longer.
    pub entries: i64,
    /// Of two such numbers the one with the higher revision is true.
    pub revision: u64,
}

impl Operation for ApplyToShard {
    type Output = ShardGrowth;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let Some((first, _)) = self.changes.first() else {
            return Err(StoreError::Refused("no change for a shard".to_owned()));
        };
        let (user, shard) = (first.followee(), self.shard);
        let names = vec![
            keys.shard(user, shard),
            keys.shard_parts(user, shard),
            keys.shard_gone(user, shard),
            keys.shard_facts(user, shard),
        ];
        let mut args = vec![Value::Integer(GONE_KEPT_SECONDS), Value::from_static_str("shard")];
        push_changes(&mut args, self.cause, self.changes.iter());
        let call = Call::script(&script::APPLY, SlotGroup::new(names)?, args);
        Ok(call.with_segments(self.segments_of_changes()))
    }

    fn answer(&self, answer: Value) -> Result<ShardGrowth, StoreError> {
        let [told] = value::array_of(answer)?;
        let growth = value::text(&told)?.split_once(' ').and_then(|(entries, revision)| {
            Some(ShardGrowth { entries: entries.parse().ok()?, revision: revision.parse().ok()? })
        });
        growth.ok_or_else(|| value::unexpected("the growth of a shard", &told))
    }
}
