//! Watches of changes.

mod basics;
mod ends;
mod snapshots;
mod storm;

pub(crate) const CASES: usize = basics::CASES + ends::CASES + snapshots::CASES + storm::CASES;
