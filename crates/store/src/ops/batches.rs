//! Many changes of one follower.

use fred::types::Value;
use keyspace::{Keyspace, SlotGroup};
use model::{Micros, UserId, Version};

use super::{
    Operation,
    commit::{LEFT_KEPT_SECONDS, unfollow_keys, version},
};
use crate::{StoreError, call::Call, script, value};

/// Commits the ends of several follows of one follower. See `unfollow_many.lua`.
#[derive(Clone, Debug)]
pub struct UnfollowMany {
    /// Who follows.
    pub follower: UserId,
    /// Whom no longer, each once and not the follower, and since when as far as is known; at most 64.
    pub rows: Vec<(UserId, Option<Micros>)>,
    /// The highest version seen of the follower's partition.
    pub seen: Version,
}

/// What became of an [`UnfollowMany`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfollowedMany {
    /// An outcome for each row, in the order given.
    pub outcomes: Vec<EndOutcome>,
    /// The version of the log entry; `None` if there is none.
    pub version: Option<Version>,
    /// Whether the follower has an inbox.
    pub has_inbox: bool,
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndOutcome {
    /// Nobody is followed there any more.
    Ended {
        /// The score of the removed edge; `None` if there was none.
        removed: Option<Micros>,
        /// The version of the change.
        version: Version,
    },
    /// The edge is there since another time than was known, and stays.
    Missed,
}

impl Operation for UnfollowMany {
    type Output = UnfollowedMany;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let mut args = Vec::with_capacity(3 + 2 * self.rows.len());
        args.extend([version(self.seen), Value::Integer(self.follower.get()), Value::Integer(LEFT_KEPT_SECONDS)]);
        for (followee, since) in &self.rows {
            let since = since.map_or(0, |since| since.get().cast_signed());
            args.extend([Value::Integer(followee.get()), Value::Integer(since)]);
        }
        Ok(Call::script(&script::UNFOLLOW_MANY, SlotGroup::new(unfollow_keys(keys, self.follower))?, args))
    }

    fn answer(&self, answer: Value) -> Result<UnfollowedMany, StoreError> {
        let [first, scores, has_inbox] = value::array_of(answer)?;
        let (mut next, mut last) = (value::number::<u64>(&first)?, None);
        let mut outcomes = Vec::with_capacity(self.rows.len());
        for score in value::text(&scores)?.split(' ') {
            outcomes.push(if score == "m" {
                EndOutcome::Missed
            } else {
                last = Some(Version(next));
                next += 1;
                EndOutcome::Ended { removed: value::optional_score_text(score)?, version: Version(next - 1) }
            });
        }
        if outcomes.len() != self.rows.len() {
            return Err(value::unexpected("as many scores as rows", &scores));
        }
        Ok(UnfollowedMany { outcomes, version: last, has_inbox: value::number::<u8>(&has_inbox)? == 1 })
    }
}
