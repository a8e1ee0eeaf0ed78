//! Real Redis or Valkey processes for `socialgraph dev` and for tests: one server, or a bootstrapped cluster.
//!
//! The servers listen on 127.0.0.1 only and end with this process, however it ends: see [`process`]. Their data stays in
//! a directory, and a later start on that directory takes it up again: see [`LocalCluster::start`].

mod bootstrap;
mod cli;
mod config;
mod dir;
mod error;
mod faults;
mod leftovers;
mod node;
mod options;
mod ports;
mod process;
mod slow;
mod start;
mod view;

pub use error::Error;
pub use node::{Node, Role};
pub use options::{Options, Topology};
pub use slow::connect_slowly;
pub use start::LocalCluster;
