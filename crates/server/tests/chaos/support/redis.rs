//! The Redis servers below the service.

use std::{fs, net::SocketAddr, path::Path};

use localcluster::{LocalCluster, Options, Topology};
use tokio::process::Command;

use super::until;

/// The primaries of every cluster here.
pub(crate) const PRIMARIES: usize = 3;

/// A cluster whose servers lose nothing that they acknowledged when they are killed. With `appendfsync everysec` Redis
/// puts a write to the AOF off while an fsync is under way, and answers all the same; without fsync it always writes first.
pub(crate) async fn cluster() -> LocalCluster {
    let topology = Topology::Cluster { primaries: PRIMARIES as u16, replicas: 0 };
    let options = Options::temporary(topology).expect("temporary directory").setting("appendfsync no");
    LocalCluster::start(options).await.expect("start a cluster")
}

/// Waits until no change is pending on any of the servers: everything is applied and settled.
pub(crate) async fn quiescent(servers: &[SocketAddr]) {
    until("no pending changes", async || {
        for server in servers {
            if !cli(*server, &["KEYS", "*:pending"]).await.is_empty() {
                return false;
            }
        }
        true
    })
    .await;
}

/// What redis-cli prints.
pub(crate) async fn cli(server: SocketAddr, command: &[&str]) -> String {
    let (host, port) = (server.ip().to_string(), server.port().to_string());
    let output = Command::new("redis-cli")
        .args(["-e", "-h", &host, "-p", &port])
        .args(command)
        .kill_on_drop(true)
        .output()
        .await
        .expect("run redis-cli");
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The ids of running processes that mention `dir` in their command lines, other than clients of the service.
pub(crate) fn servers_on(dir: &Path) -> Vec<i32> {
    let mark = format!("{}/node-", dir.canonicalize().unwrap_or(dir.to_owned()).display());
    let entries = fs::read_dir("/proc").expect("list processes").flatten();
    let running = entries.filter(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&mark)
    });
    running.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
