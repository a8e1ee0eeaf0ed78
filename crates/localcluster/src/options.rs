use std::{env, fmt, path::PathBuf, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::Error;

const VALKEY_SERVER: &str = "VALKEY_SERVER";
const VALKEY_INSTALLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.servers/valkey-server");

/// How many servers there are, and how they hang together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Topology {
    /// One server without cluster mode.
    Single,
    /// A cluster. Slots are split evenly over the primaries.
    Cluster {
        /// Number of primaries, at least 1. Failover needs at least 3.
        primaries: u16,
        /// Number of replicas of each primary.
        replicas: u16,
    },
}

impl Topology {
    /// The number of servers.
    pub fn nodes(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Cluster { primaries, replicas } => usize::from(primaries) * (1 + usize::from(replicas)),
        }
    }

    pub(crate) fn is_cluster(self) -> bool {
        matches!(self, Self::Cluster { .. })
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Single => f.write_str("a single server"),
            Self::Cluster { primaries, replicas } => {
                write!(f, "a cluster of {primaries} primaries with {replicas} replicas each")
            }
        }
    }
}

/// What to start, and where.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) dir: PathBuf,
    pub(crate) topology: Topology,
    pub(crate) server: PathBuf,
    pub(crate) cli: PathBuf,
    pub(crate) settings: Vec<String>,
    pub(crate) ready_within: Duration,
    /// Shared, so that the directory lives as long as the last of the options and the cluster.
    pub(crate) temporary: Option<Arc<TempDir>>,
}

impl Options {
    /// Servers whose data is kept in `dir`, which is created when it is missing.
    pub fn new(dir: impl Into<PathBuf>, topology: Topology) -> Self {
        Self {
            dir: dir.into(),
            topology,
            server: "redis-server".into(),
            cli: "redis-cli".into(),
            settings: Vec::new(),
            ready_within: Duration::from_secs(30),
            temporary: None,
        }
    }

    /// Servers whose data is thrown away when the cluster is dropped, and also when the process just ends.
    ///
    /// # Errors
    /// [`Error::Io`] if no temporary directory can be made.
    pub fn temporary(topology: Topology) -> Result<Self, Error> {
        let dir = tempfile::Builder::new()
            .prefix("socialgraph-redis-")
            .tempdir()
            .map_err(Error::io("create a temporary directory in", std::env::temp_dir()))?;
        let mut options = Self::new(dir.path(), topology);
        options.temporary = Some(Arc::new(dir));
        Ok(options)
    }

    /// The server binary: a path, or a name to look for in `PATH`. Default `redis-server`; `valkey-server` works too.
    #[must_use]
    pub fn server(mut self, path: impl Into<PathBuf>) -> Self {
        self.server = path.into();
        self
    }

    /// Valkey servers, for tests: those that the variable `VALKEY_SERVER` names, or those that `make test` installs.
    ///
    /// # Errors
    /// [`Error::NoValkey`] if they are not there.
    pub fn valkey(self) -> Result<Self, Error> {
        let path = env::var_os(VALKEY_SERVER).map_or_else(|| VALKEY_INSTALLED.into(), PathBuf::from);
        if path.is_file() { Ok(self.server(path)) } else { Err(Error::NoValkey(path)) }
    }

    /// The command line client: a path, or a name to look for in `PATH`. Default `redis-cli`.
    #[must_use]
    pub fn cli(mut self, path: impl Into<PathBuf>) -> Self {
        self.cli = path.into();
        self
    }

    /// Adds a line to redis.conf, after the built-in ones, so that it wins over them: `maxmemory 64mb`.
    #[must_use]
    pub fn setting(mut self, line: impl Into<String>) -> Self {
        self.settings.push(line.into());
        self
    }

    /// How long the servers may take from their launch until all are ready. Default 30 s; loading much data takes longer.
    #[must_use]
    pub fn ready_within(mut self, limit: Duration) -> Self {
        self.ready_within = limit;
        self
    }
}
