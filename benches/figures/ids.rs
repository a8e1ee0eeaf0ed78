//! Ids of 62 bits, as real users have them.

const BITS: u32 = 62;
const MASK: u64 = (1 << BITS) - 1;

/// A permutation of the numbers of 62 bits that leaves only 0 where it is.
pub(crate) fn mix(number: u64) -> i64 {
    let number = (number & MASK).wrapping_mul(0x9e37_79b9_7f4a_7c15) & MASK;
    let number = (number ^ (number >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9) & MASK;
    (number ^ (number >> 31)).cast_signed()
}

/// The `n`th id of a group; groups have no id in common.
pub(crate) fn of_group(group: u32, n: u64) -> i64 {
    mix((u64::from(group) + 1) << 32 | n)
}
