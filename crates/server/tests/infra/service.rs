//! A stand-in that answers every method of `socialgraph.v1.SocialGraph` as the caller tells it by a header.
//!
//! It answers with a stream of `FollowResponse`. One message and a status look the same on the wire as a unary answer.

use std::{
    convert::Infallible,
    future::{Future, pending},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures::{
    FutureExt as _, StreamExt as _,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use http::Response;
use model::Deadline;
use socialgraph::v1::{FollowRequest, FollowResponse};
use socialgraph_server::errors;
use tokio::sync::Semaphore;
use tonic::{Request, Status, body::Body, server::NamedService};
use tonic_prost::ProstCodec;
use tower::Service;

/// The header that tells what to do.
pub(crate) const BEHAVIOUR: &str = "x-behaviour";

type Answer = Result<tonic::Response<BoxStream<'static, Result<FollowResponse, Status>>>, Status>;

#[derive(Clone)]
pub(crate) struct StandIn {
    /// Each call of behaviour `gate` takes a permit before it answers.
    pub(crate) gate: Arc<Semaphore>,
    /// Has a permit more for each call of behaviour `gate` that waits.
    pub(crate) arrived: Arc<Semaphore>,
}

impl StandIn {
    pub(crate) fn new() -> Self {
        Self { gate: Arc::new(Semaphore::new(0)), arrived: Arc::new(Semaphore::new(0)) }
    }

    async fn answer(self, request: Request<FollowRequest>) -> Answer {
        let behaviour = request.metadata().get(BEHAVIOUR).map_or("once", |text| text.to_str().unwrap()).to_owned();
        let first = stream::iter([Ok(FollowResponse::default())]);
        let messages = match behaviour.as_str() {
            "once" => first.boxed(),
            "deadline" => tell(request.extensions().get::<Deadline>().is_some().to_string()),
            "peer" => tell(request.remote_addr().unwrap().to_string()),
            "gate" => {
                self.arrived.add_permits(1);
                self.gate.acquire().await.unwrap().forget();
                first.boxed()
            }
            "hang" => pending().await,
            "panic" => panic!("a secret of the handler"),
            "internal" => return Err(errors::internal("a secret of the handler")),
            "stream-hang" => first.chain(stream::pending()).boxed(),
            "stream-panic" => first.chain(stream::once(async { panic!("a secret of the stream") })).boxed(),
            "stream-endless" => stream::repeat_with(|| Ok(FollowResponse::default())).boxed(),
            other => panic!("no behaviour {other}"),
        };
        Ok(tonic::Response::new(messages))
    }
}

/// One message with `text` where a test can find it.
fn tell(text: String) -> BoxStream<'static, Result<FollowResponse, Status>> {
    stream::iter([Ok(FollowResponse { consistency_token: text, ..FollowResponse::default() })]).boxed()
}

impl NamedService for StandIn {
    const NAME: &'static str = "socialgraph.v1.SocialGraph";
}

impl tonic::server::ServerStreamingService<FollowRequest> for StandIn {
    type Response = FollowResponse;
    type ResponseStream = BoxStream<'static, Result<FollowResponse, Status>>;
    type Future = BoxFuture<'static, Answer>;

    fn call(&mut self, request: Request<FollowRequest>) -> Self::Future {
        self.clone().answer(request).boxed()
    }
}

impl Service<http::Request<Body>> for StandIn {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let handler = self.clone();
        Box::pin(async move {
            let codec = ProstCodec::<FollowResponse, FollowRequest>::default();
            Ok(tonic::server::Grpc::new(codec).server_streaming(handler, request).await)
        })
    }
}
