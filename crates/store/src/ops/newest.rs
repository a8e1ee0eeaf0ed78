//! The newest of long and short lists, at the least cost.

use fred::types::Value;
use keyspace::{Keyspace, List, SlotGroup};
use model::UserId;

use super::{Operation, lists::list_keys};
use crate::{StoreError, call::Call, script, value};

/// The newest on a list, without their times, as far as they are not in segments. See `newest.lua`.
#[derive(Clone, Copy, Debug)]
pub struct Newest {
    /// Which list.
    pub list: List,
    /// Whose.
    pub user: UserId,
    /// The most users, 1 to 128.
    pub limit: usize,
}

impl Operation for Newest {
    /// How long the list is, and users, newest first: of a list of more than 128 at least a few.
    type Output = (u64, Vec<UserId>);

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let group = SlotGroup::new(list_keys(keys, self.list, self.user).into())?;
        Ok(Call::script(&script::NEWEST, group, vec![Value::Integer(self.limit as i64)]))
    }

    fn answer(&self, answer: Value) -> Result<(u64, Vec<UserId>), StoreError> {
        let [length, users] = value::array_of(answer)?;
        let users = value::array(users)?.iter().map(value::user).collect::<Result<_, _>>()?;
        Ok((value::number(&length)?, users))
    }
}
