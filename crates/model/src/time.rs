use std::{
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use thiserror::Error;

/// A time in microseconds since 1970: 1 to 2^53 (the year 2255), so that Redis can hold it as a score exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Micros(u64);

/// A time outside of what can be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidTime {
    /// Not after 1970.
    #[error("must be after 1970-01-01T00:00:00Z")]
    TooEarly,
    /// After 2^53 microseconds.
    #[error("must be before 2255-06-05T23:47:34Z")]
    TooLate,
    /// Nanoseconds outside of 0 to 999,999,999.
    #[error("nanos must be 0 to 999,999,999, not {0}")]
    Nanos(i32),
}

impl Micros {
    /// The latest time that can be stored.
    pub const MAX: Self = Self(1 << 53);
    /// The earliest time that can be stored.
    pub const MIN: Self = Self(1);

    /// Checks a time from outside.
    pub const fn new(micros: u64) -> Result<Self, InvalidTime> {
        match micros {
            0 => Err(InvalidTime::TooEarly),
            1..=9_007_199_254_740_992 => Ok(Self(micros)),
            _ => Err(InvalidTime::TooLate),
        }
    }

    /// A time from seconds since 1970 and nanoseconds, which are cut to microseconds.
    pub fn from_parts(seconds: i64, nanos: i32) -> Result<Self, InvalidTime> {
        if !(0..1_000_000_000).contains(&nanos) {
            return Err(InvalidTime::Nanos(nanos));
        }
        let seconds = u64::try_from(seconds).map_err(|_| InvalidTime::TooEarly)?;
        let micros =
            seconds.checked_mul(1_000_000).and_then(|s| s.checked_add(u64::from(nanos.unsigned_abs() / 1_000)));
        Self::new(micros.ok_or(InvalidTime::TooLate)?)
    }

    /// Whole seconds since 1970, and the nanoseconds beyond.
    pub const fn to_parts(self) -> (i64, i32) {
        ((self.0 / 1_000_000) as i64, (self.0 % 1_000_000) as i32 * 1_000)
    }

    /// The number of microseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The time of this machine's clock.
    pub fn now() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self((since_1970.as_micros() as u64).clamp(Self::MIN.0, Self::MAX.0))
    }

    /// This time and a duration later, at most [`Micros::MAX`].
    pub fn saturating_add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.as_micros() as u64).min(Self::MAX.0))
    }

    /// This time and a duration earlier, at least [`Micros::MIN`].
    pub fn saturating_sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration.as_micros() as u64).max(Self::MIN.0))
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_time() {
        assert_eq!(Micros::from_parts(0, 0), Err(InvalidTime::TooEarly));
        assert_eq!(Micros::from_parts(0, 999), Err(InvalidTime::TooEarly));
        assert_eq!(Micros::from_parts(0, 1_000), Ok(Micros::MIN));
        assert_eq!(Micros::from_parts(-1, 999_999_999), Err(InvalidTime::TooEarly));
        assert_eq!(Micros::from_parts(1, -1), Err(InvalidTime::Nanos(-1)));
        assert_eq!(Micros::from_parts(1, 1_000_000_000), Err(InvalidTime::Nanos(1_000_000_000)));
        assert_eq!(Micros::from_parts(9_007_199_254, 740_992_000), Ok(Micros::MAX));
        assert_eq!(Micros::from_parts(9_007_199_254, 740_993_000), Err(InvalidTime::TooLate));
        assert_eq!(Micros::from_parts(i64::MAX, 0), Err(InvalidTime::TooLate));
    }

    #[test]
    fn parts_and_back() {
        let time = Micros::from_parts(1_700_000_000, 123_456_789).unwrap();
        assert_eq!(time.get(), 1_700_000_000_123_456);
        assert_eq!(time.to_parts(), (1_700_000_000, 123_456_000));
    }
}
