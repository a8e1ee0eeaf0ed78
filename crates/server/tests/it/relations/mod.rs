//! GetRelationships, ListMutuals, KnownFollowers and CommonFollowers.

mod bad_input;
mod book;
mod changes;
mod freshness;
mod random;
mod stars;
mod trips;

pub(crate) const CASES: usize = bad_input::CASES + changes::CASES + freshness::CASES + random::CASES + stars::CASES;
