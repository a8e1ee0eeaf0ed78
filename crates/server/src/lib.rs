//! The socialgraph server: configuration, telemetry, the RPC layer, health, the admin port and the process's life.

pub mod admin;
pub mod config;
pub mod errors;
pub mod health;
pub mod readiness;
pub mod rpc;
pub mod serve;
pub mod signal;
pub mod telemetry;
