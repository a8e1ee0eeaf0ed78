use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use fred::{
    clients::Client,
    interfaces::ClientLike,
    types::{
        ConnectHandle, RespVersion,
        config::{
            ClusterDiscoveryPolicy, Config, ConnectionConfig, PerformanceConfig, ReconnectError, ReconnectPolicy,
            Server, ServerConfig, TcpConfig, UnresponsiveConfig,
        },
    },
};
use tasks::Tasks;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    StoreError,
    config::{Mode, StoreConfig},
};

/// Milliseconds between attempts to reconnect.
const RECONNECT_MILLIS: u32 = 100;
/// How long to wait before building another client when one could not be connected.
const REBUILD_PAUSE: Duration = Duration::from_millis(200);
/// How long a new client may take to know the cluster and connect to every primary.
const INIT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the end waits for the last use of a lane: more than the relay takes to give its lease back.
const LAST_USE_LIMIT: Duration = Duration::from_secs(2);
/// How long closing the connections in order may take.
const QUIT_LIMIT: Duration = Duration::from_secs(1);

/// A connection to each primary, shared by all callers, that is built anew when the client's router ends: calling
/// `connect` again would report success and then hang.
pub(crate) struct Lane {
    client: Arc<ArcSwap<Client>>,
    command_timeout: Duration,
    /// Tells the supervisor when the lane is no longer used.
    _unused: DropGuard,
}

impl Lane {
    /// Connects, and keeps connected until the tasks end.
    pub(crate) async fn open(name: &'static str, config: &StoreConfig, tasks: &Tasks) -> Result<Self, StoreError> {
        let (client, router) = connect(config).await?;
        let client = Arc::new(ArcSwap::from_pointee(client));
        let unused = CancellationToken::new();
        let supervisor = Supervisor {
            name,
            config: config.clone(),
            client: client.clone(),
            unused: unused.clone(),
            tasks: tasks.clone(),
        };
        tasks.spawn(name, supervisor.run(router));
        Ok(Self { client, command_timeout: config.command_timeout, _unused: unused.drop_guard() })
    }

    /// How long a command may take before it counts as lost.
    pub(crate) fn command_timeout(&self) -> Duration {
        self.command_timeout
    }

    /// The client of the moment.
    pub(crate) fn client(&self) -> Arc<Client> {
        self.client.load_full()
    }
}

/// Keeps a lane's client alive, and quits it in the end.
struct Supervisor {
    name: &'static str,
    config: StoreConfig,
    client: Arc<ArcSwap<Client>>,
    unused: CancellationToken,
    tasks: Tasks,
}

impl Supervisor {
    async fn run(self, mut router: ConnectHandle) {
        let token = self.tasks.token().clone();
        loop {
            tokio::select! {
                () = token.cancelled() => return self.quit().await,
                end = &mut router => tracing::warn!(lane = self.name, ?end, "redis client ended; building a new one"),
            }
            metrics::counter!("socialgraph_redis_client_replaced_total").increment(1);
            router = tokio::select! {
                () = token.cancelled() => return,
                router = self.replace() => router,
            };
        }
    }

    /// Puts a new client in place of the ended one, however long it takes.
    async fn replace(&self) -> ConnectHandle {
        loop {
            match connect(&self.config).await {
                Ok((client, router)) => {
                    self.client.store(Arc::new(client));
                    return router;
                }
                Err(error) => tracing::warn!(lane = self.name, %error, "cannot connect to redis"),
            }
            sleep(REBUILD_PAUSE).await;
        }
    }

    /// Closes the connections. Other tasks end at the same time, and some of them still have something to tell Redis.
    async fn quit(&self) {
        if timeout(LAST_USE_LIMIT, self.unused.cancelled()).await.is_err() {
            tracing::debug!(lane = self.name, "redis client quits while it may still be used");
        }
        let client = self.client.load_full();
        match timeout(QUIT_LIMIT, client.quit()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(lane = self.name, %error, "redis client did not quit in order"),
            Err(_) => tracing::debug!(lane = self.name, "redis client did not quit in time"),
        }
    }
}

async fn connect(config: &StoreConfig) -> Result<(Client, ConnectHandle), StoreError> {
    let client = build(config);
    let router = client.connect();
    match timeout(INIT_TIMEOUT, client.wait_for_connect()).await {
        Ok(Ok(())) => Ok((client, router)),
        Ok(Err(error)) => Err(StoreError::Unavailable(error.to_string())),
        Err(_) => {
            router.abort();
            Err(StoreError::Unavailable(format!("no connection after {INIT_TIMEOUT:?}")))
        }
    }
}

fn build(config: &StoreConfig) -> Client {
    let servers = config.servers.iter().map(|(host, port)| Server::new(host.as_str(), *port));
    let server = match config.mode {
        Mode::Cluster => ServerConfig::Clustered { hosts: servers.collect(), policy: ClusterDiscoveryPolicy::UseCache },
        Mode::Single => {
            let (host, port) = &config.servers[0];
            ServerConfig::new_centralized(host.as_str(), *port)
        }
    };
    let redis = Config {
        server,
        username: config.username.clone(),
        password: config.password.clone(),
        version: RespVersion::RESP2,
        fail_fast: true,
        ..Config::default()
    };
    // Commands are sent at most once and never redirected by the client: both are ours to repeat, because its own redirects
    // give callers other callers' answers, and its own repeats would be invisible.
    let connection = ConnectionConfig {
        connection_timeout: config.connect_timeout,
        internal_command_timeout: config.connect_timeout,
        max_command_attempts: 1,
        max_redirections: 0,
        max_command_buffer_len: 0,
        unresponsive: UnresponsiveConfig {
            max_timeout: Some(2 * config.command_timeout),
            interval: config.command_timeout / 2,
        },
        tcp: TcpConfig { nodelay: Some(true), ..TcpConfig::default() },
        reconnect_errors: vec![ReconnectError::ReadOnly],
        ..ConnectionConfig::default()
    };
    let performance =
        PerformanceConfig { default_command_timeout: config.command_timeout, ..PerformanceConfig::default() };
    let policy = ReconnectPolicy::new_constant(0, RECONNECT_MILLIS);
    Client::new(redis, Some(performance), Some(connection), Some(policy))
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use localcluster::{LocalCluster, Options, Topology};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    async fn ping(lane: &Lane) -> bool {
        lane.client().ping::<String>(None).await.is_ok()
    }

    fn config(mode: Mode, servers: &[SocketAddr]) -> StoreConfig {
        StoreConfig::new(mode, servers.iter().map(|at| (at.ip().to_string(), at.port())).collect())
    }

    async fn connections(cluster: &LocalCluster) -> usize {
        let listed = cluster.cli(0, &["CLIENT", "LIST", "TYPE", "normal"]).await.unwrap();
        // One is that of the question.
        listed.lines().filter(|line| line.contains("id=")).count() - 1
    }

    #[tokio::test]
    async fn an_ended_client_is_replaced_and_the_last_one_quits() {
        let cluster = LocalCluster::start(Options::temporary(Topology::Single).unwrap()).await.unwrap();
        let tasks = Tasks::new();
        let lane = Lane::open("lane", &config(Mode::Single, &cluster.addresses()), &tasks).await.unwrap();
        for _ in 0..3 {
            let ended = lane.client();
            ended.quit().await.unwrap();
            let replaced = async {
                while Arc::ptr_eq(&ended, &lane.client()) {
                    tokio::task::yield_now().await;
                }
            };
            timeout(LIMIT, replaced).await.unwrap();
            assert!(ping(&lane).await);
        }
        assert_eq!(tasks.dead(), [""; 0]);

        drop(lane);
        assert_eq!(tasks.shutdown(LIMIT).await, Ok(()));
        let closed = async {
            while connections(&cluster).await > 0 {
                tokio::task::yield_now().await;
            }
        };
        timeout(LIMIT, closed).await.unwrap();
        cluster.stop().await;
    }

    #[tokio::test]
    async fn a_lane_that_is_still_used_outlives_the_end_of_the_tasks_for_a_moment() {
        let cluster = LocalCluster::start(Options::temporary(Topology::Single).unwrap()).await.unwrap();
        let tasks = Tasks::new();
        let lane = Lane::open("lane", &config(Mode::Single, &cluster.addresses()), &tasks).await.unwrap();
        tasks.token().cancel();
        tokio::task::yield_now().await;
        assert!(ping(&lane).await, "the last words of other tasks");
        // And it does not keep the process for ever.
        assert_eq!(tasks.shutdown(LIMIT).await, Ok(()));
        drop(lane);
        cluster.stop().await;
    }
}
