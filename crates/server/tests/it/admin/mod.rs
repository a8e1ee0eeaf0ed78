//! The port for operators.

mod injected;
mod ports;
mod stars;
mod support;
mod topology;
mod verify;

pub(crate) const CASES: usize = injected::CASES + ports::CASES + stars::CASES + topology::CASES + verify::CASES;
