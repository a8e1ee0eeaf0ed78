//! Reads of all of a partition: many lists at once, and what changed meanwhile.

use fred::types::Value;
use keyspace::{Keyspace, List, Partition, SlotGroup};
use model::{Entry, UserId, Version};

use super::{
    DueChange, Operation,
    commit::version,
    lists::{entries, list_keys},
    pending::due_change,
};
use crate::{StoreError, call::Call, script, value};

/// After how many entries no more lists are read at once, so that there are at most 1,027.
const ENOUGH_ENTRIES: i64 = 900;
/// Most log entries that are read at once: of up to 64 changes each.
const MOST_LOG_ENTRIES: usize = 32;

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

/// How far the log of a partition is. See `log_place.lua`.
#[derive(Clone, Copy, Debug)]
pub struct FindLogPlace(pub Partition);

/// A place in the log of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPlace {
    /// Which partition's.
    pub partition: Partition,
    /// The last version before it.
    pub version: Version,
    /// How many entries the log had ever got when its end was looked for.
    pub added: u64,
}

impl Operation for FindLogPlace {
    type Output = LogPlace;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let group = SlotGroup::new(vec![keys.log(self.0), keys.clock(self.0)])?;
        Ok(Call::script(&script::LOG_PLACE, group, Vec::new()))
    }

    fn answer(&self, answer: Value) -> Result<LogPlace, StoreError> {
        let [version, added] = value::array_of(answer)?;
        let version = Version(value::number(&version)?);
        Ok(LogPlace { partition: self.0, version, added: value::number(&added)? })
    }
}

/// Reads on in the log of a partition. See `changes.lua`.
#[derive(Clone, Copy, Debug)]
pub struct ReadChanges(pub LogPlace);

/// What was read of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangesPart {
    /// Whether the log no longer has all that came after the place that was looked for.
    pub is_trimmed: bool,
    /// The entries, oldest first.
    pub changes: Vec<DueChange>,
    /// Where to go on; `None` at the log's end.
    pub next: Option<LogPlace>,
}

impl Operation for ReadChanges {
    type Output = ChangesPart;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let LogPlace { partition, version: after, added } = self.0;
        let args = vec![version(after), Value::Integer(added.cast_signed()), Value::Integer(MOST_LOG_ENTRIES as i64)];
        Ok(Call::script(&script::CHANGES, keys.log(partition).into(), args))
    }

    fn answer(&self, answer: Value) -> Result<ChangesPart, StoreError> {
        let mut told = value::array(answer)?.into_iter();
        let Some(is_trimmed) = told.next() else {
            return Err(StoreError::Refused("expected whether the log was trimmed".to_owned()));
        };
        let changes = told.map(due_change).collect::<Result<Vec<_>, _>>()?;
        let last = changes.last().filter(|_| changes.len() == MOST_LOG_ENTRIES);
        let next = last.map(|last| LogPlace { version: last.version, ..self.0 });
        Ok(ChangesPart { is_trimmed: value::number::<u8>(&is_trimmed)? == 1, changes, next })
    }
}
