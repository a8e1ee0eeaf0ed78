//! The server and the command line of socialgraph: gRPC services, configuration, telemetry, health, the process's life, and
//! the client subcommands.

// Layouts of nested futures are deep, and how deep rustc asks for them depends on the path of the checkout.
#![recursion_limit = "512"]

pub mod admin;
mod api;
pub mod app;
pub mod cli;
pub mod config;
pub mod dev;
pub mod errors;
pub mod health;
pub mod readiness;
pub mod rpc;
pub mod serve;
pub mod signal;
pub mod telemetry;
