//! Puts a server together: configuration, store, graph, services.

use std::{sync::Arc, time::Duration};

use keyspace::{InvalidName, InvalidPartitionCount, Keyspace, PartitionCount};
use model::Deadline;
use service::{Graph, GraphSettings, OpenError};
use store::{Mode, Store, StoreConfig, StoreError};
use tasks::Tasks;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{
    api,
    config::{Config, RedisMode},
    readiness::Readiness,
    serve::{Parts, ServeError, Server},
    telemetry::MetricsHandle,
};

/// How long a start waits for Redis before it gives up.
const START_LIMIT: Duration = Duration::from_secs(30);
/// How long a start waits before it asks Redis again.
const START_PAUSE: Duration = Duration::from_millis(500);
/// How long opening the keyspace may take: longer than leases of instances of the version before hold, by default.
const OPEN_LIMIT: Duration = Duration::from_secs(15);
/// How long the readiness probe waits for a primary.
const PROBE_LIMIT: Duration = Duration::from_millis(450);

/// Why a server could not be put together.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The name of the keyspace.
    #[error("keyspace.name: {0}")]
    Name(#[from] InvalidName),
    /// The number of partitions.
    #[error("keyspace.partitions: {0}")]
    Partitions(#[from] InvalidPartitionCount),
    /// Redis cannot be reached.
    #[error("redis.urls: {0}")]
    Store(#[from] StoreError),
    /// The keyspace in Redis cannot be served.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The server cannot be started.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The process was told to stop.
    #[error("told to stop")]
    Stopped,
}

/// Connects to Redis, opens the keyspace and binds the ports. Waits half a minute for a Redis that is still starting.
///
/// # Errors
///
/// Whatever keeps the server from serving; [`AppError::Stopped`] if `shutdown` comes first.
pub async fn open(
    config: Arc<Config>,
    tasks: &Tasks,
    metrics: MetricsHandle,
    shutdown: &CancellationToken,
) -> Result<(Server, Readiness), AppError> {
    let count = PartitionCount::new(config.keyspace.partitions)?;
    let keys = Keyspace::new(&config.keyspace.name, count)?;
    let opening = async {
        let store = connect(&config, keys, tasks).await?;
        Ok::<_, AppError>(Graph::open(store, settings(&config), tasks, Deadline::after(OPEN_LIMIT)).await?)
    };
    let graph = shutdown.run_until_cancelled(opening).await.ok_or(AppError::Stopped)??;

    let readiness = Readiness::new(tasks);
    let probed = graph.clone();
    readiness.watch_store(move || {
        let graph = probed.clone();
        async move { graph.probe(Deadline::after(PROBE_LIMIT)).await }
    });
    let stop_streams = CancellationToken::new();
    let (routes, admin_routes) = api::routes(graph, config.limits.max_message_bytes as usize, stop_streams.clone());
    let parts = Parts {
        config,
        routes,
        admin_routes,
        readiness: readiness.clone(),
        stop_streams,
        tasks: tasks.clone(),
        metrics,
    };
    Ok((Server::bind(parts).await?, readiness))
}

async fn connect(config: &Config, keys: Keyspace, tasks: &Tasks) -> Result<Store, StoreError> {
    let until = Deadline::after(START_LIMIT);
    loop {
        match Store::connect(store_config(config), keys.clone(), tasks).await {
            Err(StoreError::Unavailable(cause)) if !until.has_passed() => {
                tracing::warn!(cause, "waiting for redis");
                sleep(START_PAUSE).await;
            }
            outcome => return outcome,
        }
    }
}

fn store_config(config: &Config) -> StoreConfig {
    let redis = &config.redis;
    let mode = match redis.mode {
        RedisMode::Cluster => Mode::Cluster,
        RedisMode::Single => Mode::Single,
    };
    StoreConfig {
        servers: redis.urls.iter().map(|seed| (seed.host.clone(), seed.port)).collect(),
        mode,
        username: redis.username.clone(),
        password: redis.password.expose().map(str::to_owned),
        command_timeout: redis.command_timeout,
        connect_timeout: redis.connect_timeout,
        max_in_flight: redis.max_in_flight as usize,
    }
}

fn settings(config: &Config) -> GraphSettings {
    GraphSettings {
        max_following: config.limits.max_following,
        follows_per_hour: config.limits.follows_per_hour,
        relay_interval: config.relay.interval,
        relay_min_age: config.relay.min_age,
        lease: config.relay.lease,
        changes_retention: config.changes.retention,
        inbox_cap: config.feed.inbox_cap,
        inbox_idle: config.feed.inbox_idle,
        pull_at: config.feed.pull_at,
        max_watches: config.watch.max_watches,
        watch_patience: config.watch.patience,
    }
}
