//! The write protocol in all its interleavings, on a real Redis Cluster, a single Redis and a Valkey cluster.

// Layouts of nested futures are deep, and how deep rustc asks for them depends on the path of the checkout.
#![recursion_limit = "512"]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test ends where it cannot go on")]

mod apply;
mod blocks;
mod commit;
mod convert;
mod feed;
mod inbox;
mod limits;
mod long_lists;
mod refusals;
mod relay;
mod support;
mod watch;
mod written;
