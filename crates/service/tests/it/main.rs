//! The write protocol in all its interleavings, on a real Redis Cluster and on a single Redis.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test ends where it cannot go on")]

mod apply;
mod commit;
mod convert;
mod feed;
mod inbox;
mod long_lists;
mod relay;
mod support;
