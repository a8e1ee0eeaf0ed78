//! A Redis Cluster of the process's own, for development.

use std::path::PathBuf;

use localcluster::{LocalCluster, Options, Topology};

use crate::config::{Config, Seed};

/// As many primaries as it takes to see that nothing depends on a single one.
const TOPOLOGY: Topology = Topology::Cluster { primaries: 3, replicas: 0 };

/// Starts a cluster whose data is in `dir`, or in a directory that goes with the process, and makes `config` use it.
///
/// # Errors
///
/// If redis-server is missing, or the directory is in use by another process or cannot be used.
pub async fn start(dir: Option<PathBuf>, config: &mut Config) -> Result<LocalCluster, localcluster::Error> {
    let options = match dir {
        Some(dir) => Options::new(dir, TOPOLOGY),
        None => Options::temporary(TOPOLOGY)?,
    };
    let cluster = LocalCluster::start(options).await?;
    config.redis.urls = cluster
        .addresses()
        .iter()
        .map(|address| Seed { host: address.ip().to_string(), port: address.port() })
        .collect();
    Ok(cluster)
}
