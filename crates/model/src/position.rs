use std::cmp::Ordering;

use crate::{Micros, UserId};

/// An entry of a list of follows: who, and since when. Also the place of the entry in the list, and so a cursor.
///
/// Entries order by time, and then as Redis orders members of one score ([`UserId::cmp_member`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Since when.
    pub at: Micros,
    /// Who.
    pub user: UserId,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.cmp(&other.at).then_with(|| self.user.cmp_member(other.user))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Which end of a list comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// The latest entry first.
    NewestFirst,
    /// The earliest entry first.
    OldestFirst,
}

impl Order {
    /// Whether an entry comes after another in this order.
    pub fn is_after(self, entry: Entry, other: Entry) -> bool {
        match self {
            Self::NewestFirst => entry < other,
            Self::OldestFirst => entry > other,
        }
    }
}

/// A span of time, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// The earliest time of the span.
    pub from: Micros,
    /// The latest time of the span. Before `from` in an empty span.
    pub until: Micros,
}

impl Window {
    /// All of time.
    pub const ALL: Self = Self { from: Micros::MIN, until: Micros::MAX };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(at: u64, user: i64) -> Entry {
        Entry { at: Micros::new(at).unwrap(), user: UserId::new(user).unwrap() }
    }

    #[test]
    fn ties_order_by_member_bytes() {
        assert!(entry(5, 10) < entry(5, 9));
        assert!(entry(5, 9) < entry(6, 10));
        assert!(Order::NewestFirst.is_after(entry(5, 10), entry(5, 9)));
        assert!(Order::OldestFirst.is_after(entry(5, 9), entry(5, 10)));
        assert!(!Order::OldestFirst.is_after(entry(5, 9), entry(5, 9)));
    }
}
