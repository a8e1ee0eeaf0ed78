//! Bad input: for every field of every call the exact error, and nothing written.

mod feed;
mod lists;
mod tokens;
mod users;
mod writes;

use prost_types::Timestamp;

pub(crate) const CASES: usize = feed::CASES + lists::CASES + tokens::CASES + users::CASES + writes::CASES;

/// Times that cannot be stored.
fn bad_times() -> impl Iterator<Item = Option<Timestamp>> {
    let parts = [
        (0, 0),
        (0, 999),
        (-1, 0),
        (-1, 999_999_999),
        (1_600_000_000, -1),
        (1_600_000_000, 1_000_000_000),
        (1_600_000_000, i32::MIN),
        (1_600_000_000, i32::MAX),
        (9_007_199_254, 740_993_000),
        (i64::MAX, 0),
        (i64::MIN, 0),
    ];
    parts.into_iter().map(|(seconds, nanos)| Some(Timestamp { seconds, nanos }))
}

/// What no id is.
const BAD_IDS: [i64; 3] = [0, -1, i64::MIN];
/// What no page size is.
const BAD_PAGE_SIZES: [i32; 4] = [-1, 501, i32::MIN, i32::MAX];
/// What no enum of the contract has.
const BAD_ENUMS: [i32; 5] = [-1, 4, 99, i32::MIN, i32::MAX];
