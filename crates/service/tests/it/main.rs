//! The write protocol in all its interleavings, on a real Redis Cluster and on a single Redis.

mod apply;
mod commit;
mod relay;
mod support;
