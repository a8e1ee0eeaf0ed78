//! Times as people and files write them.

use std::ops::RangeInclusive;

use prost_types::Timestamp;

const SECONDS: RangeInclusive<u64> = 1_000_000_000..=9_999_999_999;
const MILLIS: RangeInclusive<u64> = 1_000_000_000_000..=9_999_999_999_999;
const MICROS: RangeInclusive<u64> = 1_000_000_000_000_000..=9_999_999_999_999_999;

/// Reads RFC 3339, or Unix time, whose unit is told by its magnitude: 10 digits are seconds, 13 milliseconds,
/// 16 microseconds. That holds for 2001 to 2286, and anything else is refused rather than guessed.
pub(super) fn parse(text: &str) -> Result<Timestamp, String> {
    let parsed = if text.bytes().all(|byte| byte.is_ascii_digit()) { unix(text) } else { text.parse().ok() };
    parsed.ok_or_else(|| "expected RFC 3339 or Unix time of 10 (s), 13 (ms) or 16 (µs) digits".to_owned())
}

fn unix(digits: &str) -> Option<Timestamp> {
    let number: u64 = digits.parse().ok()?;
    let per_second = match number {
        n if SECONDS.contains(&n) => 1,
        n if MILLIS.contains(&n) => 1_000,
        n if MICROS.contains(&n) => 1_000_000,
        _ => return None,
    };
    let seconds = i64::try_from(number / per_second).ok()?;
    let nanos = i32::try_from(number % per_second * (1_000_000_000 / per_second)).ok()?;
    Some(Timestamp { seconds, nanos })
}

/// Reads a duration such as `100ms` into the form of the contract.
pub(super) fn parse_duration(text: &str) -> Result<prost_types::Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    duration.try_into().map_err(|_| "too long".to_owned())
}

/// RFC 3339 with exactly six digits of a second's fraction, so that columns align.
pub(super) fn micros(time: Timestamp) -> String {
    let whole = Timestamp { nanos: 0, ..time }.to_string();
    format!("{}.{:06}Z", whole.trim_end_matches('Z'), time.nanos / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_of_unix_time_follows_from_its_magnitude() {
        let cases = [
            ("1700000000", Some("2023-11-14T22:13:20.000000Z")),
            ("1700000000123", Some("2023-11-14T22:13:20.123000Z")),
            ("1700000000123456", Some("2023-11-14T22:13:20.123456Z")),
            ("2023-11-14T22:13:20Z", Some("2023-11-14T22:13:20.000000Z")),
            ("2023-11-14T23:13:20.5+01:00", Some("2023-11-14T22:13:20.500000Z")),
            ("1969-12-31T23:59:59.25Z", Some("1969-12-31T23:59:59.250000Z")),
            ("0", None),
            ("170000000", None),
            ("17000000001", None),
            ("17000000001234567", None),
            ("99999999999999999999999", None),
            ("-1700000000", None),
            ("", None),
            ("yesterday", None),
            ("2023-02-30T00:00:00Z", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).ok().map(micros).as_deref(), expected, "{text}");
        }
    }
}
