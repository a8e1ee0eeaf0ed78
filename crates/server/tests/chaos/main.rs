//! The service while its surroundings fail: servers killed, paused, restarted, slots moving, the process itself killed.
//!
//! Tests take turns, because most of them need both cores. A run prints its seed; `CHAOS_SEED` repeats it.

// Layouts of nested futures are deep, and how deep rustc asks for them depends on the path of the checkout.
#![recursion_limit = "512"]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the helpers of tests are tests")]

mod deletion;
mod drain;
mod feed;
#[path = "../feeds/mod.rs"]
mod feeds;
mod hang;
mod import;
mod import_id;
mod model;
mod random_faults;
mod reshard;
mod scripts;
mod star;
mod states;
mod storm;
mod support;
mod takeover;
#[path = "../traces/mod.rs"]
mod traces;
mod watch;
mod whole_graph;
