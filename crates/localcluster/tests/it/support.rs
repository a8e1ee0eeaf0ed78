use std::{fs, path::Path, time::Duration};

use socialgraph_localcluster::{LocalCluster, Options, Topology};

pub(crate) const THREE: Topology = Topology::Cluster { primaries: 3, replicas: 0 };
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

pub(crate) async fn start(dir: &Path, topology: Topology) -> LocalCluster {
    LocalCluster::start(with_server(Options::new(dir, topology))).await.expect("start")
}

pub(crate) async fn temporary(topology: Topology) -> LocalCluster {
    LocalCluster::start(with_server(Options::temporary(topology).expect("temporary directory"))).await.expect("start")
}

/// To run the tests against another server: `LOCALCLUSTER_SERVER=valkey-server`.
fn with_server(options: Options) -> Options {
    match std::env::var_os("LOCALCLUSTER_SERVER") {
        Some(server) => options.server(server),
        None => options,
    }
}

/// Writes a few keys of different slots, through whichever node has them.
pub(crate) async fn fill(cluster: &LocalCluster) {
    for key in 0..30 {
        assert_eq!(routed(cluster, &["SET", &format!("key-{key}"), &key.to_string()]).await, "OK");
    }
}

pub(crate) async fn assert_filled(cluster: &LocalCluster) {
    for key in 0..30 {
        assert_eq!(routed(cluster, &["GET", &format!("key-{key}")]).await, key.to_string());
    }
}

/// The reply of the one node that has the key's slot.
async fn routed(cluster: &LocalCluster, command: &[&str]) -> String {
    for node in 0..cluster.nodes().len() {
        match cluster.cli(node, command).await {
            Ok(reply) => return reply,
            Err(error) => assert!(error.to_string().contains("MOVED"), "{error}"),
        }
    }
    panic!("no node serves {command:?}");
}

/// Command lines of running processes that mention `text`.
fn processes(text: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("list processes").flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).filter(|line| line.contains(text)).collect()
}

/// Waits until no server runs on `dir`, and no watcher either.
pub(crate) async fn assert_ended(dir: &Path) {
    assert_running(dir, 0).await;
}

/// Waits until so many servers run on `dir`, and nothing beside them: what was killed may take a moment to go.
pub(crate) async fn assert_running(dir: &Path, servers: usize) {
    let text = format!("{}/node-", dir.canonicalize().unwrap_or(dir.to_owned()).display());
    let settled = async {
        while processes(&text).len() != servers {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(tokio::time::timeout(LIMIT, settled).await.is_ok(), "running: {:?}", processes(&text));
}
