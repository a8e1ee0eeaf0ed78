//! Real servers on free ports, called over TCP: the RPC layer, health, the admin port, draining and traces.
//!
//! The service behind the layer is a stand-in: what is tested is what surrounds a service.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod drain;
mod harness;
mod health;
mod layer;
mod logs;
mod metrics;
mod reflection;
mod service;
mod traces;
