//! The log as those read it who want to know every change.

use fred::types::Value;
use keyspace::{Keyspace, Partition, SlotGroup};
use model::{Edge, Micros, UserId, UserState, Version};

use super::{FollowerChange, LogChange, Mark, Operation, commit::version, pending::parse_change};
use crate::{StoreError, call::Call, script, value};

/// Reads the log of a partition after a position. See `read_log.lua`.
#[derive(Clone, Copy, Debug)]
pub struct ReadLog {
    /// Which.
    pub partition: Partition,
    /// The version of the last entry that was read; 0 if none was.
    pub after: Version,
}

impl ReadLog {
    /// Most entries of one read. Each has at most [`MOST_ROWS`](super::MOST_ROWS) changes.
    pub const MOST_ENTRIES: usize = 16;
}

/// What the log has after a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogPart {
    /// The entries that come next, oldest first, none left out; fewer than [`ReadLog::MOST_ENTRIES`] if these are all.
    Entries(Vec<LogEntry>),
    /// Entries after the position may have been trimmed.
    Trimmed,
}

/// What was committed at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The version of the last change of the entry, by which its place in the log is known.
    pub version: Version,
    /// The changes of who follows, blocks or mutes whom, and of who is there, in their order. Other kinds, such as posts, are left out.
    pub changes: Vec<Change>,
}

/// A change of who follows, blocks or mutes whom, or of who is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Rising within a partition. Also the microsecond of the commit, or later where many were committed at once.
    pub version: Version,
    /// What changed.
    pub kind: ChangeKind,
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// A follow began.
    Followed {
        /// Who follows whom.
        edge: Edge,
        /// Since when.
        followed_at: Micros,
        /// Where the follow came from; empty if that is not known.
        source: String,
        /// Whether it was put aside before, and the followee is active again.
        restored: bool,
    },
    /// A follow ended.
    Unfollowed {
        /// Who followed whom.
        edge: Edge,
        /// Since when it was.
        followed_at: Micros,
        /// Whether it is put aside, since the followee is not active any more.
        put_aside: bool,
    },
    /// A user became active or inactive.
    StateSet(UserId, UserState),
    /// A user was deleted. Their follows, and those of them, end one by one after it.
    Deleted(UserId),
    /// A block or a mute began, or a mute got another end.
    Marked {
        /// Which of the two.
        mark: Mark,
        /// Who blocks or mutes.
        user: UserId,
        /// Whom.
        other: UserId,
        /// Since when.
        since: Micros,
        /// Until when they are muted; `None`: for good.
        until: Option<Micros>,
    },
    /// A block or a mute ended. Of a mute that ends by its time nothing is told.
    Unmarked {
        /// Which of the two.
        mark: Mark,
        /// Who blocked or muted.
        user: UserId,
        /// Whom.
        other: UserId,
        /// Since when they did.
        since: Micros,
    },
}

impl ChangeKind {
    /// Whose change it is: the follower, who blocks or mutes, or the deleted user. A user's changes are in one partition.
    pub fn user(&self) -> UserId {
        match self {
            Self::Followed { edge, .. } | Self::Unfollowed { edge, .. } => edge.follower(),
            Self::Deleted(user) | Self::StateSet(user, _) | Self::Marked { user, .. } | Self::Unmarked { user, .. } => {
                *user
            }
        }
    }
}

impl Operation for ReadLog {
    type Output = LogPart;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let group = SlotGroup::new(vec![keys.log(self.partition), keys.trimmed(self.partition)])?;
        let args = vec![version(self.after), Value::Integer(Self::MOST_ENTRIES as i64)];
        Ok(Call::script(&script::READ_LOG, group, args))
    }

    fn answer(&self, answer: Value) -> Result<LogPart, StoreError> {
        let mut told = value::array(answer)?.into_iter();
        let is_whole = told.next().map(|whole| value::number::<u8>(&whole)).transpose()?;
        match is_whole {
            Some(1) => Ok(LogPart::Entries(told.map(log_entry).collect::<Result<_, _>>()?)),
            Some(_) => Ok(LogPart::Trimmed),
            None => Err(StoreError::Refused("expected whether the log is whole".to_owned())),
        }
    }
}

fn log_entry(entry: Value) -> Result<LogEntry, StoreError> {
    let [id, fields] = value::array_of(entry)?;
    let last: u64 = value::text(&id)?
        .split_once('-')
        .and_then(|(last, _)| last.parse().ok())
        .ok_or_else(|| value::unexpected("the id of an entry", &id))?;
    let pairs = value::pairs(fields)?;
    let first = (last + 1).saturating_sub(pairs.len() as u64);
    let changes = std::iter::zip(first.., &pairs).map(|(version, [kind, text])| {
        let kind = change(value::text(kind)?, value::text(text)?, Version(version));
        let kind = kind.ok_or_else(|| value::unexpected("a change in the log", text))?;
        Ok(kind.map(|kind| Change { version: Version(version), kind }))
    });
    let changes = changes.filter_map(Result::transpose).collect::<Result<_, StoreError>>()?;
    Ok(LogEntry { version: Version(last), changes })
}

/// `Some(None)` for what is of no interest here: other kinds, and the end of a follow that was not there.
fn change(kind: &str, text: &str, version: Version) -> Option<Option<ChangeKind>> {
    match kind {
        "b" => return began(Mark::Block, text).map(Some),
        "m" => return began(Mark::Mute, text).map(Some),
        "B" => return ended(Mark::Block, text).map(Some),
        "M" => return ended(Mark::Mute, text).map(Some),
        "+" | "-" | "s" | "h" | "S" | "x" => {}
        _ => return Some(None),
    }
    Some(match parse_change(kind, text, version)? {
        LogChange::Edge(edge, FollowerChange::Present { followed_at, .. }) => {
            let source = text.splitn(4, ' ').nth(3).unwrap_or_default().to_owned();
            Some(ChangeKind::Followed { edge, followed_at, source, restored: kind == "s" })
        }
        LogChange::Edge(edge, FollowerChange::Absent { removed, .. }) => {
            removed.map(|followed_at| ChangeKind::Unfollowed { edge, followed_at, put_aside: kind == "h" })
        }
        LogChange::Deleted(user) => Some(ChangeKind::Deleted(user)),
        LogChange::State(user, state) => Some(ChangeKind::StateSet(user, state)),
        // No log has the first two.
        LogChange::Edge(_, FollowerChange::Shown { .. } | FollowerChange::Hidden { .. })
        | LogChange::Post(_)
        | LogChange::Blocked { .. }
        | LogChange::Other => None,
    })
}

/// Reads `<user> <other> <since>`, and perhaps `<until>`, which is 0 for good.
fn began(mark: Mark, text: &str) -> Option<ChangeKind> {
    let (user, other, since, until) = parse_mark(text)?;
    Some(ChangeKind::Marked { mark, user, other, since, until })
}

fn ended(mark: Mark, text: &str) -> Option<ChangeKind> {
    let (user, other, since, _) = parse_mark(text)?;
    Some(ChangeKind::Unmarked { mark, user, other, since })
}

fn parse_mark(text: &str) -> Option<(UserId, UserId, Micros, Option<Micros>)> {
    let mut parts = text.split(' ');
    let mut user = || UserId::new(parts.next()?.parse().ok()?).ok();
    let (user, other) = (user()?, user()?);
    let since = value::score_text(parts.next()?).ok()?;
    let until = value::optional_score_text(parts.next().unwrap_or("0")).ok()?;
    Some((user, other, since, until))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, fields: &[&str]) -> Result<LogEntry, StoreError> {
        let fields = fields.iter().map(|field| Value::from(*field)).collect();
        log_entry(Value::Array(vec![id.into(), Value::Array(fields)]))
    }

    #[test]
    fn golden_entries() {
        let user = |id| UserId::new(id).unwrap();
        let edge = |follower, followee| Edge::new(user(follower), user(followee)).unwrap();
        let at = |micros| Micros::new(micros).unwrap();
        let fields =
            ["+", "1 2 900 from my contacts", "-", "3 4 800", "-", "3 5 0", "?", "whatever", "p", "5 7 600", "x", "6"];
        let change = |version, kind| Change { version: Version(version), kind };
        assert_eq!(
            entry("1005-0", &fields).unwrap(),
            LogEntry {
                version: Version(1005),
                changes: vec![
                    change(
                        1000,
                        ChangeKind::Followed {
                            edge: edge(1, 2),
                            followed_at: at(900),
                            source: "from my contacts".to_owned(),
                            restored: false,
                        }
                    ),
                    change(1001, ChangeKind::Unfollowed { edge: edge(3, 4), followed_at: at(800), put_aside: false }),
                    change(1005, ChangeKind::Deleted(user(6))),
                ],
            }
        );
        for bad in [&["+"][..], &["+", "1 2"], &["-", "1 1 3"], &["x", "0"], &["b", "1 2"], &["m", "1 2 3 x"]] {
            assert!(entry("5-0", bad).is_err(), "{bad:?}");
        }
        assert!(entry("5", &["x", "1"]).is_err());
    }

    #[test]
    fn golden_entries_of_blocks_and_mutes() {
        let user = |id| UserId::new(id).unwrap();
        let at = |micros| Micros::new(micros).unwrap();
        let (one, other, since) = (user(1), user(2), at(900));
        let marked = |mark, until| ChangeKind::Marked { mark, user: one, other, since, until };
        let unmarked = |mark| ChangeKind::Unmarked { mark, user: one, other, since };
        let fields = ["b", "1 2 900", "B", "1 2 900", "m", "1 2 900 0", "m", "1 2 900 950", "M", "1 2 900"];
        let told: Vec<_> = entry("1004-0", &fields).unwrap().changes.into_iter().map(|change| change.kind).collect();
        assert_eq!(
            told,
            [
                marked(Mark::Block, None),
                unmarked(Mark::Block),
                marked(Mark::Mute, None),
                marked(Mark::Mute, Some(at(950))),
                unmarked(Mark::Mute),
            ]
        );
    }
}
