//! What readers keep of authors whom they do not follow any more.

use fred::types::Value;
use keyspace::{Keyspace, SlotGroup};
use model::{UserId, Window};

use super::Operation;
use crate::{StoreError, call::Call, script, value};

/// What a reader keeps of an author who is not followed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Who.
    pub author: UserId,
    /// What was published in this time.
    pub window: Window,
}

/// All that a reader keeps. See `kept.lua`.
#[derive(Clone, Copy, Debug)]
pub struct ReadKept(pub UserId);

impl Operation for ReadKept {
    /// In no order.
    type Output = Vec<Kept>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let group = SlotGroup::new(vec![keys.kept(self.0), keys.kept_since(self.0)])?;
        Ok(Call::script(&script::KEPT, group, Vec::new()))
    }

    fn answer(&self, answer: Value) -> Result<Vec<Kept>, StoreError> {
        all_kept(answer)
    }
}

pub(super) fn all_kept(answer: Value) -> Result<Vec<Kept>, StoreError> {
    let facts = value::array(answer)?;
    let kept = facts.chunks(3).map(|facts| match facts {
        [author, from, until] => {
            let window = Window { from: value::score(from)?, until: value::score(until)? };
            Ok(Kept { author: value::user(author)?, window })
        }
        other => Err(value::unexpected("an author and two times", &Value::Array(other.to_vec()))),
    });
    kept.collect()
}
