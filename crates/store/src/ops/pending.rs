//! Changes whose other half may not be applied yet, and the log that tells what they are.

use std::time::Duration;

use fred::types::Value;
use keyspace::{Keyspace, Partition, SlotGroup};
use model::{Edge, FeedEntry, Micros, PostId, UserId, UserState, Version};

use super::{FollowerChange, Operation, commit::version};
use crate::{StoreError, call::Call, script, value};

/// Forgets changes that are wholly applied.
#[derive(Clone, Debug)]
pub struct Settle {
    /// Where they were committed.
    pub partition: Partition,
    /// The versions of their log entries, 1 to 1,000.
    pub versions: Vec<Version>,
}

impl Operation for Settle {
    type Output = ();

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("ZREM", keys.pending(self.partition), self.versions.iter().copied().map(version)))
    }

    fn answer(&self, _removed: Value) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The version of the oldest change of a partition that is pending, if one is.
#[derive(Clone, Copy, Debug)]
pub struct OldestPending(pub Partition);

impl Operation for OldestPending {
    type Output = Option<Version>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("ZRANGE", keys.pending(self.0), [0_i64, 0]))
    }

    fn answer(&self, answer: Value) -> Result<Option<Version>, StoreError> {
        value::array(answer)?.first().map(|version| value::number(version).map(Version)).transpose()
    }
}

/// The oldest changes of a partition that are pending. See `due.lua`.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    /// Where they were committed.
    pub partition: Partition,
    /// How old they are at least, in microseconds.
    pub min_age: u64,
}

/// A log entry that is pending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueChange {
    /// The version of the entry.
    pub version: Version,
    /// What the entry says; nothing if the log no longer has it.
    pub changes: Vec<LogChange>,
}

/// A change that the log tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogChange {
    /// Of an edge.
    Edge(Edge, FollowerChange),
    /// A new post.
    Post(FeedEntry),
    /// The end of a user. It is never pending: an operation finishes it.
    Deleted(UserId),
    /// Whether a user is active. It is never pending: an operation finishes it.
    State(UserId, UserState),
    /// A new block, of the first user.
    Blocked {
        /// Who blocks.
        user: UserId,
        /// Whom.
        blocked: UserId,
        /// Since when.
        since: Micros,
    },
    /// What has no second half: a mute, or the end of a block, of a mute, or of a post.
    Other,
}

impl Operation for Due {
    type Output = Vec<DueChange>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let group = SlotGroup::new(vec![keys.log(self.partition), keys.pending(self.partition)])?;
        let args = vec![Value::Integer(self.min_age.cast_signed()), Value::Integer(64)];
        Ok(Call::script(&script::DUE, group, args))
    }

    fn answer(&self, answer: Value) -> Result<Vec<DueChange>, StoreError> {
        value::array(answer)?.into_iter().map(due_change).collect()
    }
}

/// Whether a partition has a write, and the changes up to it that may lack their other half, but for posts. See `written.lua`.
#[derive(Clone, Debug)]
pub struct Written {
    /// Where it was committed.
    pub partition: Partition,
    /// Its version.
    pub version: Version,
    /// What a call before told to go on after; empty at first.
    pub after: String,
}

/// What became of a [`Written`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenSoFar {
    /// The last version given out; 0 if none was.
    pub clock: Version,
    /// The changes, oldest first.
    pub pending: Vec<DueChange>,
    /// What to go on after; empty if these are all.
    pub next: String,
}

impl Operation for Written {
    type Output = WrittenSoFar;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let names = vec![keys.clock(self.partition), keys.pending(self.partition), keys.log(self.partition)];
        let after = if self.after.is_empty() { "0" } else { &self.after };
        let args = vec![version(self.version), after.into(), Value::Integer(64)];
        Ok(Call::script(&script::WRITTEN, SlotGroup::new(names)?, args))
    }

    fn answer(&self, answer: Value) -> Result<WrittenSoFar, StoreError> {
        let mut told = value::array(answer)?.into_iter();
        let (Some(clock), Some(next)) = (told.next(), told.next()) else {
            return Err(StoreError::Refused("expected a clock and where to go on".to_owned()));
        };
        Ok(WrittenSoFar {
            clock: Version(value::number(&clock)?),
            pending: told.map(due_change).collect::<Result<_, _>>()?,
            next: value::text(&next)?.to_owned(),
        })
    }
}

/// Trims the log of a partition. See `trim.lua`.
#[derive(Clone, Copy, Debug)]
pub struct TrimLog {
    /// Which.
    pub partition: Partition,
    /// For how long a settled entry is kept.
    pub retention: Duration,
    /// For how long a fan-out is left to who published; see `Publish::patience`.
    pub patience: Duration,
}

impl Operation for TrimLog {
    type Output = u64;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let names = vec![keys.log(self.partition), keys.pending(self.partition), keys.trimmed(self.partition)];
        let group = SlotGroup::new(names)?;
        Ok(Call::script(&script::TRIM, group, vec![value::of_micros(self.retention), value::of_micros(self.patience)]))
    }

    fn answer(&self, answer: Value) -> Result<u64, StoreError> {
        value::number(&answer)
    }
}

pub(super) fn due_change(entry: Value) -> Result<DueChange, StoreError> {
    let [last, fields] = value::array_of(entry)?;
    let last: u64 = value::number(&last)?;
    let fields = value::array(fields)?;
    let (pairs, []) = fields.as_chunks::<2>() else {
        return Err(value::unexpected("pairs", &Value::Array(fields)));
    };
    let changes = (1..=pairs.len() as u64).zip(pairs).map(|(row, [kind, text])| {
        let version = Version((last + row).saturating_sub(pairs.len() as u64));
        parse_change(value::text(kind)?, value::text(text)?, version)
            .ok_or_else(|| value::unexpected("a change in the log", text))
    });
    Ok(DueChange { version: Version(last), changes: changes.collect::<Result<_, _>>()? })
}

/// Reads `<follower> <followee> <score>` and perhaps more after it, `<author> <post> <published at>`, or `<user>`.
pub(super) fn parse_change(kind: &str, text: &str, version: Version) -> Option<LogChange> {
    if kind == "x" {
        return UserId::new(text.parse().ok()?).ok().map(LogChange::Deleted);
    }
    if kind == "S" {
        let (user, state) = text.split_once(' ')?;
        return Some(LogChange::State(UserId::new(user.parse().ok()?).ok()?, UserState::parse(state)?));
    }
    let mut parts = text.splitn(4, ' ');
    let mut number = || parts.next()?.parse::<i64>().ok();
    let (user, other, score) = (UserId::new(number()?).ok()?, number()?, number()?);
    let score = Micros::new(u64::try_from(score).ok()?).ok();
    let change = match kind {
        "+" | "s" => FollowerChange::Present { followed_at: score?, version },
        "-" | "h" => FollowerChange::Absent { removed: score, version },
        "b" => return Some(LogChange::Blocked { user, blocked: UserId::new(other).ok()?, since: score? }),
        "B" | "m" | "M" | "d" => return score.map(|_| LogChange::Other),
        "p" => return Some(LogChange::Post(FeedEntry { at: score?, post: PostId::new(other).ok()?, author: user })),
        _ => return None,
    };
    Some(LogChange::Edge(Edge::new(user, UserId::new(other).ok()?).ok()?, change))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_log_entries() {
        let user = |id| UserId::new(id).unwrap();
        let edge = |follower, followee| Edge::new(user(follower), user(followee)).unwrap();
        let at = |micros| Micros::new(micros).unwrap();
        let entry = |fields: &[&str]| {
            let fields = fields.iter().map(|field| Value::from(*field)).collect();
            due_change(Value::Array(vec!["1700000000000009".into(), Value::Array(fields)]))
        };
        assert_eq!(
            entry(&["+", "1 2 1700000000000008", "+", "3 4 1600000000000000 contacts of mine"]).unwrap(),
            DueChange {
                version: Version(1_700_000_000_000_009),
                changes: vec![
                    LogChange::Edge(
                        edge(1, 2),
                        FollowerChange::Present {
                            followed_at: at(1_700_000_000_000_008),
                            version: Version(1_700_000_000_000_008)
                        }
                    ),
                    LogChange::Edge(
                        edge(3, 4),
                        FollowerChange::Present {
                            followed_at: at(1_600_000_000_000_000),
                            version: Version(1_700_000_000_000_009)
                        }
                    ),
                ],
            }
        );
        let version = Version(1_700_000_000_000_009);
        for (score, removed) in [("1700000000000001", Some(at(1_700_000_000_000_001))), ("0", None)] {
            let changes = entry(&["-", &format!("1 2 {score}")]).unwrap().changes;
            assert_eq!(changes, [LogChange::Edge(edge(1, 2), FollowerChange::Absent { removed, version })]);
        }
        let post = FeedEntry { at: at(1_600_000_000_000_000), post: PostId::new(77).unwrap(), author: user(5) };
        assert_eq!(entry(&["p", "5 77 1600000000000000"]).unwrap().changes, [LogChange::Post(post)]);
        assert_eq!(entry(&["x", "5"]).unwrap().changes, [LogChange::Deleted(user(5))]);
        let since = at(1_700_000_000_000_009);
        assert_eq!(
            entry(&["-", "5 6 1600000000000000", "b", "5 6 1700000000000009"]).unwrap().changes[1],
            LogChange::Blocked { user: user(5), blocked: user(6), since }
        );
        for other in [&["B", "5 6 1600000000000000"], &["m", "5 6 1600000000000000 0"], &["M", "5 6 1600000000000000"]]
        {
            assert_eq!(entry(other).unwrap().changes, [LogChange::Other], "{other:?}");
        }
        assert_eq!(entry(&[]).unwrap().changes, []);
        for bad in [
            &["+"][..],
            &["*", "1 2 3"],
            &["+", "1 2"],
            &["+", "1 1 3"],
            &["+", "0 1 3"],
            &["+", "1 2 0"],
            &["p", "1 0 3"],
            &["x", "0"],
        ] {
            assert!(entry(bad).is_err(), "{bad:?}");
        }
    }
}
