//! What belongs to a keyspace as a whole, and a look at its keys.

use fred::types::Value;
use keyspace::{Key, Keyspace, Partition};
use model::TokenKey;

use super::Operation;
use crate::{StoreError, call::Call, script, value};

/// Reads the format of a keyspace; creates it where there is none. See `format.lua`.
#[derive(Clone, Copy, Debug)]
pub struct OpenFormat {
    /// The format number of a new keyspace.
    pub format: u32,
    /// The token key of a new keyspace: random.
    pub token_key: [u8; 16],
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
}

impl Operation for OpenFormat {
    type Output = Format;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let args = vec![
            self.format.into(),
            keys.partitions().get().into(),
            format!("{:032x}", u128::from_be_bytes(self.token_key)).into(),
        ];
        Ok(Call::script(&script::FORMAT, keys.format().into(), args))
    }

    fn answer(&self, answer: Value) -> Result<Format, StoreError> {
        let [format, partitions, token_key] = value::array_of(answer)?;
        let token_key = u128::from_str_radix(value::text(&token_key)?, 16)
            .map_err(|_| value::unexpected("32 hexadecimal digits", &token_key))?;
        Ok(Format {
            format: value::number(&format)?,
            partitions: value::number(&partitions)?,
            token_key: TokenKey::new(token_key.to_be_bytes()),
        })
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

/// Whether the primary of a partition keeps a value of so many entries compact. See `compact.lua`.
#[derive(Clone, Copy, Debug)]
pub struct IsCompact {
    /// The partition.
    pub partition: Partition,
    /// The kind of value.
    pub kind: Compact,
    /// The number of entries, at least 1.
    pub entries: u32,
}

impl Operation for IsCompact {
    type Output = bool;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let (command, encoding) = match self.kind {
            Compact::SortedSet => ("ZADD", "listpack"),
            Compact::Numbers => ("SADD", "intset"),
        };
        let args = vec![command.into(), encoding.into(), self.entries.into()];
        Ok(Call::script(&script::COMPACT, keys.trial(self.partition).into(), args))
    }

    fn answer(&self, answer: Value) -> Result<bool, StoreError> {
        Ok(value::number::<u32>(&answer)? == 1)
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
            Self::StreamEntries(key) => Call::command("XLEN", key, [0_i64; 0]),
        })
    }

    fn answer(&self, answer: Value) -> Result<Inspected, StoreError> {
        match self {
            _ if answer.is_null() => Ok(Inspected::Missing),
            Self::Encoding(_) => Ok(Inspected::Encoding(value::text(&answer)?.to_owned())),
            Self::Bytes(_) | Self::SetEntries(_) | Self::StreamEntries(_) => {
                value::number(&answer).map(Inspected::Number)
            }
        }
    }
}
