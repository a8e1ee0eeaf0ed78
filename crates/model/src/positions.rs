//! Positions in the logs of many partitions, in few bytes: all are close to the present, so that each is told by its distance from the
//! oldest.

use crate::Version;

/// Most bytes of one number.
pub(crate) const MOST_BYTES: usize = 8;

/// The oldest position, and then for each its distance from that, plus 1; 0 stands for a log of which nothing was read. Numbers
/// are written in groups of seven bits, the lowest first.
pub(crate) fn encode(positions: &[Version]) -> Vec<u8> {
    let oldest = positions.iter().map(|position| position.0).filter(|&position| position > 0).min().unwrap_or(0);
    let mut bytes = Vec::with_capacity(positions.len() * MOST_BYTES);
    write(&mut bytes, oldest);
    for position in positions {
        write(&mut bytes, if position.0 == 0 { 0 } else { position.0 - oldest + 1 });
    }
    bytes
}

/// Reads so many positions and nothing else.
pub(crate) fn decode(mut bytes: &[u8], number: usize) -> Option<Vec<Version>> {
    let oldest = read(&mut bytes)?;
    let mut position = || match read(&mut bytes)? {
        0 => Some(Version(0)),
        distance => oldest.checked_add(distance - 1).map(Version),
    };
    let positions = (0..number).map(|_| position()).collect::<Option<Vec<_>>>()?;
    bytes.is_empty().then_some(positions)
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
    for group in 0..MOST_BYTES {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << (7 * group);
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
    fn golden_positions() {
        let positions = [Version(0), Version(1_700_000_000_000_000), Version(1_700_000_000_000_200)];
        let bytes = encode(&positions);
        assert_eq!(bytes, [128, 128, 249, 192, 193, 196, 130, 3, 0, 1, 201, 1]);
        assert_eq!(decode(&bytes, 3), Some(positions.to_vec()));
        assert_eq!(decode(&bytes, 2), None, "something is left");
        assert_eq!(decode(&bytes, 4), None, "something is missing");
        assert_eq!(decode(&[0xff; 9], 0), None, "no number is that long");
    }

    #[test]
    fn positions_of_a_week_stay_below_ten_kilobytes() {
        const WEEK: u64 = 7 * 24 * 3600 * 1_000_000;
        let positions: Vec<_> = (0..1024).map(|partition| Version(1_700_000_000_000_000 + partition * WEEK / 1024)).collect();
        assert!(encode(&positions).len() * 4 / 3 < 10_000);
    }
}
