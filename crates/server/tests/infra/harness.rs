//! Starts servers and calls them.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use http::{Uri, uri::PathAndQuery};
use http_body_util::{BodyExt as _, Empty};
use hyper_util::{
    client::legacy::{Client as HyperClient, connect::HttpConnector},
    rt::TokioExecutor,
};
use socialgraph::v1::{FollowRequest, FollowResponse};
use socialgraph_server::{
    config::{self, Flags, Mode},
    readiness::Readiness,
    serve::{Addresses, Parts, ServeError, Server},
    telemetry::metrics,
};
use tasks::Tasks;
use tokio::{sync::oneshot, time::timeout};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, body::Body, client::Grpc, service::Routes};
use tonic_prost::ProstCodec;
use tracing::{
    Subscriber,
    dispatcher::{DefaultGuard, Dispatch},
};

use crate::service::{BEHAVIOUR, StandIn};

/// Far more than anything here takes; a test that hangs fails by it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Has a subscriber get what happens on this thread, until the guards are dropped.
///
/// While there is just one, tracing asks only the thread that is the first to meet an event whether anybody wants it: that of another test,
/// which has no subscriber, would silence it for all. So there is a second one, which is kept, and all are asked.
pub(crate) fn on_this_thread(subscriber: impl Subscriber + Send + Sync) -> (Dispatch, DefaultGuard) {
    let second = Dispatch::new(tracing_subscriber::registry());
    (second, tracing::dispatcher::set_default(&Dispatch::new(subscriber)))
}

/// A running server.
pub(crate) struct TestServer {
    pub(crate) addresses: Addresses,
    pub(crate) service: StandIn,
    pub(crate) readiness: Readiness,
    pub(crate) tasks: Tasks,
    pub(crate) shutdown: CancellationToken,
    ended: oneshot::Receiver<Result<(), ServeError>>,
}

impl TestServer {
    /// Starts a server with settings given by key. Its store counts as unknown until `readiness` is told to watch one.
    pub(crate) async fn start(settings: &[(&'static str, &str)]) -> Self {
        let free_ports = ["listen", "admin-listen", "admin-grpc-listen"].map(|key| (key, "127.0.0.1:0"));
        let values = free_ports.iter().chain(settings).map(|(key, text)| (*key, (*text).to_owned())).collect();
        let config = config::load(Mode::Dev, &Flags { file: None, values }, []).unwrap();
        let (tasks, service) = (Tasks::new(), StandIn::new());
        let readiness = Readiness::new(&tasks);
        let parts = Parts {
            config: Arc::new(config),
            routes: Routes::new(service.clone()),
            admin_routes: Routes::default(),
            readiness: readiness.clone(),
            stop_streams: CancellationToken::new(),
            tasks: tasks.clone(),
            metrics: metrics::install(),
        };
        let server = Server::bind(parts).await.unwrap();
        let (addresses, shutdown) = (server.addresses(), CancellationToken::new());
        let (end, ended) = oneshot::channel();
        let running = server.run(shutdown.clone());
        Tasks::new().spawn_once("server", async move {
            let _ = end.send(running.await);
        });
        Self { addresses, service, readiness, tasks, shutdown, ended }
    }

    /// Begins to stop the server and waits for its end.
    pub(crate) async fn stop(self) -> Result<(), ServeError> {
        self.shutdown.cancel();
        patiently(self.ended).await.unwrap()
    }

    /// A client with a connection of its own.
    pub(crate) fn client(&self) -> Client {
        client_of(self.addresses.grpc)
    }

    /// The same of the port for operators.
    pub(crate) fn admin_client(&self) -> Client {
        client_of(self.addresses.admin_grpc)
    }

    /// The status and the text of a page of the admin port.
    pub(crate) async fn get(&self, path: &str) -> (u16, String) {
        let hyper = HyperClient::builder(TokioExecutor::new()).build_http::<Empty<bytes::Bytes>>();
        let uri = format!("http://{}{path}", self.addresses.admin).parse().unwrap();
        let response = patiently(hyper.get(uri)).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }
}

fn client_of(address: SocketAddr) -> Client {
    let hyper = HyperClient::builder(TokioExecutor::new()).http2_only(true).build(HttpConnector::new());
    Client { grpc: Grpc::with_origin(hyper, uri(address)) }
}

pub(crate) fn uri(address: SocketAddr) -> Uri {
    format!("http://{address}").parse().unwrap()
}

pub(crate) async fn patiently<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("it takes too long")
}

/// A client without timeouts of its own, other than tonic's channel, so that what it sees is the server's doing.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) grpc: Grpc<HyperClient<HttpConnector, Body>>,
}

impl Client {
    /// A call of `method` that has one answer.
    pub(crate) async fn unary(
        &self,
        method: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Response<FollowResponse>, Status> {
        let mut grpc = self.grpc.clone();
        patiently(async {
            grpc.ready().await.unwrap();
            grpc.unary(request(headers), path(method), ProstCodec::default()).await
        })
        .await
    }

    /// The number of messages of a call, and how it ended.
    pub(crate) async fn stream(&self, method: &str, headers: &[(&'static str, &str)]) -> (usize, Result<(), Status>) {
        let mut grpc = self.grpc.clone();
        patiently(async {
            grpc.ready().await.unwrap();
            let codec = ProstCodec::<FollowRequest, FollowResponse>::default();
            let mut messages = match grpc.server_streaming(request(headers), path(method), codec).await {
                Ok(response) => response.into_inner(),
                Err(status) => return (0, Err(status)),
            };
            let mut count = 0;
            loop {
                match messages.message().await {
                    Ok(Some(_)) => count += 1,
                    Ok(None) => return (count, Ok(())),
                    Err(status) => return (count, Err(status)),
                }
            }
        })
        .await
    }
}

/// Headers for a behaviour of the stand-in.
pub(crate) fn behave(behaviour: &str) -> [(&'static str, &str); 1] {
    [(BEHAVIOUR, behaviour)]
}

fn path(method: &str) -> PathAndQuery {
    format!("/socialgraph.v1.SocialGraph/{method}").parse().unwrap()
}

fn request(headers: &[(&'static str, &str)]) -> Request<FollowRequest> {
    let mut request = Request::new(FollowRequest::default());
    for (name, value) in headers {
        request.metadata_mut().insert(*name, value.parse().unwrap());
    }
    request
}
