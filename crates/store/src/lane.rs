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

/// A connection to each primary, shared by all callers, that is built anew when the client's router ends: calling
/// `connect` again would report success and then hang.
#[derive(Clone)]
pub(crate) struct Lane {
    client: Arc<ArcSwap<Client>>,
}

impl Lane {
    /// Connects, and keeps connected until the tasks end.
    pub(crate) async fn open(name: &'static str, config: &StoreConfig, tasks: &Tasks) -> Result<Self, StoreError> {
        let (client, router) = connect(config).await?;
        let lane = Self { client: Arc::new(ArcSwap::from_pointee(client)) };
        tasks.spawn(name, lane.clone().supervise(name, config.clone(), router, tasks.clone()));
        Ok(lane)
    }

    /// The client of the moment.
    pub(crate) fn client(&self) -> Arc<Client> {
        self.client.load_full()
    }

    async fn supervise(self, name: &'static str, config: StoreConfig, mut router: ConnectHandle, tasks: Tasks) {
        let token = tasks.token().clone();
        loop {
            tokio::select! {
                () = token.cancelled() => break,
                end = &mut router => tracing::warn!(lane = name, ?end, "redis client ended; building a new one"),
            }
            metrics::counter!("socialgraph_redis_client_replaced_total").increment(1);
            loop {
                match connect(&config).await {
                    Ok((client, new_router)) => {
                        self.client.store(Arc::new(client));
                        router = new_router;
                        break;
                    }
                    Err(error) => tracing::warn!(lane = name, %error, "cannot connect to redis"),
                }
                tokio::select! {
                    () = token.cancelled() => return,
                    () = sleep(REBUILD_PAUSE) => {}
                }
            }
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
