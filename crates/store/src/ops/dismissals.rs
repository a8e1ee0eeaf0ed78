//! Whom users do not want to be recommended.

use std::collections::HashSet;

use fred::types::Value;
use keyspace::{Keyspace, SlotGroup};
use model::UserId;

use super::Operation;
use crate::{StoreError, call::Call, script, value};

/// How many dismissals of a user are remembered.
const MOST_DISMISSED: i64 = 1_000;

/// Remembers a dismissal. See `dismiss.lua`.
#[derive(Clone, Copy, Debug)]
pub struct Dismiss {
    /// Who dismisses.
    pub user: UserId,
    /// Whom.
    pub dismissed: UserId,
}

impl Operation for Dismiss {
    type Output = ();

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let group = SlotGroup::new(vec![keys.dismissed(self.user)])?;
        Ok(Call::script(&script::DISMISS, group, vec![self.dismissed.get().into(), MOST_DISMISSED.into()]))
    }

    fn answer(&self, _one: Value) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Whom a user dismissed, at most 1,000.
#[derive(Clone, Copy, Debug)]
pub struct Dismissed(pub UserId);

impl Operation for Dismissed {
    type Output = HashSet<UserId>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("ZRANGE", keys.dismissed(self.0), [0, -1]))
    }

    fn answer(&self, answer: Value) -> Result<HashSet<UserId>, StoreError> {
        let id =
            |member: &Value| UserId::new(value::number(member)?).map_err(|_| value::unexpected("a user id", member));
        value::array(answer)?.iter().map(id).collect()
    }
}
