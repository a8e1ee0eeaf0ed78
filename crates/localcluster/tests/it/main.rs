//! Real servers, started, disturbed and stopped.

#![expect(clippy::expect_used, reason = "in tests, also in their helpers")]

mod crash;
mod faults;
mod start;
mod support;
