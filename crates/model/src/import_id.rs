use std::fmt;

use thiserror::Error;

use crate::limits::MAX_IMPORT_ID_CHARS;

/// What a caller calls an import by: 1 to 64 characters of `A-Z`, `a-z`, `0-9`, `_`, `.` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ImportId(Box<str>);

/// A text that is no [`ImportId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must be 1 to {MAX_IMPORT_ID_CHARS} characters of A-Z, a-z, 0-9, _, . and -")]
pub struct InvalidImportId;

impl ImportId {
    /// Checks an id from outside.
    pub fn new(id: &str) -> Result<Self, InvalidImportId> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        let is_id = (1..=MAX_IMPORT_ID_CHARS).contains(&id.len()) && id.bytes().all(is_allowed);
        if is_id { Ok(Self(id.into())) } else { Err(InvalidImportId) }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ImportId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_short_and_of_plain_characters() {
        for id in ["a", "2026-12-03.edges_1", &"Z".repeat(64)] {
            assert_eq!(ImportId::new(id).unwrap().as_str(), id);
        }
        for id in ["", " ", "a b", "a:b", "{a}", "é", "a\n", &"a".repeat(65)] {
            assert_eq!(ImportId::new(id), Err(InvalidImportId), "{id:?}");
        }
    }
}
