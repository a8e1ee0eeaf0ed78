//! What belongs to a keyspace as a whole, and a look at its keys.

use std::{ops::RangeInclusive, time::Duration};

use bytes::Bytes;
use fred::types::Value;
use keyspace::{Key, Keyspace, Partition, SlotGroup};
use model::TokenKey;

use super::Operation;
use crate::{StoreError, call::Call, script, value};

/// For how many seconds the value of a [`TryCompact`] is kept.
const TRIAL_SECONDS: u32 = 60;

/// Reads the format of a keyspace; creates it where there is none. See `format.lua`.
#[derive(Clone, Copy, Debug)]
pub struct OpenFormat {
    /// The format number of a new keyspace.
    pub format: u32,
    /// The token key of a new keyspace: random.
    pub token_key: [u8; 16],
    /// The format number that is raised to the new one.
    pub older: u32,
}

/// The format of a keyspace.
#[derive(Clone, Debug)]
pub struct Format {
    /// The format number.
    pub format: u32,
    /// The number of partitions.
    pub partitions: u32,
    /// What seals its tokens.
    pub token_key: TokenKey,
    /// Whether all data is of this format.
    pub is_converted: bool,
}

impl Operation for OpenFormat {
    type Output = Format;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let args = vec![
            self.format.into(),
            keys.partitions().get().into(),
            format!("{:032x}", u128::from_be_bytes(self.token_key)).into(),
            self.older.into(),
        ];
        Ok(Call::script(&script::FORMAT, SlotGroup::new(vec![keys.format(), keys.instances()])?, args))
    }

    fn answer(&self, answer: Value) -> Result<Format, StoreError> {
        let [format, partitions, token_key, converted] = value::array_of(answer)?;
        let token_key = u128::from_str_radix(value::text(&token_key)?, 16)
            .map_err(|_| value::unexpected("32 hexadecimal digits", &token_key))?;
        Ok(Format {
            format: value::number(&format)?,
            partitions: value::number(&partitions)?,
            token_key: TokenKey::new(token_key.to_be_bytes()),
            is_converted: !converted.is_null() && value::text(&converted)? == "1",
        })
    }
}

/// Takes the conversion of lists, which one instance at a time does, or keeps it. See `claim.lua`.
#[derive(Clone, Debug)]
pub struct ClaimConversion {
    /// The name of the instance.
    pub instance: String,
    /// For how long it has the work.
    pub lease: Duration,
}

impl Operation for ClaimConversion {
    /// Whether the work is the instance's.
    type Output = bool;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let args = vec![self.instance.as_str().into(), Value::Integer(self.lease.as_millis() as i64)];
        Ok(Call::script(&script::CLAIM, keys.converter().into(), args))
    }

    fn answer(&self, answer: Value) -> Result<bool, StoreError> {
        Ok(value::number::<u8>(&answer)? == 1)
    }
}

/// Notes that all data is of the keyspace's format.
#[derive(Clone, Copy, Debug)]
pub struct EndConversion;

impl Operation for EndConversion {
    type Output = ();

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("HSET", keys.format(), ["converted", "1"]))
    }

    fn answer(&self, _added: Value) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Reads on in the names of keys on a node. Those that are there all along are met, perhaps more than once, as long as no slot
/// moves.
#[derive(Clone, Debug)]
pub struct ScanKeys {
    /// A partition that the node serves.
    pub partition: Partition,
    /// From the part before; 0 for the first.
    pub cursor: u64,
    /// What the names look like.
    pub pattern: String,
}

impl Operation for ScanKeys {
    /// A cursor, 0 at the end; and keys.
    type Output = (u64, Vec<Bytes>);

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let cursor = self.cursor.to_string().into();
        let args = vec![cursor, "MATCH".into(), self.pattern.as_str().into(), "COUNT".into(), Value::Integer(1_000)];
        Ok(Call::to_slot("SCAN", keys.slot(self.partition), args))
    }

    fn answer(&self, answer: Value) -> Result<(u64, Vec<Bytes>), StoreError> {
        let [cursor, keys] = value::array_of(answer)?;
        let keys = value::array(keys)?.into_iter().map(value::into_bytes).collect::<Result<_, _>>()?;
        Ok((value::number(&cursor)?, keys))
    }
}

/// Renews an instance's lease and gives the names of all running instances. See `lease.lua`.
#[derive(Clone, Debug)]
pub struct Lease {
    /// The name of the instance.
    pub instance: String,
    /// For how many milliseconds the lease holds.
    pub millis: u64,
}

impl Operation for Lease {
    type Output = Vec<String>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let args = vec![self.instance.as_str().into(), Value::Integer(self.millis.cast_signed())];
        Ok(Call::script(&script::LEASE, keys.instances().into(), args))
    }

    fn answer(&self, answer: Value) -> Result<Vec<String>, StoreError> {
        value::array(answer)?.iter().map(|name| value::text(name).map(str::to_owned)).collect()
    }
}

/// Gives an instance's lease back.
#[derive(Clone, Debug)]
pub struct Resign {
    /// The name of the instance.
    pub instance: String,
}

impl Operation for Resign {
    type Output = ();

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("ZREM", keys.instances(), [self.instance.as_str()]))
    }

    fn answer(&self, _removed: Value) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A kind of value that Redis keeps compact while it is small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compact {
    /// A sorted set, as a listpack.
    SortedSet,
    /// A set of numbers, as an intset.
    Numbers,
}

/// Adds entries to a value for as long as the primary of a partition keeps it compact. See `compact.lua`.
#[derive(Clone, Debug)]
pub struct TryCompact {
    /// The partition.
    pub partition: Partition,
    /// The kind of value.
    pub kind: Compact,
    /// What the value is called, by nobody else.
    pub name: String,
    /// The numbers of the entries, at most 1,000, from 1.
    pub entries: RangeInclusive<u32>,
}

impl Operation for TryCompact {
    /// How many entries were compact: up to the last one's number. The value is kept for more to be added, but not if there were fewer.
    type Output = u32;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let (command, encoding) = match self.kind {
            Compact::SortedSet => ("ZADD", "listpack"),
            Compact::Numbers => ("SADD", "intset"),
        };
        let (first, last) = (*self.entries.start(), *self.entries.end());
        let args = vec![command.into(), encoding.into(), first.into(), last.into(), TRIAL_SECONDS.into()];
        Ok(Call::script(&script::COMPACT, keys.trial(self.partition, &self.name).into(), args))
    }

    fn answer(&self, answer: Value) -> Result<u32, StoreError> {
        value::number(&answer)
    }
}

/// Removes what a [`TryCompact`] left.
#[derive(Clone, Debug)]
pub struct EndTrial {
    /// The partition.
    pub partition: Partition,
    /// What the value is called.
    pub name: String,
}

impl Operation for EndTrial {
    type Output = ();

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("UNLINK", keys.trial(self.partition, &self.name), [0_i64; 0]))
    }

    fn answer(&self, _removed: Value) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A question about a key.
#[derive(Clone, Debug)]
pub enum Inspect {
    /// Its encoding.
    Encoding(Key),
    /// Its bytes, estimated from samples.
    Bytes(Key),
    /// The entries of a sorted set.
    SetEntries(Key),
    /// The members of a set.
    Members(Key),
    /// The entries of a stream.
    StreamEntries(Key),
}

/// The answer to an [`Inspect`]: nothing where there is no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inspected {
    /// There is no such key.
    Missing,
    /// An encoding.
    Encoding(String),
    /// A number.
    Number(u64),
}

impl Operation for Inspect {
    type Output = Inspected;

    fn call(&self, _keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(match self.clone() {
            Self::Encoding(key) => Call::subcommand("OBJECT", "ENCODING", key),
            Self::Bytes(key) => Call::subcommand("MEMORY", "USAGE", key),
            Self::SetEntries(key) => Call::command("ZCARD", key, [0_i64; 0]),
            Self::Members(key) => Call::command("SCARD", key, [0_i64; 0]),
            Self::StreamEntries(key) => Call::command("XLEN", key, [0_i64; 0]),
        })
    }

    fn answer(&self, answer: Value) -> Result<Inspected, StoreError> {
        match self {
            _ if answer.is_null() => Ok(Inspected::Missing),
            Self::Encoding(_) => Ok(Inspected::Encoding(value::text(&answer)?.to_owned())),
            Self::Bytes(_) | Self::SetEntries(_) | Self::Members(_) | Self::StreamEntries(_) => {
                value::number(&answer).map(Inspected::Number)
            }
        }
    }
}
