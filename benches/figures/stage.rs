//! A private cluster, a server over it, and clients of both.

use std::{
    io::sink,
    net::SocketAddr,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use futures::stream;
use keyspace::{Keyspace, PartitionCount};
use localcluster::{LocalCluster, Options, Topology};
use server::{
    app,
    config::{self, Config, Flags, Mode},
    telemetry::{self, MetricsHandle},
};
use socialgraph::{
    admin::v1::admin_client::AdminClient,
    v1::{
        GetOperationRequest, ImportEdgesRequest, ImportEdgesResponse, OperationState, get_operation_request::Target,
        social_graph_client::SocialGraphClient,
    },
};
use tasks::Tasks;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::{Result, raw::Raw, redis::Nodes, slowlog};

static METRICS: OnceLock<MetricsHandle> = OnceLock::new();

/// Installs logging and metrics as the binary does, but for where the log goes.
pub(crate) fn install_telemetry() -> Result<()> {
    METRICS.get_or_init(telemetry::metrics::install);
    telemetry::subscriber(&configuration(&[], &[])?.log, None, sink).try_init()?;
    Ok(())
}

/// The metrics of the process, as `/metrics` shows them.
pub(crate) fn metrics() -> String {
    METRICS.get().map(MetricsHandle::render).unwrap_or_default()
}

/// The sum over all labels of a metric, or over those that begin as the name says.
pub(crate) fn counter(name: &str) -> u64 {
    sum(name).round() as u64
}

/// Calls of a method that were answered, and the seconds that the server took for them together.
pub(crate) fn served(method: &str) -> (f64, f64) {
    let of = |what: &str| sum(&format!("socialgraph_rpc_duration_seconds_{what}{{method=\"{method}\""));
    (of("count"), of("sum"))
}

fn sum(name: &str) -> f64 {
    let metrics = metrics();
    let lines = metrics.lines().filter(|line| line.starts_with(name));
    lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

/// Everything that a part of the run needs. Ends with the value.
pub(crate) struct Stage {
    pub(crate) endpoint: String,
    pub(crate) graph: SocialGraphClient<Channel>,
    pub(crate) admin: AdminClient<Channel>,
    pub(crate) raw: Raw,
    pub(crate) nodes: Nodes,
    /// With which all keys of the service begin.
    pub(crate) keyspace: String,
    tasks: Tasks,
    shutdown: CancellationToken,
    cluster: LocalCluster,
}

impl Stage {
    /// Waits until the operation about a user has ended.
    pub(crate) async fn operation_ended(&self, user_id: i64, within: Duration) -> Result<()> {
        let started = Instant::now();
        loop {
            let request = GetOperationRequest { target: Some(Target::UserId(user_id)) };
            let operation = self.graph.clone().get_operation(request).await?.into_inner().operation.unwrap_or_default();
            if operation.state() == OperationState::Done {
                return Ok(());
            }
            if started.elapsed() > within {
                return Err(format!("the operation did not end within {} s", within.as_secs()).into());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// A new cluster with a server over it.
    pub(crate) async fn start() -> Result<Self> {
        Self::with(&[]).await
    }

    /// The same, with some settings of the server.
    pub(crate) async fn with(settings: &[(&'static str, &str)]) -> Result<Self> {
        let cluster = start_cluster().await?;
        let addresses = cluster.addresses();
        Self::over(cluster, &addresses, Tasks::new(), settings).await
    }

    /// A server over a cluster that is reached at `addresses`, with some settings of its own. `tasks` end with the stage.
    pub(crate) async fn over(
        cluster: LocalCluster,
        addresses: &[SocketAddr],
        tasks: Tasks,
        settings: &[(&'static str, &str)],
    ) -> Result<Self> {
        let nodes = Nodes::connect(&cluster.addresses()).await?;
        let config = configuration(addresses, settings)?;
        let keys = Keyspace::new(&config.keyspace.name, PartitionCount::new(config.keyspace.partitions)?)?;
        let keyspace = config.keyspace.name.clone();
        let shutdown = CancellationToken::new();
        let metrics = METRICS.get_or_init(telemetry::metrics::install).clone();
        let (server, readiness) = app::open(Arc::new(config), &Tasks::new(), metrics, &shutdown).await?;
        let endpoint = format!("http://{}", server.addresses().grpc);
        let admin_endpoint = format!("http://{}", server.addresses().admin_grpc);
        let until = shutdown.clone();
        tasks.spawn_once("server", async move {
            if let Err(error) = server.run(until).await {
                eprintln!("the server ended: {error}");
            }
        });
        readiness.ready().await;
        let graph = SocialGraphClient::new(connect(&endpoint).await?);
        let admin = AdminClient::new(connect(&admin_endpoint).await?);
        for (_, text) in store::scripts() {
            nodes.all("SCRIPT", &["LOAD", text]).await?;
        }
        let raw = Raw::connect(addresses, keys).await?;
        Ok(Self { endpoint, graph, admin, raw, nodes, keyspace, tasks, shutdown, cluster })
    }

    /// Imports edges, of follower and followee.
    pub(crate) async fn import(
        &self,
        edges: impl Iterator<Item = (i64, i64)> + Send + 'static,
    ) -> Result<ImportEdgesResponse> {
        let rows = edges.map(|(follower_id, followee_id)| row(follower_id, followee_id));
        Ok(self.graph.clone().import_edges(stream::iter(rows)).await?.into_inner())
    }

    /// Ends the server, then the cluster.
    pub(crate) async fn stop(self) {
        let Self { graph, admin, raw, tasks, shutdown, cluster, .. } = self;
        drop((graph, admin, raw));
        shutdown.cancel();
        // Killed at once, and tasks that do not end with it: their data is of no use to anybody.
        let _ended = tasks.shutdown(Duration::from_secs(10)).await;
        drop(cluster);
    }
}

/// A row of an import that is to say nothing of times.
pub(crate) fn row(follower_id: i64, followee_id: i64) -> ImportEdgesRequest {
    ImportEdgesRequest { follower_id, followee_id, followed_at: None, import_id: String::new() }
}

async fn connect(endpoint: &str) -> Result<Channel> {
    Ok(Endpoint::from_shared(endpoint.to_owned())?.tcp_nodelay(true).connect().await?)
}

/// Three primaries, as `socialgraph dev` starts them, that log slow commands.
pub(crate) async fn start_cluster() -> Result<LocalCluster> {
    let options = Options::temporary(Topology::Cluster { primaries: 3, replicas: 0 })?
        .setting(format!("slowlog-log-slower-than {}", slowlog::THRESHOLD_MICROS))
        .setting(format!("slowlog-max-len {}", slowlog::MOST));
    Ok(LocalCluster::start(options).await?)
}

/// The usual configuration, on free ports, and what is to be different.
fn configuration(redis: &[SocketAddr], settings: &[(&'static str, &str)]) -> Result<Config> {
    let redis: Vec<String> = redis.iter().map(ToString::to_string).collect();
    let redis = if redis.is_empty() { "127.0.0.1:1".to_owned() } else { redis.join(",") };
    let own = [
        ("listen", "127.0.0.1:0"),
        ("admin-listen", "127.0.0.1:0"),
        ("admin-grpc-listen", "127.0.0.1:0"),
        ("server.drain-delay", "0s"),
    ];
    let values = own.iter().chain(settings).map(|&(key, text)| (key, text.to_owned())).chain([("redis.urls", redis)]);
    Ok(config::load(Mode::Serve, &Flags { file: None, values: values.collect() }, [])?)
}
