//! Options that every command has, and the connection they describe.

use std::time::Duration;

use clap::Args;
use socialgraph::{admin::v1::admin_client::AdminClient, v1::social_graph_client::SocialGraphClient};
use tonic::{
    Request,
    transport::{Channel, Endpoint},
};

use super::Error;

/// How long connecting may take, apart from the call itself.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// An import can wait long for a busy server; pings tell a busy server from one that is gone.
const PING_INTERVAL: Duration = Duration::from_secs(20);

/// Where the server is, and how to print its answer.
#[derive(Debug, Args)]
pub struct Target {
    /// Address of the server
    #[arg(long, value_name = "URL", env = "SOCIALGRAPH_ENDPOINT", default_value = "http://127.0.0.1:50051")]
    pub(super) endpoint: String,
    /// Print JSON: the answer in the proto3 JSON form, and errors as an object on standard error
    #[arg(long)]
    pub(super) json: bool,
}

impl Target {
    pub(super) async fn connect(&self) -> Result<Channel, Error> {
        connect(&self.endpoint).await
    }
}

/// Connects, so that a server that is not there is told from a call that fails.
async fn connect(endpoint: &str) -> Result<Channel, Error> {
    let unreachable =
        |error: tonic::transport::Error| Error::Unreachable { endpoint: endpoint.to_owned(), cause: innermost(&error) };
    if endpoint.starts_with("https://") {
        let cause = "TLS is not supported; use http://, or a proxy that adds it".to_owned();
        return Err(Error::Unreachable { endpoint: endpoint.to_owned(), cause });
    }
    let url = if endpoint.contains("://") { endpoint.to_owned() } else { format!("http://{endpoint}") };
    Endpoint::from_shared(url)
        .map_err(unreachable)?
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_INTERVAL)
        .connect()
        .await
        .map_err(unreachable)
}

/// The options of a single call.
#[derive(Debug, Args)]
pub struct CallOptions {
    #[command(flatten)]
    pub(super) target: Target,
    /// Deadline of each call, such as 500ms or 1m; the server knows it
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = humantime::parse_duration)]
    timeout: Duration,
}

impl CallOptions {
    pub(super) async fn graph(&self) -> Result<SocialGraphClient<Channel>, Error> {
        Ok(SocialGraphClient::new(self.target.connect().await?))
    }

    pub(super) fn request<T>(&self, message: T) -> Request<T> {
        within(self.timeout, message)
    }
}

/// The options of a call to the port for operators.
#[derive(Debug, Args)]
pub struct AdminCallOptions {
    #[command(flatten)]
    pub(super) target: AdminTarget,
    /// Deadline of each call, such as 500ms or 1m; the server knows it
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = humantime::parse_duration)]
    timeout: Duration,
}

/// Where the server's port for operators is, and how to print its answer.
#[derive(Debug, Args)]
pub struct AdminTarget {
    /// Address of the server's port for operators, `admin-grpc-listen`
    #[arg(long, value_name = "URL", env = "SOCIALGRAPH_ADMIN_ENDPOINT", default_value = "http://127.0.0.1:50052")]
    endpoint: String,
    /// Print JSON: the answer in the proto3 JSON form, and errors as an object on standard error
    #[arg(long)]
    pub(super) json: bool,
}

impl AdminCallOptions {
    pub(super) async fn admin(&self) -> Result<AdminClient<Channel>, Error> {
        Ok(AdminClient::new(connect(&self.target.endpoint).await?))
    }

    pub(super) fn request<T>(&self, message: T) -> Request<T> {
        within(self.timeout, message)
    }
}

fn within<T>(timeout: Duration, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(timeout);
    request
}

/// The last cause of an error, which is the one that tells something: the others say "transport error".
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
