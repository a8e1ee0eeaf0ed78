//! Reads a row: two ids and perhaps a time.

use std::{
    fmt,
    num::{IntErrorKind, ParseIntError},
    str,
};

use prost_types::Timestamp;
use socialgraph::v1::ImportEdgesRequest;

use crate::cli::time;

/// What is wrong with a row.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum RowError<'a> {
    #[error("not UTF-8")]
    NotUtf8,
    #[error("longer than {} bytes", super::lines::LONGEST)]
    Overlong,
    #[error("too few columns")]
    TooFewColumns,
    #[error("a column after the time: {0}")]
    ExtraColumn(Excerpt<'a>),
    #[error("not a number: {0}")]
    NotANumber(Excerpt<'a>),
    #[error("not within 64 bits: {0}")]
    OutOfRange(Excerpt<'a>),
    #[error("not within 64 bits with the offset: {0}")]
    OffsetOverflow(i64),
    #[error("not a time: {0}")]
    NotATime(Excerpt<'a>),
}

/// Text from the file that is shown to people: quoted, escaped and short.
#[derive(Debug, PartialEq)]
pub(super) struct Excerpt<'a>(&'a str);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 40;
        match self.0.char_indices().nth(SHOWN) {
            Some((end, _)) => write!(f, "\"{}…\"", self.0[..end].escape_debug()),
            None => write!(f, "\"{}\"", self.0.escape_debug()),
        }
    }
}

/// Reads a line, adding `offset` to both ids. A blank line or a comment is `None`.
pub(super) fn parse(line: &[u8], offset: i64) -> Result<Option<ImportEdgesRequest>, RowError<'_>> {
    let line = line.trim_ascii();
    // Before the text is looked at: a comment may be in any encoding.
    if line.is_empty() || line[0] == b'#' {
        return Ok(None);
    }
    let mut rest = str::from_utf8(line).map_err(|_| RowError::NotUtf8)?;
    let follower = next_column(&mut rest);
    if rest.is_empty() {
        return Err(RowError::TooFewColumns);
    }
    let followee = next_column(&mut rest);
    let time = next_column(&mut rest);
    if !rest.is_empty() {
        return Err(RowError::ExtraColumn(Excerpt(rest)));
    }
    Ok(Some(ImportEdgesRequest {
        follower_id: id(follower, offset)?,
        followee_id: id(followee, offset)?,
        followed_at: timestamp(time)?,
        import_id: String::new(),
    }))
}

/// Takes the first column off the text, with the blanks and the comma after it.
fn next_column<'a>(rest: &mut &'a str) -> &'a str {
    const BLANK: [char; 2] = [' ', '\t'];
    let end = rest.bytes().position(|byte| matches!(byte, b' ' | b'\t' | b',')).unwrap_or(rest.len());
    let (column, after) = rest.split_at(end);
    let after = after.trim_start_matches(BLANK);
    *rest = after.strip_prefix(',').map_or(after, |after| after.trim_start_matches(BLANK));
    column
}

fn id(text: &str, offset: i64) -> Result<i64, RowError<'_>> {
    let id: i64 = text.parse().map_err(|error: ParseIntError| {
        if matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) {
            RowError::OutOfRange(Excerpt(text))
        } else {
            RowError::NotANumber(Excerpt(text))
        }
    })?;
    id.checked_add(offset).ok_or(RowError::OffsetOverflow(id))
}

/// The time of a third column; CSV writes an absent one as an empty column.
fn timestamp(text: &str) -> Result<Option<Timestamp>, RowError<'_>> {
    if text.is_empty() {
        return Ok(None);
    }
    time::parse(text).map(Some).map_err(|_| RowError::NotATime(Excerpt(text)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row(follower_id: i64, followee_id: i64) -> Result<Option<ImportEdgesRequest>, RowError<'static>> {
        Ok(Some(ImportEdgesRequest { follower_id, followee_id, followed_at: None, import_id: String::new() }))
    }

    fn row_at(seconds: i64, nanos: i32) -> Result<Option<ImportEdgesRequest>, RowError<'static>> {
        let followed_at = Some(Timestamp { seconds, nanos });
        Ok(Some(ImportEdgesRequest { follower_id: 1, followee_id: 2, followed_at, import_id: String::new() }))
    }

    #[test]
    fn good_rows() {
        for line in ["1\t2", "1 2", "1,2", "1   2", "1 ,\t2", " 1\t\t2 ", "1\t2\r", "1,2,", "+1,2", "01 002"] {
            assert_eq!(parse(line.as_bytes(), 0), row(1, 2), "{line:?}");
        }
        assert_eq!(parse(b"0\t-5", 0), row(0, -5));
        assert_eq!(parse(b"9223372036854775807 -9223372036854775808", 0), row(i64::MAX, i64::MIN));
        for line in ["1,2,1700000000", "1 2 1700000000000", "1\t2\t1700000000000000\r", "1,2, 2023-11-14T22:13:20Z"] {
            assert_eq!(parse(line.as_bytes(), 0), row_at(1_700_000_000, 0), "{line:?}");
        }
        assert_eq!(parse(b"1 2 1700000000123456", 0), row_at(1_700_000_000, 123_456_000));
    }

    #[test]
    fn blank_lines_and_comments_are_no_rows() {
        for line in [&b""[..], b"\r", b" \t ", b"# 1 2", b"  #", b"#\xff\xfe"] {
            assert_eq!(parse(line, 0), Ok(None), "{line:?}");
        }
    }

    #[test]
    fn an_offset_is_added_to_both_ids() {
        assert_eq!(parse(b"0 1", 1), row(1, 2));
        assert_eq!(parse(b"2 3", -1), row(1, 2));
        assert_eq!(parse(b"1 9223372036854775807", 1), Err(RowError::OffsetOverflow(i64::MAX)));
        assert_eq!(parse(b"-9223372036854775808 1", -1), Err(RowError::OffsetOverflow(i64::MIN)));
    }

    #[test]
    fn bad_rows_say_why() {
        let cases: [(&[u8], &str); 17] = [
            (b"1", "too few columns"),
            (b"1,", "too few columns"),
            (b"1\t\r", "too few columns"),
            (b"follower,followee", "not a number: \"follower\""),
            (b",2", "not a number: \"\""),
            (b"1,,2", "not a number: \"\""),
            (b"1;2 3", "not a number: \"1;2\""),
            (b"1.0 2", "not a number: \"1.0\""),
            (b"\"1\" 2", "not a number: \"\\\"1\\\"\""),
            (b"1\x002 3", "not a number: \"1\\02\""),
            (b"\0\0\0 1", "not a number: \"\\0\\0\\0\""),
            (b"1 9223372036854775808", "not within 64 bits: \"9223372036854775808\""),
            (b"-99999999999999999999999 2", "not within 64 bits: \"-99999999999999999999999\""),
            (b"1 2 1700000000 3", "a column after the time: \"3\""),
            (b"1 2 12345", "not a time: \"12345\""),
            (b"1 \xff", "not UTF-8"),
            ("1 1²".as_bytes(), "not a number: \"1²\""),
        ];
        for (line, reason) in cases {
            assert_eq!(parse(line, 0).unwrap_err().to_string(), reason, "{line:?}");
        }
        let long = "é".repeat(100) + " 1";
        assert_eq!(
            parse(long.as_bytes(), 0).unwrap_err().to_string(),
            format!("not a number: \"{}…\"", "é".repeat(40))
        );
    }

    proptest! {
        #[test]
        fn a_written_row_reads_as_the_same_row(
            (follower_id, followee_id) in any::<(i64, i64)>(),
            followed_at in proptest::option::of((-62_135_596_800..253_402_300_800i64, 0..1_000_000_000i32)),
            separator in prop_oneof![Just("\t"), Just(" "), Just("   "), Just(","), Just(" , ")],
            end in prop_oneof![Just(""), Just("\r"), Just(" ")],
        ) {
            let followed_at = followed_at.map(|(seconds, nanos)| Timestamp { seconds, nanos });
            let time = followed_at.map(|time| format!("{separator}{time}")).unwrap_or_default();
            let line = format!("{follower_id}{separator}{followee_id}{time}{end}");
            prop_assert_eq!(parse(line.as_bytes(), 0), Ok(Some(ImportEdgesRequest { follower_id, followee_id, followed_at, import_id: String::new() })));
        }

        #[test]
        fn no_line_panics(line in proptest::collection::vec(any::<u8>(), 0..60), offset in any::<i64>()) {
            if let Err(error) = parse(&line, offset) {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
