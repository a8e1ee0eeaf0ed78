//! The first half of a write: the truth about an edge, in its follower's partition.

use std::time::Duration;

use fred::types::Value;
use keyspace::{Key, Keyspace, Partition, SlotGroup};
use model::{Edge, Micros, UserId, Version, limits::MAX_KEPT};

use super::{
    Operation,
    lists::{MANY_ROWS, following_keys},
};
use crate::{StoreError, call::Call, script, value};

/// How long an unfollow supersedes older rows of an import: 7 days, in seconds.
pub(super) const LEFT_KEPT_SECONDS: i64 = 7 * 24 * 3600;

/// Commits follows of one partition. See `follow.lua`.
#[derive(Clone, Debug)]
pub struct Follow {
    /// The partition of all followers.
    pub partition: Partition,
    /// The rows of each follower; each follower once, at most 64 rows in all.
    pub followers: Vec<FollowerRows>,
    /// Where the follows come from; empty if unknown.
    pub source: String,
    /// The most that anyone may follow.
    pub max_following: u32,
    /// How many follows an hour anyone may make; 0: as many as they like.
    pub per_hour: u32,
    /// The highest version seen of the partition.
    pub seen: Version,
}

/// What one follower is to follow.
#[derive(Clone, Debug)]
pub struct FollowerRows {
    /// Who follows.
    pub follower: UserId,
    /// Whom.
    pub rows: Vec<FollowRow>,
}

/// A follow to be committed.
#[derive(Clone, Copy, Debug)]
pub struct FollowRow {
    /// Who is followed. Not the follower.
    pub followee: UserId,
    /// Since when; `None` for now.
    pub followed_at: Option<Micros>,
}

/// What became of a [`Follow`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// An outcome for each row, in the order given.
    pub outcomes: Vec<RowOutcome>,
    /// The version of the log entry; if nothing was new, the last version of the partition.
    pub version: Version,
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOutcome {
    /// The edge is new.
    Created {
        /// The edge's score.
        followed_at: Micros,
        /// The version of the change.
        version: Version,
    },
    /// The edge was there.
    Existing {
        /// Since when; `None` if it is in a segment of a long list, and a [`Probe`](super::Probe) tells.
        followed_at: Option<Micros>,
    },
    /// A later unfollow stands.
    Superseded,
    /// The follower follows as many as they may.
    OverLimit,
    /// The follower is not active.
    Unavailable,
    /// The follower blocks the followee.
    Blocked,
    /// The follower made as many follows in the last hour as they may.
    TooMany {
        /// When there may be another one.
        retry_after: Duration,
    },
}

impl Operation for Follow {
    type Output = Committed;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let rows: usize = self.followers.iter().map(|follower| follower.rows.len()).sum();
        let mut names = Vec::with_capacity(3 + 9 * self.followers.len());
        names.extend([keys.log(self.partition), keys.pending(self.partition), keys.clock(self.partition)]);
        let mut args = Vec::with_capacity(4 + 2 * (self.followers.len() + rows));
        args.extend([version(self.seen), self.max_following.into(), self.per_hour.into(), self.source.as_str().into()]);
        let mut growing = Vec::new();
        for FollowerRows { follower, rows } in &self.followers {
            if rows.len() >= MANY_ROWS {
                growing.push(names.len() + 1);
            }
            names.extend(following_keys(keys, *follower));
            names.extend([
                keys.left(*follower),
                keys.feed(*follower),
                keys.state(*follower),
                keys.blocking(*follower),
                keys.aside(*follower),
            ]);
            if self.per_hour > 0 {
                names.push(keys.rate(*follower));
            }
            args.extend([Value::Integer(follower.get()), Value::Integer(rows.len() as i64)]);
            for row in rows {
                let at = row.followed_at.map_or(0, |at| at.get().cast_signed());
                args.extend([Value::Integer(row.followee.get()), Value::Integer(at)]);
            }
        }
        Ok(Call::script(&script::FOLLOW, SlotGroup::new(names)?, args).with_new_segments(&growing))
    }

    fn answer(&self, answer: Value) -> Result<Committed, StoreError> {
        let [version, letters, scores] = value::array_of(answer)?;
        let mut next = value::number(&version)?;
        let mut last = Version(next);
        let letters = value::text(&letters)?.bytes();
        let mut outcomes = Vec::with_capacity(letters.len());
        for (letter, score) in letters.zip(value::text(&scores)?.split(' ')) {
            outcomes.push(match letter {
                b'c' => {
                    last = Version(next);
                    next += 1;
                    RowOutcome::Created { followed_at: value::score_text(score)?, version: last }
                }
                b'e' => RowOutcome::Existing { followed_at: value::optional_score_text(score)? },
                b's' => RowOutcome::Superseded,
                b'l' => RowOutcome::OverLimit,
                b'u' => RowOutcome::Unavailable,
                b'b' => RowOutcome::Blocked,
                b'r' => RowOutcome::TooMany { retry_after: Duration::from_micros(value::score_text(score)?.get()) },
                other => return Err(StoreError::Refused(format!("unknown outcome {:?}", char::from(other)))),
            });
        }
        Ok(Committed { outcomes, version: last })
    }
}

/// Commits the end of a follow. See `unfollow.lua`.
#[derive(Clone, Debug)]
pub struct Unfollow {
    /// Which.
    pub edge: Edge,
    /// Whether the feed keeps what the followee published while followed.
    pub keeps_posts: bool,
    /// The highest version seen of the follower's partition.
    pub seen: Version,
}

/// What became of an [`Unfollow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfollowed {
    /// The version of the change.
    pub version: Version,
    /// The score of the removed edge; `None` if there was none.
    pub removed: Option<Micros>,
    /// Whether the follower has an inbox.
    pub has_inbox: bool,
}

impl Operation for Unfollow {
    type Output = Unfollowed;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let (follower, followee) = (self.edge.follower(), self.edge.followee());
        let names = unfollow_keys(keys, follower);
        let args = vec![
            version(self.seen),
            Value::Integer(follower.get()),
            Value::Integer(followee.get()),
            Value::Integer(LEFT_KEPT_SECONDS),
            Value::Integer(self.keeps_posts.into()),
            Value::Integer(MAX_KEPT.into()),
        ];
        Ok(Call::script(&script::UNFOLLOW, SlotGroup::new(names)?, args))
    }

    fn answer(&self, answer: Value) -> Result<Unfollowed, StoreError> {
        let [version, removed, has_inbox] = value::array_of(answer)?;
        Ok(Unfollowed {
            version: Version(value::number(&version)?),
            removed: value::optional_score(&removed)?,
            has_inbox: value::number::<u8>(&has_inbox)? == 1,
        })
    }
}

/// What the end of a follow touches in the follower's partition.
pub(super) fn end_keys(keys: &Keyspace, follower: UserId) -> Vec<Key> {
    let partition = keys.partition(follower);
    let mut names = vec![keys.log(partition), keys.pending(partition), keys.clock(partition)];
    names.extend(following_keys(keys, follower));
    names.extend([keys.left(follower), keys.feed(follower), keys.aside(follower)]);
    names
}

/// The same, and what the follower keeps.
pub(super) fn unfollow_keys(keys: &Keyspace, follower: UserId) -> Vec<Key> {
    let mut names = end_keys(keys, follower);
    names.extend([keys.kept(follower), keys.kept_since(follower)]);
    names
}

pub(super) fn version(version: Version) -> Value {
    Value::Integer(version.0.cast_signed())
}
