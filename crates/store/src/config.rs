use std::{fmt, time::Duration};

/// How to reach Redis.
#[derive(Clone)]
pub struct StoreConfig {
    /// Where to begin: some primaries of the cluster, or the one server.
    pub servers: Vec<(String, u16)>,
    /// What is there.
    pub mode: Mode,
    /// ACL user; none for the default user.
    pub username: Option<String>,
    /// Password; none where Redis asks for none.
    pub password: Option<String>,
    /// How long a command may take before it counts as lost.
    pub command_timeout: Duration,
    /// How long making a connection may take.
    pub connect_timeout: Duration,
    /// Most commands in flight to one node, more than 0; others wait.
    pub max_in_flight: usize,
}

/// What kind of Redis the store talks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A Redis Cluster.
    Cluster,
    /// One server that is not a cluster.
    Single,
}

impl StoreConfig {
    /// The usual bounds.
    pub fn new(mode: Mode, servers: Vec<(String, u16)>) -> Self {
        Self {
            servers,
            mode,
            username: None,
            password: None,
            command_timeout: Duration::from_secs(1),
            connect_timeout: Duration::from_millis(500),
            max_in_flight: 4096,
        }
    }
}

impl fmt::Debug for StoreConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreConfig").field("servers", &self.servers).field("mode", &self.mode).finish_non_exhaustive()
    }
}
