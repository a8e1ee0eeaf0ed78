//! Spans of calls arrive at a real OTLP receiver.

use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
    trace::v1::{Span, span::SpanKind, status::StatusCode},
};
use socialgraph_server::{
    config::{self, Log},
    telemetry::{subscriber, tracer_provider},
};
use tasks::Tasks;
use tokio::{net::TcpListener, sync::mpsc, task::spawn_blocking};
use tonic::{Request, Response, Status, transport::server::TcpIncoming};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::{
    harness::{TestServer, patiently},
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
    let _guard = subscriber(&log, Some(&provider), std::io::sink).set_default();

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
    let spans: Vec<Span> =
        batch.resource_spans.into_iter().flat_map(|spans| spans.scope_spans).flat_map(|spans| spans.spans).collect();
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
