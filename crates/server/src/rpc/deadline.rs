//! When a call must be over.

use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderValue};
use model::Deadline;
use tonic::Status;

use crate::errors;

/// The header by which a caller tells how long it waits: at most 8 digits and a unit.
const HEADER: &str = "grpc-timeout";

/// A caller that waits longer than this has no deadline that is worth the name.
const LONGEST: Duration = Duration::from_secs(3600);

/// The deadline that the caller set by its header, at most [`LONGEST`] away, or else the default.
///
/// # Errors
///
/// INVALID_ARGUMENT that names the header if it is malformed: to guess would be to wait too long or too short.
pub(super) fn of(headers: &HeaderMap, now: Instant, default: Option<Duration>) -> Result<Option<Deadline>, Status> {
    let timeout = match headers.get(HEADER) {
        None => default,
        Some(value) => Some(parse(value).ok_or_else(malformed)?.min(LONGEST)),
    };
    Ok(timeout.map(|timeout| Deadline::at(now + timeout)))
}

fn malformed() -> Status {
    let description = "must be 1 to 8 digits and a unit of H, M, S, m, u or n";
    errors::invalid_fields(vec![(HEADER.to_owned(), description.to_owned())])
}

fn parse(value: &HeaderValue) -> Option<Duration> {
    let (unit, digits) = value.as_bytes().split_last()?;
    if !(1..=8).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let count = digits.iter().fold(0, |count: u64, digit| count * 10 + u64::from(digit - b'0'));
    Some(match unit {
        b'H' => Duration::from_secs(count * 3600),
        b'M' => Duration::from_secs(count * 60),
        b'S' => Duration::from_secs(count),
        b'm' => Duration::from_millis(count),
        b'u' => Duration::from_micros(count),
        b'n' => Duration::from_nanos(count),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tonic::Code;

    use super::*;

    fn timeout_of(text: Option<&str>, default: Option<Duration>) -> Result<Option<Duration>, Status> {
        let mut headers = HeaderMap::new();
        if let Some(text) = text {
            headers.insert(HEADER, HeaderValue::from_str(text).unwrap());
        }
        let now = Instant::now();
        Ok(of(&headers, now, default)?.map(|deadline| deadline.instant() - now))
    }

    #[test]
    fn the_caller_decides_up_to_an_hour_and_the_default_counts_without_it() {
        let default = Some(Duration::from_secs(10));
        for (text, expected) in [("250m", 250_000_000), ("1S", 1_000_000_000), ("20u", 20_000), ("0n", 0)] {
            assert_eq!(timeout_of(Some(text), default).unwrap(), Some(Duration::from_nanos(expected)));
        }
        assert_eq!(timeout_of(Some("2M"), default).unwrap(), Some(Duration::from_secs(120)));
        assert_eq!(timeout_of(Some("99999999H"), default).unwrap(), Some(LONGEST));
        assert_eq!(timeout_of(None, default).unwrap(), default);
        assert_eq!(timeout_of(None, None).unwrap(), None);
    }

    #[test]
    fn a_malformed_header_is_named() {
        for bad in ["", "S", "1", "1s", "-1S", "1.5S", "123456789S", "１S", " 1S"] {
            let Ok(value) = HeaderValue::from_bytes(bad.as_bytes()) else { continue };
            let headers = HeaderMap::from_iter([(http::HeaderName::from_static(HEADER), value)]);
            let status = of(&headers, Instant::now(), None).unwrap_err();
            assert_eq!(status.code(), Code::InvalidArgument, "{bad:?}");
            assert!(status.message().starts_with(HEADER));
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(bytes in proptest::collection::vec(32u8..127, 0..12)) {
            parse(&HeaderValue::from_bytes(&bytes).unwrap());
        }
    }
}
