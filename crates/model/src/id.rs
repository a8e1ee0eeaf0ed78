use std::{cmp::Ordering, fmt};

use thiserror::Error;

/// A user's id: 1 to 2^63 - 1.
///
/// The derived order is by number; [`UserId::cmp_member`] is the order of entries with equal scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserId(i64);

/// An id that is not greater than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must be greater than 0, not {0}")]
pub struct InvalidUserId(pub i64);

impl UserId {
    /// The least id.
    pub const MIN: Self = Self(1);
    /// The greatest id.
    pub const MAX: Self = Self(i64::MAX);

    /// Checks an id from outside.
    pub const fn new(id: i64) -> Result<Self, InvalidUserId> {
        if id > 0 { Ok(Self(id)) } else { Err(InvalidUserId(id)) }
    }

    /// The number.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The order of Redis among members of one score: by the bytes of the decimal number, so that 10 comes before 9.
    pub fn cmp_member(self, other: Self) -> Ordering {
        let (a, b) = (Digits::of(self.0), Digits::of(other.0));
        a.as_bytes().cmp(b.as_bytes())
    }
}

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A number's decimal digits without an allocation.
struct Digits {
    buffer: [u8; 19],
    start: usize,
}

impl Digits {
    fn of(number: i64) -> Self {
        let mut digits = Self { buffer: [b'0'; 19], start: 19 };
        let mut rest = number;
        while rest > 0 {
            digits.start -= 1;
            digits.buffer[digits.start] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        digits
    }

    fn as_bytes(&self) -> &[u8] {
        &self.buffer[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_are_positive() {
        assert_eq!(UserId::new(0), Err(InvalidUserId(0)));
        assert_eq!(UserId::new(-1), Err(InvalidUserId(-1)));
        assert_eq!(UserId::new(i64::MIN), Err(InvalidUserId(i64::MIN)));
        assert_eq!(UserId::new(1).unwrap().get(), 1);
        assert_eq!(UserId::new(i64::MAX).unwrap().get(), i64::MAX);
    }

    proptest! {
        #[test]
        fn members_compare_as_their_decimal_text(a in 1..=i64::MAX, b in 1..=i64::MAX, shift in 0..63_u32) {
            for (a, b) in [(a, b), (a >> shift, b), (a, a >> shift)] {
                let (a, b) = (a.max(1), b.max(1));
                let by_text = a.to_string().cmp(&b.to_string());
                prop_assert_eq!(UserId(a).cmp_member(UserId(b)), by_text);
            }
        }
    }
}
