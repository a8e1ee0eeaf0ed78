//! How far posts are on their way to their authors' followers.

use fred::types::Value;
use keyspace::{Keyspace, SlotGroup};
use model::{Entry, Micros, PostId, UserId, Version};

use super::{Operation, commit::version};
use crate::{StoreError, call::Call, script, value};

/// How far a post is, if it is there.
#[derive(Clone, Copy, Debug)]
pub struct FindDelivery {
    /// Who published it.
    pub author: UserId,
    /// Its id.
    pub post: PostId,
}

/// How far a post is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// The version of its commit.
    pub version: Version,
    /// How many followers the author had then.
    pub audience: u64,
    /// Whether readers pull it.
    pub is_pulled: bool,
    /// How many followers it has passed, as far as that is kept.
    pub passed: u64,
    /// The last of them; `None` at the beginning, and at the end.
    pub place: Option<Entry>,
    /// When the last of all was reached; `None`: it is on its way, or there was nobody to reach.
    pub delivered_at: Option<Micros>,
}

impl Operation for FindDelivery {
    type Output = Option<Delivered>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let facts = ["version", "audience", "pulled", "passed", "place", "delivered_at"];
        Ok(Call::command("HMGET", keys.post(self.author, self.post), facts))
    }

    fn answer(&self, answer: Value) -> Result<Option<Delivered>, StoreError> {
        let [version, audience, pulled, passed, place, delivered_at] = value::array_of(answer)?;
        if version.is_null() {
            return Ok(None);
        }
        Ok(Some(Delivered {
            version: Version(value::number(&version)?),
            audience: value::number(&audience)?,
            is_pulled: !pulled.is_null() && value::number::<u8>(&pulled)? == 1,
            passed: if passed.is_null() { 0 } else { value::number(&passed)? },
            place: value::place(&place)?,
            delivered_at: if delivered_at.is_null() { None } else { value::optional_score(&delivered_at)? },
        }))
    }
}

/// Keeps how far a post is, and settles it at the end. See `save_delivery.lua`.
#[derive(Clone, Copy, Debug)]
pub struct SaveDelivery {
    /// Who published it.
    pub author: UserId,
    /// Its id.
    pub post: PostId,
    /// The version of its commit.
    pub committed: Version,
    /// How many followers it has passed.
    pub passed: u64,
    /// The last of them; `None`: these were all.
    pub place: Option<Entry>,
}

impl Operation for SaveDelivery {
    type Output = ();

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let partition = keys.partition(self.author);
        let group = SlotGroup::new(vec![keys.pending(partition), keys.post(self.author, self.post)])?;
        let args = vec![version(self.committed), self.passed.cast_signed().into(), value::of_place(self.place)];
        Ok(Call::script(&script::SAVE_DELIVERY, group, args))
    }

    fn answer(&self, _saved: Value) -> Result<(), StoreError> {
        Ok(())
    }
}
