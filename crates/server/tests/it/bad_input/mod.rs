//! Bad input: for every field of every call the exact error, and nothing written.

mod lists;
mod tokens;
mod users;
mod writes;

pub(crate) const CASES: usize = lists::CASES + tokens::CASES + users::CASES + writes::CASES;

/// What no id is.
const BAD_IDS: [i64; 3] = [0, -1, i64::MIN];
/// What no page size is.
const BAD_PAGE_SIZES: [i32; 4] = [-1, 501, i32::MIN, i32::MAX];
/// What no enum of the contract has.
const BAD_ENUMS: [i32; 5] = [-1, 4, 99, i32::MIN, i32::MAX];
