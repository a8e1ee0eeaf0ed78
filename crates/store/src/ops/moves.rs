//! Follows that are put aside while their followees are not active, and followers who are hidden while they are not.

use fred::types::Value;
use keyspace::{Keyspace, Partition, SlotGroup};
use model::{Edge, Entry, Micros, UserId, Version};

use super::{Operation, commit::version, lists::following_keys};
use crate::{StoreError, call::Call, script, value};

/// How long it is remembered for which state of a followee a follow was moved last: as long as removals are. 1 hour, in seconds.
const MARKS_KEPT_SECONDS: i64 = 3600;

/// A follow that is put aside, or brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Which.
    pub edge: Edge,
    /// Its score.
    pub followed_at: Micros,
    /// Whether the followee is active.
    pub is_active: bool,
    /// The version of the followee's state.
    pub version: Version,
}

/// Puts follows of one partition aside, or brings them back. See `move_edges.lua`.
#[derive(Clone, Debug)]
pub struct MoveEdges {
    /// The partition of all followers.
    pub partition: Partition,
    /// Those of each follower next to each other.
    moves: Vec<Move>,
    seen: Version,
}

impl MoveEdges {
    /// 1 to 64 moves, in any order, each edge once; the followers of all are in one partition.
    pub fn new(partition: Partition, mut moves: Vec<Move>, seen: Version) -> Self {
        moves.sort_by_key(|moved| moved.edge.follower());
        Self { partition, moves, seen }
    }
}

impl Operation for MoveEdges {
    /// The version of the last change; `None` if there was none.
    type Output = Option<Version>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let mut names = vec![keys.log(self.partition), keys.clock(self.partition)];
        let mut args = vec![version(self.seen), Value::Integer(MARKS_KEPT_SECONDS)];
        for moves in self.moves.chunk_by(|one, next| one.edge.follower() == next.edge.follower()) {
            let follower = moves[0].edge.follower();
            names.extend(following_keys(keys, follower));
            names.extend([keys.aside(follower), keys.aside_marks(follower), keys.state(follower), keys.feed(follower)]);
            args.extend([Value::Integer(follower.get()), Value::Integer(moves.len() as i64)]);
            for moved in moves {
                args.extend([
                    Value::from_static_str(if moved.is_active { "s" } else { "h" }),
                    Value::Integer(moved.edge.followee().get()),
                    version(moved.version),
                    Value::Integer(moved.followed_at.get().cast_signed()),
                ]);
            }
        }
        Ok(Call::script(&script::MOVE_EDGES, SlotGroup::new(names)?, args))
    }

    fn answer(&self, answer: Value) -> Result<Option<Version>, StoreError> {
        let [last, _moved] = value::array_of(answer)?;
        let last = value::number(&last)?;
        Ok((last > 0).then_some(Version(last)))
    }
}

/// Reads on in the follows of a user that are put aside, oldest first. See `aside.lua`.
#[derive(Clone, Copy, Debug)]
pub struct ReadAside {
    /// Whose.
    pub user: UserId,
    /// After which; `None` from the oldest.
    pub after: Option<Entry>,
    /// The most entries.
    pub limit: usize,
}

impl Operation for ReadAside {
    type Output = Vec<Entry>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let (score, member) = match self.after {
            Some(Entry { at, user }) => (Value::Integer(at.get().cast_signed()), Value::Integer(user.get())),
            None => (Value::Integer(0), Value::from_static_str("")),
        };
        let args = vec![score, member, Value::Integer(self.limit as i64)];
        Ok(Call::script(&script::ASIDE, keys.aside(self.user).into(), args))
    }

    fn answer(&self, answer: Value) -> Result<Vec<Entry>, StoreError> {
        scored_users(answer)
    }
}

/// The first followers of a user who are not active, the oldest follows first. They are on no list.
#[derive(Clone, Copy, Debug)]
pub struct ReadHidden {
    /// Whose followers.
    pub user: UserId,
    /// The most entries, 1 at least.
    pub limit: usize,
}

impl Operation for ReadHidden {
    type Output = Vec<Entry>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let args = [0.into(), Value::Integer(self.limit as i64 - 1), Value::from_static_str("WITHSCORES")];
        Ok(Call::command("ZRANGE", keys.hidden(self.user), args))
    }

    fn answer(&self, answer: Value) -> Result<Vec<Entry>, StoreError> {
        scored_users(answer)
    }
}

fn scored_users(answer: Value) -> Result<Vec<Entry>, StoreError> {
    let pairs = value::pairs(answer)?;
    pairs.iter().map(|[user, at]| Ok(Entry { at: value::score(at)?, user: value::user(user)? })).collect()
}
