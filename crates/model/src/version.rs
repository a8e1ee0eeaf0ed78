use std::fmt;

/// Which change of a partition came when: microseconds of the partition's clock, unique and rising in the partition.
///
/// At most 2^53, so that Redis can hold it as a score exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version(pub u64);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
