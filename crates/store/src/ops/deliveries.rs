//! How far posts are on their way to their authors' followers.

use fred::types::Value;
use keyspace::{Keyspace, SlotGroup};
use model::{Entry, Micros, PostId, UserId, Version};

use super::{Operation, commit::version, lists::entry};
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
        let facts = ["version", "audience", "passed", "place", "delivered_at"];
        Ok(Call::command("HMGET", keys.post(self.author, self.post), facts))
    }

    fn answer(&self, answer: Value) -> Result<Option<Delivered>, StoreError> {
        let [version, audience, passed, place, delivered_at] = value::array_of(answer)?;
        if version.is_null() {
            return Ok(None);
        }
        let place = if place.is_null() { None } else { Some(value::text(&place)?) };
        let place = place.map(|text| {
            let (at, user) = text.split_once(' ').ok_or_else(|| value::unexpected("a place", &text.into()))?;
            entry(user, at)
        });
        Ok(Some(Delivered {
            version: Version(value::number(&version)?),
            audience: value::number(&audience)?,
            passed: if passed.is_null() { 0 } else { value::number(&passed)? },
            place: place.transpose()?,
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
        let (at, user) = self.place.map_or((0, 0), |place| (place.at.get().cast_signed(), place.user.get()));
        let is_done = i64::from(self.place.is_none());
        let partition = keys.partition(self.author);
        let group = SlotGroup::new(vec![keys.pending(partition), keys.post(self.author, self.post)])?;
        let passed = self.passed.cast_signed();
        let args = vec![version(self.committed), passed.into(), at.into(), user.into(), is_done.into()];
        Ok(Call::script(&script::SAVE_DELIVERY, group, args))
    }

    fn answer(&self, _saved: Value) -> Result<(), StoreError> {
        Ok(())
    }
}
