//! Whether users are active, and the operations that follow.

use fred::types::Value;
use keyspace::{Key, Keyspace, List, SlotGroup};
use model::{Micros, UserId, UserState, Version};

use super::{Operation, commit::version, inbox::inbox_segments, lists::list_keys};
use crate::{StoreError, call::Call, script, value};

/// How long the end of an operation is remembered that made a user active: 7 days, in seconds.
const KEPT_SECONDS: i64 = 604_800;

/// Commits whether a user is active. See `set_state.lua`.
#[derive(Clone, Copy, Debug)]
pub struct SetState {
    /// Who.
    pub user: UserId,
    /// Not [`UserState::Deleted`].
    pub state: UserState,
    /// The highest version seen of the user's partition.
    pub seen: Version,
}

/// What is known of the last operation about a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserOperation {
    /// What it made of the user.
    pub state: UserState,
    /// The version of its commit.
    pub version: Version,
    /// How many edges the user had, of both directions.
    pub edges: u64,
    /// How many posts a deleted user had.
    pub posts: u64,
    /// How many edges are moved.
    pub moved: u64,
    /// When it ended; `None`: there may be more to do.
    pub done_at: Option<Micros>,
}

impl Operation for SetState {
    /// The last operation; `None` if there was none lately.
    type Output = Option<UserOperation>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let (user, partition) = (self.user, keys.partition(self.user));
        let mut names = vec![keys.log(partition), keys.clock(partition), keys.operations(partition), keys.state(user)];
        names.extend(list_keys(keys, List::Following, user));
        names.extend(list_keys(keys, List::Followers, user));
        names.push(keys.aside(user));
        let args = vec![version(self.seen), user.get().into(), Value::from_static_str(self.state.name())];
        Ok(Call::script(&script::SET_STATE, SlotGroup::new(names)?, args))
    }

    fn answer(&self, answer: Value) -> Result<Option<UserOperation>, StoreError> {
        operation(answer)
    }
}

/// The last operation about a user; `None` if there was none lately.
#[derive(Clone, Copy, Debug)]
pub struct FindOperation(pub UserId);

impl Operation for FindOperation {
    type Output = Option<UserOperation>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let facts = ["state", "version", "edges", "posts", "done", "moved"];
        Ok(Call::command("HMGET", keys.state(self.0), facts))
    }

    fn answer(&self, answer: Value) -> Result<Option<UserOperation>, StoreError> {
        operation(answer)
    }
}

pub(super) fn operation(answer: Value) -> Result<Option<UserOperation>, StoreError> {
    let [state, version, edges, posts, done, moved]: [Value; 6] = value::array_of(answer)?;
    if version.is_null() {
        return Ok(None);
    }
    let count = |count: &Value| if count.is_null() { Ok(0) } else { value::number(count) };
    Ok(Some(UserOperation {
        state: parse_state(&state)?,
        version: Version(value::number(&version)?),
        edges: count(&edges)?,
        posts: count(&posts)?,
        moved: count(&moved)?,
        done_at: if done.is_null() { None } else { value::optional_score(&done)? },
    }))
}

fn parse_state(state: &Value) -> Result<UserState, StoreError> {
    if state.is_null() {
        return Ok(UserState::Active);
    }
    UserState::parse(value::text(state)?).ok_or_else(|| value::unexpected("a state", state))
}

/// Whether a user is active.
#[derive(Clone, Copy, Debug)]
pub struct FindState(pub UserId);

impl Operation for FindState {
    type Output = UserState;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("HGET", keys.state(self.0), ["state"]))
    }

    fn answer(&self, answer: Value) -> Result<UserState, StoreError> {
        parse_state(&answer)
    }
}

/// Where an operation is that moves a user's edges; empty at its beginning, and if there is none.
#[derive(Clone, Copy, Debug)]
pub struct FindPlace(pub UserId);

impl Operation for FindPlace {
    type Output = String;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("HGET", keys.state(self.0), ["place"]))
    }

    fn answer(&self, answer: Value) -> Result<String, StoreError> {
        if answer.is_null() { Ok(String::new()) } else { value::text(&answer).map(str::to_owned) }
    }
}

/// Keeps how far the moves of a user's edges are. See `save_move.lua`.
#[derive(Clone, Debug)]
pub struct SaveMove {
    /// Whose.
    pub user: UserId,
    /// The version of the operation.
    pub version: Version,
    /// Where it is.
    pub place: String,
    /// How many edges it has done since it said so last.
    pub moved: usize,
    /// Whether all that the user follows is done now.
    pub ends_following: bool,
}

/// What became of a [`SaveMove`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// It is kept.
    Kept,
    /// What the user follows is to be walked over once more, from the beginning.
    Again,
    /// There is a newer operation.
    Superseded,
}

impl Operation for SaveMove {
    type Output = Saved;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let args = vec![
            version(self.version),
            self.place.as_str().into(),
            Value::Integer(self.moved as i64),
            Value::Integer(self.ends_following.into()),
        ];
        Ok(Call::script(&script::SAVE_MOVE, keys.state(self.user).into(), args))
    }

    fn answer(&self, answer: Value) -> Result<Saved, StoreError> {
        match value::number::<u8>(&answer)? {
            0 => Ok(Saved::Superseded),
            1 => Ok(Saved::Kept),
            _ => Ok(Saved::Again),
        }
    }
}

/// Ends the moves of a user's edges. See `end_move.lua`.
#[derive(Clone, Copy, Debug)]
pub struct EndMove {
    /// Whose.
    pub user: UserId,
    /// The version of the operation.
    pub version: Version,
    /// Most entries of an inbox.
    pub inbox_cap: u32,
}

impl Operation for EndMove {
    /// Whether that is so; there is a newer operation otherwise.
    type Output = bool;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let user = self.user;
        let mut names: Vec<Key> = vec![keys.operations(keys.partition(user)), keys.state(user)];
        names.extend([keys.inbox(user), keys.feed(user)]);
        names.extend(inbox_segments(keys, user, self.inbox_cap));
        let args = vec![user.get().into(), version(self.version), Value::Integer(KEPT_SECONDS)];
        Ok(Call::script(&script::END_MOVE, SlotGroup::new(names)?, args))
    }

    fn answer(&self, answer: Value) -> Result<bool, StoreError> {
        Ok(value::number::<u8>(&answer)? == 1)
    }
}
