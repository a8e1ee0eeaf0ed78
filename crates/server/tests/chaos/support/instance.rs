//! A server in this process.

use std::{net::SocketAddr, sync::Arc};

use localcluster::LocalCluster;
use socialgraph_server::{
    app,
    config::{self, Config, Flags, Mode},
    readiness::Readiness,
    serve::{Addresses, ServeError},
    telemetry::{self, MetricsHandle},
};
use tasks::Tasks;
use tokio::{task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{LIMIT, http, logs::Logs, redis, until};

/// A running server and what can be asked of it from inside.
pub(crate) struct Instance {
    pub(crate) addresses: Addresses,
    pub(crate) readiness: Readiness,
    pub(crate) tasks: Tasks,
    pub(crate) logs: Logs,
    redis: Vec<SocketAddr>,
    metrics: MetricsHandle,
    shutdown: CancellationToken,
    serving: JoinSet<Result<(), ServeError>>,
}

impl Instance {
    /// Starts a server over a cluster and waits until it is ready.
    pub(crate) async fn start(cluster: &LocalCluster) -> Self {
        let logs = Logs::capture();
        let metrics = telemetry::metrics::install();
        let (tasks, shutdown) = (Tasks::new(), CancellationToken::new());
        let config = Arc::new(configuration(cluster));
        let opened = app::open(config, &tasks, metrics.clone(), &shutdown).await;
        let (server, readiness) = opened.expect("open the server");
        let addresses = server.addresses();
        let mut serving = JoinSet::new();
        serving.spawn(server.run(shutdown.clone()));
        let redis = cluster.addresses();
        let this = Self { addresses, readiness, tasks, logs, redis, metrics, shutdown, serving };
        this.ready().await;
        this
    }

    /// Waits until the server is ready.
    pub(crate) async fn ready(&self) {
        assert!(timeout(LIMIT, self.readiness.ready()).await.is_ok(), "not ready: {:?}", self.readiness.reasons());
    }

    /// Waits until every change is applied and settled.
    pub(crate) async fn quiescent(&self) {
        redis::quiescent(&self.redis).await;
        until("no relay lag", async || self.metric("socialgraph_relay_lag_seconds", "") == 0.0).await;
    }

    /// A metric of this process, summed over its labels that contain `labels`.
    pub(crate) fn metric(&self, name: &str, labels: &str) -> f64 {
        http::sum(&self.metrics.render(), name, labels)
    }

    /// Stops the server. All must be well by now.
    pub(crate) async fn stop(mut self) {
        assert_eq!(self.tasks.dead(), [""; 0], "dead tasks");
        self.shutdown.cancel();
        let ended = timeout(LIMIT, self.serving.join_next()).await.expect("stop in time").expect("was running");
        ended.expect("no panic").expect("stop in order");
        self.logs.assert_no_errors();
    }
}

fn configuration(cluster: &LocalCluster) -> Config {
    let urls: Vec<_> = cluster.addresses().iter().map(ToString::to_string).collect();
    let values = vec![
        ("listen", "127.0.0.1:0".to_owned()),
        ("admin-listen", "127.0.0.1:0".to_owned()),
        ("admin-grpc-listen", "127.0.0.1:0".to_owned()),
        ("redis.urls", urls.join(",")),
        ("relay.lease", "3s".to_owned()),
        ("server.drain-delay", "0s".to_owned()),
    ];
    config::load(Mode::Serve, &Flags { file: None, values }, []).expect("configuration")
}
