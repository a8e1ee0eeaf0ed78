//! Spans of calls arrive at a real OTLP receiver.

use std::sync::Arc;

use localcluster::{LocalCluster, Options, Topology};
use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
    trace::v1::{Span, span::SpanKind, status::StatusCode},
};
use socialgraph::v1::{FollowRequest, social_graph_client::SocialGraphClient};
use socialgraph_server::{
    app,
    config::{self, Flags, Log, Mode},
    serve::Addresses,
    telemetry::{metrics, subscriber, tracer_provider},
};
use tasks::Tasks;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
    task::spawn_blocking,
};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, transport::server::TcpIncoming};

use crate::{
    harness::{TestServer, on_this_thread, patiently},
    service::BEHAVIOUR,
};

struct Receiver(mpsc::UnboundedSender<ExportTraceServiceRequest>);

#[tonic::async_trait]
impl TraceService for Receiver {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0.send(request.into_inner()).unwrap();
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

/// The endpoint of a receiver, and what it receives.
async fn receiver() -> (String, mpsc::UnboundedReceiver<ExportTraceServiceRequest>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (sender, received) = mpsc::unbounded_channel();
    let serving = tonic::transport::Server::builder()
        .add_service(TraceServiceServer::new(Receiver(sender)))
        .serve_with_incoming(TcpIncoming::from(listener));
    Tasks::new().spawn_once("receiver", async move { serving.await.unwrap() });
    (endpoint, received)
}

fn spans_of(batch: ExportTraceServiceRequest) -> Vec<Span> {
    batch.resource_spans.into_iter().flat_map(|spans| spans.scope_spans).flat_map(|spans| spans.spans).collect()
}

fn attribute(span: &Span, key: &str) -> String {
    let value = span.attributes.iter().find(|attribute| attribute.key == key).and_then(|found| found.value.as_ref());
    format!("{:?}", value.and_then(|value| value.value.as_ref()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

#[tokio::test]
async fn a_call_is_a_span_under_its_callers() {
    let (endpoint, mut received) = receiver().await;
    let telemetry = config::Telemetry { otlp_endpoint: None, sample_ratio: 0.0, service_name: "graph-a".to_owned() };
    let provider = tracer_provider(&endpoint, &telemetry).unwrap();
    let log = Log { filter: "off".to_owned(), ..Log::default() };
    // For this thread, which runs all of this test but the exporter's own.
    let _guards = on_this_thread(subscriber(&log, Some(&provider), std::io::sink));

    let server = TestServer::start(&[]).await;
    let client = server.client();
    let traceparent = format!("00-{TRACE}-{PARENT}-01");
    for (behaviour, good) in [("once", true), ("internal", false), ("stream-panic", false)] {
        let headers = [(BEHAVIOUR, behaviour), ("traceparent", &traceparent), ("x-request-id", behaviour)];
        assert_eq!(client.stream("BatchIsFollowing", &headers).await.1.is_ok(), good);
    }
    client.unary("BatchIsFollowing", &[]).await.unwrap();
    server.stop().await.unwrap();
    spawn_blocking(move || provider.shutdown()).await.unwrap().unwrap();

    let batch = patiently(received.recv()).await.unwrap();
    let resource = format!("{:?}", batch.resource_spans[0].resource);
    assert!(resource.contains("graph-a"), "{resource}");
    let spans = spans_of(batch);
    assert_eq!(spans.len(), 3, "a caller's decision counts, and without one the ratio of 0 does: {spans:?}");
    for (span, (request_id, code)) in
        spans.iter().zip([("once", "OK"), ("internal", "INTERNAL"), ("stream-panic", "INTERNAL")])
    {
        assert_eq!((hex(&span.trace_id), hex(&span.parent_span_id)), (TRACE.to_owned(), PARENT.to_owned()));
        assert_eq!(span.name, "socialgraph.v1.SocialGraph/BatchIsFollowing");
        assert_eq!(span.kind(), SpanKind::Server);
        assert!(attribute(span, "request_id").contains(request_id));
        assert!(attribute(span, "rpc.response.status_code").contains(code), "{span:?}");
        let is_error = span.status.as_ref().is_some_and(|status| status.code() == StatusCode::Error);
        assert_eq!(is_error, code != "OK");
    }
}

#[tokio::test]
async fn what_a_call_asks_of_redis_is_spans_under_the_calls() {
    let (endpoint, mut received) = receiver().await;
    let telemetry = config::Telemetry { otlp_endpoint: None, sample_ratio: 0.0, service_name: "graph-b".to_owned() };
    let provider = tracer_provider(&endpoint, &telemetry).unwrap();
    let log = Log { filter: "off".to_owned(), ..Log::default() };
    let _guards = on_this_thread(subscriber(&log, Some(&provider), std::io::sink));

    let redis = LocalCluster::start(Options::temporary(Topology::Single).unwrap()).await.unwrap();
    let address = redis.addresses()[0].to_string();
    let (addresses, shutdown, ended) = serve_over(&address).await;
    let mut client = SocialGraphClient::connect(format!("http://{}", addresses.grpc)).await.unwrap();
    let mut request = Request::new(FollowRequest { follower_id: 1, followee_id: 2, source: String::new() });
    request.metadata_mut().insert("traceparent", format!("00-{TRACE}-{PARENT}-01").parse().unwrap());
    patiently(client.follow(request)).await.unwrap();
    shutdown.cancel();
    patiently(ended).await.unwrap();
    redis.stop().await;
    spawn_blocking(move || provider.shutdown()).await.unwrap().unwrap();

    let spans = spans_of(patiently(received.recv()).await.unwrap());
    let call = spans.iter().find(|span| span.kind() == SpanKind::Server).unwrap();
    let commands: Vec<_> = spans.iter().filter(|span| span.parent_span_id == call.span_id).collect();
    assert!(commands.iter().all(|span| hex(&span.trace_id) == TRACE && span.kind() == SpanKind::Client));
    assert!(commands.iter().all(|span| attribute(span, "server.address").contains(&address)));
    let mut names: Vec<_> = commands.iter().map(|span| span.name.as_str()).collect();
    names.dedup();
    assert_eq!(names, ["follow", "apply"], "both halves of the write");
}

/// A server over a Redis at an address, on this thread.
async fn serve_over(redis: &str) -> (Addresses, CancellationToken, oneshot::Receiver<()>) {
    let values = [
        ("listen", "127.0.0.1:0"),
        ("admin-listen", "127.0.0.1:0"),
        ("admin-grpc-listen", "127.0.0.1:0"),
        ("redis.mode", "single"),
        ("server.drain-delay", "0s"),
        ("redis.urls", redis),
    ];
    let values = values.map(|(key, text)| (key, text.to_owned())).to_vec();
    let config = config::load(Mode::Serve, &Flags { file: None, values }, []).unwrap();
    let (tasks, shutdown) = (Tasks::new(), CancellationToken::new());
    let (server, _readiness) = app::open(Arc::new(config), &tasks, metrics::install(), &shutdown).await.unwrap();
    let addresses = server.addresses();
    let (end, ended) = oneshot::channel();
    let running = server.run(shutdown.clone());
    Tasks::new().spawn_once("server", async move {
        running.await.unwrap();
        let _ = end.send(());
    });
    (addresses, shutdown, ended)
}
