//! Whether an author's posts are pushed to the followers' inboxes, or pulled from the author's timeline by readers, and turns from one to the
//! other.

use fred::types::Value;
use keyspace::{Keyspace, SlotGroup};
use model::{Entry, UserId, Version};

use super::{Operation, commit::version, deletion::Duty, lists::following_keys};
use crate::{StoreError, call::Call, script, value};

/// How an author's posts reach the followers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are pushed, and readers are being told that they will not be any more.
    Turning,
    /// Readers pull them.
    Pull,
    /// They are pushed again, and readers are being told so.
    Returning,
}

/// How an author's posts reach the followers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// How.
    pub mode: Mode,
    /// Names the last turn.
    pub version: Version,
    /// The last follower who was told; `None` at the beginning.
    pub place: Option<Entry>,
}

/// How an author's posts reach the followers; `None`: they are pushed, as those of most are.
#[derive(Clone, Copy, Debug)]
pub struct FindTurn(pub UserId);

impl Operation for FindTurn {
    type Output = Option<Turn>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("HMGET", keys.delivery(self.0), ["mode", "version", "place"]))
    }

    fn answer(&self, answer: Value) -> Result<Option<Turn>, StoreError> {
        let [mode, version, found] = value::array_of(answer)?;
        if mode.is_null() {
            return Ok(None);
        }
        let mode = match value::text(&mode)? {
            "turning" => Mode::Turning,
            "pull" => Mode::Pull,
            "returning" => Mode::Returning,
            _ => return Err(value::unexpected("a mode", &mode)),
        };
        Ok(Some(Turn { mode, version: Version(value::number(&version)?), place: value::place(&found)? }))
    }
}

/// Keeps how far a turn is. See `save_turn.lua`.
#[derive(Clone, Copy, Debug)]
pub struct SaveTurn {
    /// Whose.
    pub author: UserId,
    /// Which.
    pub version: Version,
    /// The last follower who was told; `None`: these were all.
    pub place: Option<Entry>,
}

impl Operation for SaveTurn {
    /// Whether the turn is not over.
    type Output = bool;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let group = SlotGroup::new(vec![keys.operations(keys.partition(self.author)), keys.delivery(self.author)])?;
        let duty = Duty::Delivery(self.author).to_string();
        let args = vec![duty.into(), version(self.version), value::of_place(self.place)];
        Ok(Call::script(&script::SAVE_TURN, group, args))
    }

    fn answer(&self, answer: Value) -> Result<bool, StoreError> {
        Ok(value::number::<u8>(&answer)? == 1)
    }
}

/// Tells readers of one partition how an author's posts reach them. See `mark_pulled.lua`.
#[derive(Clone, Debug)]
pub struct MarkPulled {
    /// Whose posts.
    pub author: UserId,
    /// Whether readers are to pull them.
    pub pulled: bool,
    /// 1 to 64 readers of one partition, each with the time of following.
    pub readers: Vec<Entry>,
}

impl Operation for MarkPulled {
    type Output = ();

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let mut names = Vec::with_capacity(4 * self.readers.len());
        let kind = if self.pulled { "p" } else { "m" };
        let mut args = vec![self.author.get().into(), Value::from_static_str(kind)];
        for reader in &self.readers {
            names.push(keys.feed(reader.user));
            names.extend(following_keys(keys, reader.user));
            args.push(reader.at.get().cast_signed().into());
        }
        Ok(Call::script(&script::MARK_PULLED, SlotGroup::new(names)?, args))
    }

    fn answer(&self, _marked: Value) -> Result<(), StoreError> {
        Ok(())
    }
}
