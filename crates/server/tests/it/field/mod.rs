//! Faults that users of like systems reported in public, each with the right behaviour here; a test's name begins with the
//! row of the report.

mod answers;
mod healing;
mod imports;
mod races;

pub(crate) const CASES: usize = answers::CASES + healing::CASES + imports::CASES + races::CASES;
