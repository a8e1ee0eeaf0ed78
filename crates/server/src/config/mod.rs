//! Configuration: one table of settings ([`table::SETTINGS`]) drives flags, environment, file, checks and documentation.
//!
//! A flag wins over an environment variable, that over the file, and that over the default. Every problem of every source
//! is reported at once.

mod check;
mod field;
mod flags;
mod load;
mod reference;
mod table;
mod values;

pub use field::Field;
pub use flags::Flags;
pub use load::{Problem, Problems, load};
pub use reference::reference;
pub use table::{SETTINGS, Setting};
pub use values::{
    Changes, Config, Feed, Keyspace, Limits, Log, LogFormat, Redis, RedisMode, Relay, Secret, Seed, Server, Telemetry,
    Watch,
};

/// Which command the configuration is for. Some defaults and checks differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Serves over a Redis that somebody else runs.
    Serve,
    /// Starts its own Redis Cluster, for development.
    Dev,
}

impl Config {
    /// Every setting with its effective value, in the order of the table. A secret shows only whether it is set.
    pub fn effective(&self) -> Vec<(&'static str, String)> {
        let mut copy = self.clone();
        SETTINGS.iter().map(|setting| (setting.key, (setting.field)(&mut copy).show())).collect()
    }
}
