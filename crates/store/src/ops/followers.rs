//! The second half of a write: the followee's list of followers.

use fred::types::Value;
use keyspace::{Keyspace, List, SlotGroup};
use model::{Edge, Micros, Version};

use super::{
    Operation,
    commit::version,
    lists::{MANY_ROWS, list_keys},
};
use crate::{StoreError, call::Call, script};

/// How long a removal is remembered against late additions: 1 hour, in seconds.
const GONE_KEPT_SECONDS: i64 = 3600;

/// Makes lists of followers follow committed changes. See `apply.lua`.
#[derive(Clone, Debug)]
pub struct Apply {
    /// 1 to 64 changes, in any order; the followees of all are in one partition.
    pub changes: Vec<(Edge, FollowerChange)>,
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

impl Operation for Apply {
    type Output = ();

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let mut changes: Vec<_> = self.changes.iter().collect();
        changes.sort_by_key(|(edge, _)| edge.followee());
        let by_followee = changes.chunk_by(|(one, _), (next, _)| one.followee() == next.followee());
        let mut names = Vec::with_capacity(3 * self.changes.len());
        let mut args = Vec::with_capacity(1 + 5 * self.changes.len());
        let mut growing = Vec::new();
        args.push(Value::Integer(GONE_KEPT_SECONDS));
        for changes in by_followee {
            let followee = changes[0].0.followee();
            if changes.len() >= MANY_ROWS {
                growing.push(names.len() + 1);
            }
            names.extend(list_keys(keys, List::Followers, followee));
            names.push(keys.gone(followee));
            args.push(Value::Integer(changes.len() as i64));
            for &(edge, change) in changes {
                let (kind, at, change_version) = match *change {
                    FollowerChange::Present { followed_at, version } => ("+", followed_at.get(), version),
                    FollowerChange::Absent { removed, version } => ("-", removed.map_or(0, Micros::get), version),
                };
                args.extend([
                    Value::from_static_str(kind),
                    Value::Integer(edge.follower().get()),
                    version(change_version),
                    Value::Integer(at.cast_signed()),
                ]);
            }
        }
        Ok(Call::script(&script::APPLY, SlotGroup::new(names)?, args).with_new_segments(&growing))
    }

    fn answer(&self, _ok: Value) -> Result<(), StoreError> {
        Ok(())
    }
}
