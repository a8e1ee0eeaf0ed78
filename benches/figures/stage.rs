//! A private cluster, a server over it, and clients of both.

use std::{
    io::sink,
    net::SocketAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use keyspace::{Keyspace, PartitionCount};
use localcluster::{LocalCluster, Options, Topology};
use server::{
    app,
    config::{self, Config, Flags, Mode},
    telemetry::{self, MetricsHandle},
};
use socialgraph::v1::social_graph_client::SocialGraphClient;
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
    let metrics = metrics();
    let lines = metrics.lines().filter(|line| line.starts_with(name));
    lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum()
}

/// Everything that a part of the run needs. Ends with the value.
pub(crate) struct Stage {
    pub(crate) endpoint: String,
    pub(crate) graph: SocialGraphClient<Channel>,
    pub(crate) raw: Raw,
    pub(crate) nodes: Nodes,
    /// With which all keys of the service begin.
    pub(crate) keyspace: String,
    tasks: Tasks,
    shutdown: CancellationToken,
    cluster: LocalCluster,
}

impl Stage {
    /// A new cluster with a server over it.
    pub(crate) async fn start() -> Result<Self> {
        let cluster = start_cluster().await?;
        let addresses = cluster.addresses();
        Self::over(cluster, &addresses, Tasks::new(), &[]).await
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
        let until = shutdown.clone();
        tasks.spawn_once("server", async move {
            if let Err(error) = server.run(until).await {
                eprintln!("the server ended: {error}");
            }
        });
        readiness.ready().await;
        let channel = Endpoint::from_shared(endpoint.clone())?.tcp_nodelay(true).connect().await?;
        for (_, text) in store::scripts() {
            nodes.all("SCRIPT", &["LOAD", text]).await?;
        }
        let raw = Raw::connect(addresses, keys).await?;
        let graph = SocialGraphClient::new(channel);
        Ok(Self { endpoint, graph, raw, nodes, keyspace, tasks, shutdown, cluster })
    }

    /// Ends the server, then the cluster.
    pub(crate) async fn stop(self) {
        let Self { graph, raw, tasks, shutdown, cluster, .. } = self;
        drop((graph, raw));
        shutdown.cancel();
        // Killed at once, and tasks that do not end with it: their data is of no use to anybody.
        let _ended = tasks.shutdown(Duration::from_secs(10)).await;
        drop(cluster);
    }
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
