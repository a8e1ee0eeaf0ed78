//! Whom users block and mute.

use std::collections::HashSet;

use fred::types::Value;
use keyspace::{Key, Keyspace, SlotGroup};
use model::{Entry, Micros, UserId, Version};

use super::{
    Operation,
    commit::{LEFT_KEPT_SECONDS, end_keys, version},
};
use crate::{StoreError, call::Call, script, value};

/// What a user can hold against another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A block.
    Block,
    /// A mute.
    Mute,
}

impl Mark {
    fn keys(self, keys: &Keyspace, user: UserId) -> Vec<Key> {
        match self {
            Self::Block => vec![keys.blocking(user)],
            Self::Mute => vec![keys.muting(user), keys.mute_ends(user)],
        }
    }
}

/// What became of a [`Block`] or a [`Mute`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkOutcome {
    /// It is there.
    Marked {
        /// Whether it is new.
        created: bool,
        /// Since when it is there.
        since: Micros,
    },
    /// The user has as many as they may.
    OverLimit,
    /// The user is not active.
    Unavailable,
    /// The end of the mute is not in the future.
    Past,
}

impl MarkOutcome {
    fn parse(letter: &Value, since: &Value) -> Result<Self, StoreError> {
        match value::text(letter)? {
            "c" => Ok(Self::Marked { created: true, since: value::score(since)? }),
            "e" => Ok(Self::Marked { created: false, since: value::score(since)? }),
            "l" => Ok(Self::OverLimit),
            "u" => Ok(Self::Unavailable),
            "p" => Ok(Self::Past),
            _ => Err(value::unexpected("an outcome", letter)),
        }
    }
}

/// Commits a block. See `block.lua`.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Who blocks.
    pub user: UserId,
    /// Whom. Not the same.
    pub blocked: UserId,
    /// How many anyone may block.
    pub most: u32,
    /// The highest version seen of the blocker's partition.
    pub seen: Version,
}

/// What became of a [`Block`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Whether it is there.
    pub outcome: MarkOutcome,
    /// The version of the change; where nothing changed, the last of the partition.
    pub version: Version,
    /// The score of the blocker's follow that ended; `None` if there was none.
    pub ended: Option<Micros>,
    /// Whether the blocker has an inbox.
    pub has_inbox: bool,
}

impl Operation for Block {
    type Output = Blocked;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let mut names = end_keys(keys, self.user);
        names.extend([keys.blocking(self.user), keys.state(self.user)]);
        let args = vec![
            version(self.seen),
            self.user.get().into(),
            self.blocked.get().into(),
            LEFT_KEPT_SECONDS.into(),
            self.most.into(),
        ];
        Ok(Call::script(&script::BLOCK, SlotGroup::new(names)?, args))
    }

    fn answer(&self, answer: Value) -> Result<Blocked, StoreError> {
        let [letter, version, since, ended, has_inbox] = value::array_of(answer)?;
        Ok(Blocked {
            outcome: MarkOutcome::parse(&letter, &since)?,
            version: Version(value::number(&version)?),
            ended: value::optional_score(&ended)?,
            has_inbox: value::number::<u8>(&has_inbox)? == 1,
        })
    }
}

/// Commits a mute. See `mute.lua`.
#[derive(Clone, Copy, Debug)]
pub struct Mute {
    /// Who mutes.
    pub user: UserId,
    /// Whom. Not the same.
    pub muted: UserId,
    /// Until when; `None`: for good.
    pub until: Option<Micros>,
    /// How many anyone may mute.
    pub most: u32,
    /// The highest version seen of the muter's partition.
    pub seen: Version,
}

impl Operation for Mute {
    /// What became of it, and the version of the change; where nothing changed, the last of the partition.
    type Output = (MarkOutcome, Version);

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let partition = keys.partition(self.user);
        let mut names = vec![keys.log(partition), keys.clock(partition)];
        names.extend(Mark::Mute.keys(keys, self.user));
        names.push(keys.state(self.user));
        let args = vec![
            version(self.seen),
            self.user.get().into(),
            self.muted.get().into(),
            self.until.map_or(0, |until| until.get().cast_signed()).into(),
            self.most.into(),
        ];
        Ok(Call::script(&script::MUTE, SlotGroup::new(names)?, args))
    }

    fn answer(&self, answer: Value) -> Result<Self::Output, StoreError> {
        let [letter, version, since] = value::array_of(answer)?;
        Ok((MarkOutcome::parse(&letter, &since)?, Version(value::number(&version)?)))
    }
}

/// Commits the end of a block or of a mute. See `unmark.lua`.
#[derive(Clone, Copy, Debug)]
pub struct Unmark {
    /// Which of the two.
    pub mark: Mark,
    /// Whose.
    pub user: UserId,
    /// Whom they blocked or muted.
    pub other: UserId,
    /// The highest version seen of the user's partition.
    pub seen: Version,
}

impl Operation for Unmark {
    /// Whether there was one, and the version of the change; where nothing changed, the last of the partition.
    type Output = (bool, Version);

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let partition = keys.partition(self.user);
        let mut names = vec![keys.log(partition), keys.clock(partition)];
        names.extend(self.mark.keys(keys, self.user));
        let kind = match self.mark {
            Mark::Block => "B",
            Mark::Mute => "M",
        };
        let args = vec![version(self.seen), kind.into(), self.user.get().into(), self.other.get().into()];
        Ok(Call::script(&script::UNMARK, SlotGroup::new(names)?, args))
    }

    fn answer(&self, answer: Value) -> Result<Self::Output, StoreError> {
        let [was_there, version] = value::array_of(answer)?;
        Ok((value::number::<u8>(&was_there)? == 1, Version(value::number(&version)?)))
    }
}

/// Reads on in whom somebody blocks or mutes, newest first. See `marks.lua`.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// Which of the two.
    pub mark: Mark,
    /// Whose.
    pub user: UserId,
    /// After which entry.
    pub after: Option<Entry>,
    /// Most entries, 1 to 1,000.
    pub limit: usize,
}

/// Somebody who is blocked or muted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked {
    /// Who, and since when.
    pub entry: Entry,
    /// Until when; `None`: for good.
    pub until: Option<Micros>,
}

impl Operation for Marks {
    /// Those who still are, and the last entry looked at if there may be more after it.
    type Output = (Vec<Marked>, Option<Entry>);

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let [score, member] = self.after.map_or(["".into(), "".into()], |after| {
            [Value::Integer(after.at.get().cast_signed()), after.user.get().into()]
        });
        let args = vec![score, member, (self.limit as i64).into()];
        Ok(Call::script(&script::MARKS, SlotGroup::new(self.mark.keys(keys, self.user))?, args))
    }

    fn answer(&self, answer: Value) -> Result<Self::Output, StoreError> {
        let [read, last, last_score, found] = value::array_of(answer)?;
        let found = value::array(found)?;
        let (rows, []) = found.as_chunks::<3>() else {
            return Err(value::unexpected("members, scores and ends", &Value::Array(found)));
        };
        let entry = |member: &Value, score: &Value| -> Result<Entry, StoreError> {
            Ok(Entry { at: value::score(score)?, user: value::user(member)? })
        };
        let marked = rows.iter().map(|[member, score, until]| {
            Ok(Marked { entry: entry(member, score)?, until: value::optional_score(until)? })
        });
        let marked = marked.collect::<Result<_, StoreError>>()?;
        let is_full = value::number::<usize>(&read)? == self.limit;
        Ok((marked, if is_full { Some(entry(&last, &last_score)?) } else { None }))
    }
}

/// What somebody holds against each of 1 to 1,000 users, in the order given. See `marked.lua`.
#[derive(Clone, Debug)]
pub struct Held {
    /// Who.
    pub user: UserId,
    /// Against whom.
    pub others: Vec<UserId>,
}

/// What somebody holds against somebody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldMarks {
    /// Since when they block them; `None` if they do not.
    pub blocked_at: Option<Micros>,
    /// Since when they mute them; `None` if they do not.
    pub muted_at: Option<Micros>,
    /// Until when they mute them; `None`: for good, or not at all.
    pub muted_until: Option<Micros>,
}

impl Operation for Held {
    type Output = Vec<HeldMarks>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let names = vec![keys.blocking(self.user), keys.muting(self.user), keys.mute_ends(self.user)];
        let args = self.others.iter().map(|other| other.get().into()).collect();
        Ok(Call::script(&script::MARKED, SlotGroup::new(names)?, args))
    }

    fn answer(&self, answer: Value) -> Result<Vec<HeldMarks>, StoreError> {
        let marks = |told: &Value| -> Result<HeldMarks, StoreError> {
            let mut times = value::text(told)?.split(' ').map(value::optional_score_text);
            let mut next = || times.next().unwrap_or_else(|| Err(value::unexpected("three times", told)));
            Ok(HeldMarks { blocked_at: next()?, muted_at: next()?, muted_until: next()? })
        };
        value::array(answer)?.iter().map(marks).collect()
    }
}

/// Since when somebody blocks somebody.
#[derive(Clone, Copy, Debug)]
pub struct BlockedSince {
    /// Who blocks.
    pub user: UserId,
    /// Whom.
    pub blocked: UserId,
}

impl Operation for BlockedSince {
    /// `None`: they do not.
    type Output = Option<Micros>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("ZSCORE", keys.blocking(self.user), [self.blocked.get()]))
    }

    fn answer(&self, answer: Value) -> Result<Option<Micros>, StoreError> {
        value::optional_score(&answer)
    }
}

/// Whom a user mutes now: their ids in no order.
#[derive(Clone, Copy, Debug)]
pub struct Muted(pub UserId);

impl Operation for Muted {
    type Output = HashSet<UserId>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::script(&script::MUTED, SlotGroup::new(Mark::Mute.keys(keys, self.0))?, Vec::new()))
    }

    fn answer(&self, answer: Value) -> Result<HashSet<UserId>, StoreError> {
        value::array(answer)?.iter().map(value::user).collect()
    }
}
