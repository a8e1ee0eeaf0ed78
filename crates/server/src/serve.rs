//! A server's life: bind, serve, drain.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use futures::future::try_join_all;
use socialgraph::FILE_DESCRIPTOR_SET;
use tasks::Tasks;
use tokio::{
    net::TcpListener,
    time::{MissedTickBehavior, interval, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tonic::{
    service::Routes,
    transport::{self, server::TcpIncoming},
};
use tower::Layer as _;

use crate::{
    admin,
    config::Config,
    health,
    readiness::Readiness,
    rpc::RpcLayer,
    telemetry::{MetricsHandle, stalls},
};

/// Between samples a histogram keeps every value; at 100,000 calls a second, 5 s are some megabytes.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// How long background tasks may take to end: release leases, finish a batch.
const TASKS_LIMIT: Duration = Duration::from_secs(5);

/// What a client may send ahead on one stream, and on all streams of its connection.
///
/// A connection whose small frames nobody has read yet cost too much is ended by HTTP/2's own protection, with all its calls; its
/// budget is half of the connection's window. A stream of tiny messages, each in a frame of its own as most clients of `ImportEdges`
/// send them, uses some 25 times its window of it, and must be held up by the window of the stream first.
const STREAM_WINDOW: u32 = 64 * 1024;
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;

/// The headers of one request, in bytes. A caller with more gets HTTP 431.
const MAX_HEADER_BYTES: u32 = 16 * 1024;

/// Of the connection age, in parts of it, either way: servers started together don't lose their connections together.
const AGE_JITTER: f64 = 0.1;

/// The service of the main port, and that of the port for operators.
const GRAPH_SERVICE: &str = "socialgraph.v1.SocialGraph";
const ADMIN_SERVICE: &str = "socialgraph.admin.v1.Admin";

/// What a server is made of.
pub struct Parts {
    /// The configuration.
    pub config: Arc<Config>,
    /// The services, with their limits on messages and their compression set.
    pub routes: Routes,
    /// The services for operators, on a port of their own, likewise.
    pub admin_routes: Routes,
    /// Whether to get traffic; its store is watched by the caller.
    pub readiness: Readiness,
    /// Cancelled when calls in progress are to end: for streams that would go on for ever.
    pub stop_streams: CancellationToken,
    /// The background tasks of the server and of its services. The server ends them last.
    pub tasks: Tasks,
    /// What `/metrics` shows.
    pub metrics: MetricsHandle,
}

/// Why a server doesn't serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address could not be bound.
    #[error("cannot listen at {address} ({key}): {cause}")]
    Bind {
        /// The setting that holds the address.
        key: &'static str,
        /// The address.
        address: SocketAddr,
        /// What the system says.
        cause: io::Error,
    },
    /// The descriptors of the contract could not be read.
    #[error("reflection: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// Serving ended with an error.
    #[error("serving ended: {0}")]
    Transport(#[from] transport::Error),
    /// Serving ended without being told to.
    #[error("serving ended early")]
    Early,
}

/// A server with its ports bound.
pub struct Server {
    parts: Parts,
    grpc: TcpListener,
    admin: TcpListener,
    admin_grpc: TcpListener,
    addresses: Addresses,
}

/// Where a server listens; with the ports that the system chose for port 0.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// gRPC.
    pub grpc: SocketAddr,
    /// The admin port, which is HTTP.
    pub admin: SocketAddr,
    /// gRPC for operators.
    pub admin_grpc: SocketAddr,
}

impl Server {
    /// Binds all ports.
    ///
    /// # Errors
    ///
    /// A port that is taken or not allowed.
    pub async fn bind(parts: Parts) -> Result<Self, ServeError> {
        let (grpc, grpc_address) = bind("listen", parts.config.listen).await?;
        let (admin, admin_address) = bind("admin-listen", parts.config.admin_listen).await?;
        let (admin_grpc, admin_grpc_address) = bind("admin-grpc-listen", parts.config.admin_grpc_listen).await?;
        let addresses = Addresses { grpc: grpc_address, admin: admin_address, admin_grpc: admin_grpc_address };
        Ok(Self { parts, grpc, admin, admin_grpc, addresses })
    }

    /// Where it listens.
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Serves until `shutdown`, then drains: NOT_SERVING, `server.drain-delay`, no new calls, calls in progress end
    /// within `server.drain-limit`, background tasks end.
    ///
    /// # Errors
    ///
    /// If serving ends before `shutdown`.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), ServeError> {
        let Self { parts, grpc, admin, admin_grpc, addresses } = self;
        let Parts { config, routes, admin_routes, readiness, stop_streams, tasks, metrics } = parts;
        spawn_upkeep(&tasks, metrics.clone());
        stalls::watch(&tasks);
        spawn_admin(&tasks, admin, admin::router(metrics, readiness.clone()));

        let goaway = CancellationToken::new();
        let (mut watches, mut ports) = (Vec::new(), Vec::new());
        for (listener, routes, service) in [(grpc, routes, GRAPH_SERVICE), (admin_grpc, admin_routes, ADMIN_SERVICE)] {
            let (watch, health_service) = health::follow(&readiness, &tasks, service).await;
            let routes = with_reflection(routes.add_service(health_service), service)?;
            watches.push(watch);
            ports.push(serve(&config, listener, routes, goaway.clone()));
        }
        let mut serving = Box::pin(try_join_all(ports));
        let Addresses { grpc, admin, admin_grpc } = addresses;
        tracing::info!(%grpc, %admin, %admin_grpc, "serving");
        tokio::select! {
            ended = &mut serving => return Err(ended.err().map_or(ServeError::Early, Into::into)),
            () = shutdown.cancelled() => {}
        }

        tracing::info!("draining");
        readiness.drain();
        for watch in &watches {
            watch.not_serving().await;
        }
        tokio::select! {
            ended = &mut serving => return Err(ended.err().map_or(ServeError::Early, Into::into)),
            () = sleep(config.server.drain_delay) => {}
        }
        goaway.cancel();
        for watch in &mut watches {
            watch.end().await;
        }
        stop_streams.cancel();
        // tonic waits for every connection, however long its peer keeps it.
        match timeout(config.server.drain_limit, &mut serving).await {
            Ok(ended) => drop(ended?),
            Err(_) => tracing::warn!("calls in progress were cut off at the drain limit"),
        }
        // With it goes what uses the store, so that its connections can be closed.
        drop(serving);
        if let Err(running) = tasks.shutdown(TASKS_LIMIT).await {
            tracing::warn!(?running, "background tasks did not end in time");
        }
        tracing::info!("stopped");
        Ok(())
    }
}

/// Serves gRPC on one port, with a limit of its own on calls in progress, so that an overload of one does not shut out the other.
async fn serve(
    config: &Config,
    listener: TcpListener,
    routes: Routes,
    goaway: CancellationToken,
) -> Result<(), transport::Error> {
    let keepalive = Some(config.server.keepalive_interval);
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true)).with_keepalive(keepalive);
    let service = RpcLayer::new(&config.limits).layer(routes.prepare());
    transport_of(config).serve_with_incoming_shutdown(service, incoming, goaway.cancelled_owned()).await
}

async fn bind(key: &'static str, address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
    let error = |cause| ServeError::Bind { key, address, cause };
    let listener = TcpListener::bind(address).await.map_err(error)?;
    let bound = listener.local_addr().map_err(error)?;
    Ok((listener, bound))
}

fn spawn_upkeep(tasks: &Tasks, metrics: MetricsHandle) {
    let token = tasks.token().clone();
    tasks.spawn("metrics-upkeep", async move {
        let mut ticks = interval(UPKEEP_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let forever = async {
            loop {
                ticks.tick().await;
                metrics.upkeep();
            }
        };
        token.run_until_cancelled(forever).await.unwrap_or(())
    });
}

fn spawn_admin(tasks: &Tasks, listener: TcpListener, router: axum::Router) {
    let token = tasks.token().clone();
    tasks.spawn("admin-port", async move {
        if let Err(error) = admin::serve(listener, router, token).await {
            tracing::error!(%error, "admin port");
        }
    });
}

/// Both versions of reflection, since clients of before 2023 ask for v1alpha only, with what errors and health need to be
/// printed by such clients.
fn with_reflection(routes: Routes, service: &str) -> Result<Routes, tonic_reflection::server::Error> {
    let builder = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .with_service_name(service)
            .with_service_name("grpc.health.v1.Health")
    };
    Ok(routes.add_service(builder().build_v1()?).add_service(builder().build_v1alpha()?))
}

/// HTTP/2 as configured. No grace is set for the connection age: with one, tonic 0.14.9 sends no GOAWAY and cuts calls.
fn transport_of(config: &Config) -> transport::Server {
    let server = transport::Server::builder()
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(config.limits.max_streams_per_connection)
        .http2_max_header_list_size(MAX_HEADER_BYTES)
        .http2_keepalive_interval(Some(config.server.keepalive_interval))
        .http2_keepalive_timeout(Some(config.server.keepalive_timeout));
    let age = config.server.max_connection_age;
    if age.is_zero() { server } else { server.max_connection_age(jittered(age)) }
}

fn jittered(age: Duration) -> Duration {
    age.mul_f64(rand::random_range(1.0 - AGE_JITTER..=1.0 + AGE_JITTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_varies_by_a_tenth() {
        for _ in 0..1000 {
            let age = jittered(Duration::from_secs(100));
            assert!((90..=110).contains(&age.as_secs()), "{age:?}");
        }
    }
}
