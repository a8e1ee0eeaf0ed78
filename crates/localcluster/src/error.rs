use std::{io, path::PathBuf, time::Duration};

use crate::Topology;

/// Why local Redis servers could not be started or driven.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A binary is not there.
    #[error("{} was not found: install Redis 7.0 or later with `apt-get install redis-server`", .0.display())]
    Missing(PathBuf),
    /// The Valkey server of the tests is not there.
    #[error("{} was not found: `make test` installs Valkey; VALKEY_SERVER names another path", .0.display())]
    NoValkey(PathBuf),
    /// The server binary is too old, or is not Redis.
    #[error("{} is not Redis 7.0 or later: it says {says:?}", .path.display())]
    Unsupported {
        /// The binary.
        path: PathBuf,
        /// Its answer to `--version`.
        says: String,
    },
    /// Another process has servers on the directory.
    #[error("{} is in use by another process", .0.display())]
    InUse(PathBuf),
    /// The directory was made with other [`Options`](crate::Options).
    #[error("{} holds {recorded}, but {wanted} was asked for: use another directory", .dir.display())]
    OtherTopology {
        /// The data directory.
        dir: PathBuf,
        /// What the directory holds.
        recorded: Topology,
        /// What was asked for.
        wanted: Topology,
    },
    /// The directory has servers' data, but the record of what they are is missing or unreadable.
    #[error("{}: {reason}", .path.display())]
    Record {
        /// The record, a file in the data directory.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Servers that were left from before on the directory don't end.
    #[error("servers left from before on {} don't end: pids {pids:?}", .dir.display())]
    Leftovers {
        /// The data directory.
        dir: PathBuf,
        /// Their process ids.
        pids: Vec<i32>,
    },
    /// The topology has no server, or more than a cluster can have.
    #[error("{0} can't be started")]
    BadTopology(Topology),
    /// A file operation, or starting a process, failed.
    #[error("cannot {action} {}", .path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// No free pair of ports in the range that is searched.
    #[error("no free ports on 127.0.0.1 between {} and {}", .0.start, .0.end)]
    NoPorts(std::ops::Range<u16>),
    /// A server ended while it was being started.
    #[error("redis-server ended while starting; its log ends with:\n{log}")]
    Died {
        /// The last lines of its log.
        log: String,
        /// Whether one of its ports was taken.
        port_taken: bool,
    },
    /// The servers did not get ready in time.
    #[error("not ready after {after:?}: {waiting_for}; the logs end with:\n{log}")]
    NotReady {
        /// How long it was waited for.
        after: Duration,
        /// The condition that did not come true.
        waiting_for: String,
        /// The last lines of the servers' logs.
        log: String,
    },
    /// There is no node of that number.
    #[error("there is no node {node}, only {nodes}, counted from 0")]
    NoNode {
        /// The number that was asked for.
        node: usize,
        /// The number of nodes.
        nodes: usize,
    },
    /// The node is not running, or is already running.
    #[error("node {node} is {}", if *.running { "already running" } else { "not running" })]
    State {
        /// The number of the node.
        node: usize,
        /// Whether it runs.
        running: bool,
    },
    /// redis-cli, or the server through it, reported an error.
    #[error("redis-cli {command}: {message}")]
    Cli {
        /// The arguments.
        command: String,
        /// What was printed.
        message: String,
    },
    /// redis-cli gave no answer in time.
    #[error("redis-cli {command}: no answer after {after:?}")]
    CliTimeout {
        /// The arguments.
        command: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// An operation on a cluster was asked of a single server.
    #[error("a single server has no slots to move")]
    NotACluster,
}

impl Error {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
