use crate::{UserId, Version};

/// Most bytes of one number.
const NUMBER_BYTES: usize = 10;

/// A place in what a watch tells: how far the log of each partition was read, after a snapshot or in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchPlace {
    /// Of each partition, in a fixed order, the version of the last log entry that was read; 0 if none was.
    pub positions: Vec<Version>,
    /// How far the snapshot is.
    pub snapshot: SnapshotPlace,
}

/// How far a snapshot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotPlace {
    /// Nothing of it was told.
    Begin,
    /// It was told up to this follower.
    After(UserId),
    /// All of it was told, or none is wanted.
    Done,
}

impl WatchPlace {
    pub(crate) fn most_bytes(partitions: usize) -> usize {
        NUMBER_BYTES * (partitions + 2)
    }

    /// The snapshot's place; the oldest position; and for each its distance from that, plus 1, where 0 stands for a log of which nothing was
    /// read. All positions are close to the present, so that distances are short. Numbers are written in groups of seven bits, the
    /// lowest first.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let read = self.positions.iter().map(|position| position.0).filter(|&position| position > 0);
        let oldest = read.min().unwrap_or(0);
        let mut bytes = Vec::with_capacity(Self::most_bytes(self.positions.len()));
        let snapshot = match self.snapshot {
            SnapshotPlace::Done => 0,
            SnapshotPlace::Begin => 1,
            SnapshotPlace::After(user) => user.get().cast_unsigned() + 1,
        };
        write(&mut bytes, snapshot);
        write(&mut bytes, oldest);
        for position in &self.positions {
            write(&mut bytes, if position.0 == 0 { 0 } else { position.0 - oldest + 1 });
        }
        bytes
    }

    /// Reads a place of so many partitions, and nothing else.
    pub(crate) fn decode(mut bytes: &[u8], partitions: usize) -> Option<Self> {
        let snapshot = match read(&mut bytes)? {
            0 => SnapshotPlace::Done,
            1 => SnapshotPlace::Begin,
            next => SnapshotPlace::After(UserId::new((next - 1).cast_signed()).ok()?),
        };
        let oldest = read(&mut bytes)?;
        let mut position = || match read(&mut bytes)? {
            0 => Some(Version(0)),
            distance => oldest.checked_add(distance - 1).map(Version),
        };
        let positions = (0..partitions).map(|_| position()).collect::<Option<_>>()?;
        bytes.is_empty().then_some(Self { positions, snapshot })
    }
}

fn write(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for group in 0..NUMBER_BYTES {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        let shifted = bits << (7 * group);
        if shifted >> (7 * group) != bits {
            return None;
        }
        number |= shifted;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_places() {
        let positions = vec![Version(0), Version(1_700_000_000_000_000), Version(1_700_000_000_000_200)];
        let place = WatchPlace { positions, snapshot: SnapshotPlace::Done };
        let bytes = place.encode();
        assert_eq!(bytes, [0, 128, 128, 249, 192, 193, 196, 130, 3, 0, 1, 201, 1]);
        assert_eq!(WatchPlace::decode(&bytes, 3), Some(place));
        assert_eq!(WatchPlace::decode(&bytes, 2), None, "something is left");
        assert_eq!(WatchPlace::decode(&bytes, 4), None, "something is missing");
        assert_eq!(WatchPlace::decode(&[0xff; 12], 0), None, "no number is that long");
        assert_eq!(WatchPlace::decode(&[&[0xff; 9][..], &[2, 0]].concat(), 0), None, "nor that large");
        let in_snapshot = WatchPlace { positions: vec![], snapshot: SnapshotPlace::After(UserId::MAX) };
        assert_eq!(WatchPlace::decode(&in_snapshot.encode(), 0), Some(in_snapshot));
    }

    #[test]
    fn positions_of_a_week_stay_below_ten_kilobytes() {
        const WEEK: u64 = 7 * 24 * 3600 * 1_000_000;
        let positions = (0..1024).map(|partition| Version(1_700_000_000_000_000 + partition * WEEK / 1024));
        let place = WatchPlace { positions: positions.collect(), snapshot: SnapshotPlace::After(UserId::MAX) };
        assert!(place.encode().len() * 4 / 3 < 10_000);
    }
}
