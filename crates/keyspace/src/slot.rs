use std::fmt;

use crc::{CRC_16_XMODEM, Crc};

/// The number of slots of a Redis Cluster.
pub const SLOTS: u16 = 16_384;

const CRC16: Crc<u16> = Crc::<u16>::new(&CRC_16_XMODEM);

/// A slot of a Redis Cluster: 0 to 16,383.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(u16);

impl Slot {
    /// The slot of a key, as Redis computes it: of what stands between the first `{` and the next `}`, if anything does,
    /// and otherwise of the whole key.
    pub fn of(key: &[u8]) -> Self {
        Self(CRC16.checksum(hash_tag(key).unwrap_or(key)) % SLOTS)
    }

    /// The number.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn hash_tag(key: &[u8]) -> Option<&[u8]> {
    let open = key.iter().position(|&byte| byte == b'{')? + 1;
    let length = key[open..].iter().position(|&byte| byte == b'}')?;
    (length > 0).then(|| &key[open..open + length])
}
