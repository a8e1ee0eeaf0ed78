//! The service with the graph of the file.

use std::{path::Path, process::Output, time::Duration};

use localcluster::LocalCluster;
use serde_json::Value;
use tempfile::TempDir;

use super::file::{Graph, OFFSET};
use crate::support::{
    caller::Caller,
    process::{self, Process},
    redis,
};

/// Enough for the import or the export of a large graph.
const PATIENCE: Duration = Duration::from_secs(1_800);
/// Longer than a search may take.
const DEADLINE: Duration = Duration::from_secs(15);

/// A cluster with the graph in it, and a server.
pub(super) struct Served {
    pub(super) graph: Graph,
    pub(super) cluster: LocalCluster,
    pub(super) process: Process,
    pub(super) caller: Caller,
    pub(super) dir: TempDir,
}

impl Served {
    /// Starts a cluster and a server, and imports the file; every row must be accounted for.
    pub(super) async fn start() -> Self {
        let dir = tempfile::tempdir().expect("temporary directory");
        let graph = Graph::load(dir.path());
        let cluster = redis::cluster().await;
        let process = serve(&cluster, &[]).await;
        let offset = ["--id-offset", &OFFSET.to_string()];
        let summary = import(&process, &graph.path, &offset).await;
        let count = |name: &str| summary[name].as_str().and_then(|text| text.parse::<usize>().ok()).expect("a count");
        let repeated = graph.rows - graph.selves - graph.edges.len();
        assert_eq!(
            ["created", "existing", "self"].map(count),
            [graph.edges.len(), repeated, graph.selves],
            "{summary}"
        );
        redis::quiescent(&cluster.addresses()).await;
        println!(
            "{}: {} users, {} edges, {} rows of users with themselves; imported in {}",
            graph.name(),
            graph.users.len(),
            graph.edges.len(),
            graph.selves,
            summary["elapsed"].as_str().expect("a time")
        );
        let caller = Caller::new(process.grpc, DEADLINE);
        Self { graph, cluster, process, caller, dir }
    }

    /// Kills the server with SIGKILL, looks at what it left, and starts another one.
    pub(super) async fn restarted(mut self, look: impl AsyncFnOnce(&LocalCluster)) -> Self {
        self.process.kill().await;
        look(&self.cluster).await;
        self.process = serve(&self.cluster, &[]).await;
        self.caller = Caller::new(self.process.grpc, DEADLINE);
        self
    }

    pub(super) async fn stop(self) {
        self.process.stop().await;
        self.cluster.stop().await;
    }
}

/// A server that stops without delay.
pub(super) async fn serve(cluster: &LocalCluster, more: &[&str]) -> Process {
    Process::serve(&cluster.addresses(), &[&["--server-drain-delay", "0s"], more].concat()).await
}

/// Imports a file, and gives the summary.
pub(super) async fn import(process: &Process, file: &Path, options: &[&str]) -> Value {
    succeeded(process::finish_within(PATIENCE, process::import_with(process.grpc, file, options)).await)
}

/// Exports into a file, and gives the summary.
pub(super) async fn export(process: &Process, file: &Path) -> Value {
    succeeded(process::finish_within(PATIENCE, process::export(process.grpc, file)).await)
}

fn succeeded(output: Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}
