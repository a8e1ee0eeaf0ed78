//! The graph's data in Redis: scripts, connections, retries. The only user of fred.
//!
//! What can be asked for stands in [`ops`]; [`Store`] does it, on a Redis Cluster or on one plain Redis.

mod call;
mod config;
mod error;
mod lane;
pub mod ops;
mod script;
mod store;
mod topology;
mod value;

pub use call::command_of;
pub use config::{Mode, StoreConfig};
pub use error::StoreError;
pub use ops::Operation;
pub use script::scripts;
pub use store::{Layout, Store, Traffic};
