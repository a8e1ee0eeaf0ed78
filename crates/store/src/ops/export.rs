//! Reads of many lists of a partition at once.

use fred::types::Value;
use keyspace::{Keyspace, List, Partition, SlotGroup};
use model::{Entry, UserId, Version};

use super::{
    Operation,
    lists::{entries, list_keys},
};
use crate::{StoreError, call::Call, script, value};

/// After how many entries no more lists are read at once, so that there are at most 1,027.
const ENOUGH_ENTRIES: i64 = 900;

/// Whom some users of one partition follow. See `short_lists.lua`.
#[derive(Clone, Debug)]
pub struct ShortLists {
    /// The partition of all of them.
    pub partition: Partition,
    /// Who, 1 to [`ShortLists::MOST_USERS`].
    pub users: Vec<UserId>,
}

/// What was read of some lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListsRead {
    /// The lists of the first users, of one or more, all at one version; oldest entries first.
    Lists(Version, Vec<Vec<Entry>>),
    /// The first user's list is in segments.
    Long,
}

impl ShortLists {
    /// Most users of one script.
    pub const MOST_USERS: usize = 200;
}

impl Operation for ShortLists {
    type Output = ListsRead;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let mut names = Vec::with_capacity(1 + 2 * self.users.len());
        names.push(keys.clock(self.partition));
        names.extend(self.users.iter().flat_map(|&user| list_keys(keys, List::Following, user)));
        Ok(Call::script(&script::SHORT_LISTS, SlotGroup::new(names)?, vec![ENOUGH_ENTRIES.into()]))
    }

    fn answer(&self, answer: Value) -> Result<ListsRead, StoreError> {
        let told = value::array(answer)?;
        match told.as_slice() {
            [_, long] if long.as_bytes() == Some(b"long") => Ok(ListsRead::Long),
            [version, lists @ ..] if (1..=self.users.len()).contains(&lists.len()) => {
                let lists = lists.iter().map(entries).collect::<Result<_, _>>()?;
                Ok(ListsRead::Lists(Version(value::number(version)?), lists))
            }
            _ => Err(value::unexpected("lists of some users", &Value::Array(told))),
        }
    }
}
