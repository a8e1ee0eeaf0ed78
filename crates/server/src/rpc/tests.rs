use std::future::{pending, ready};

use metrics_exporter_prometheus::PrometheusBuilder;
use model::Deadline;
use tokio::runtime;
use tower::{ServiceExt as _, service_fn};

use super::*;

fn layer(max_in_flight_calls: u32) -> RpcLayer {
    let default_deadline = Duration::from_secs(10);
    RpcLayer::new(&Limits { max_in_flight_calls, default_deadline, ..Limits::default() })
}

fn follow() -> http::request::Builder {
    Request::post("/socialgraph.v1.SocialGraph/Follow").header("x-request-id", "r-1")
}

/// What `calls` recorded, in Prometheus' text format.
fn recorded<F: Future<Output = ()>>(calls: impl FnOnce() -> F) -> String {
    let recorder = PrometheusBuilder::new().build_recorder();
    let runtime = runtime::Builder::new_current_thread().enable_time().build().unwrap();
    metrics::with_local_recorder(&recorder, || runtime.block_on(calls()));
    recorder.handle().render()
}

fn status_of(response: &Response<CallBody>) -> &Status {
    response.extensions().get().unwrap()
}

#[test]
fn each_check_that_refuses_is_counted_and_answers_with_the_request_id() {
    let names: Vec<_> = admission::ADMISSION.iter().map(|check| check.name).collect();
    assert_eq!(names, ["limit", "deadline"], "a new check needs a case here");

    for (permits, timeout, code) in [(0, "1S", "RESOURCE_EXHAUSTED"), (1, "soon", "INVALID_ARGUMENT")] {
        let metrics = recorded(|| async move {
            let service = layer(permits).layer(service_fn(|_| async { unreachable!("refused before") }));
            let request = follow().header("grpc-timeout", timeout).body(Body::empty()).unwrap();
            let response = service.oneshot(request).await.unwrap();
            assert_eq!(response.headers()["x-request-id"], "r-1");
        });
        let series =
            format!("rpc_duration_seconds_count{{method=\"socialgraph.v1.SocialGraph/Follow\",code=\"{code}\"}} 1");
        assert!(metrics.contains(&series), "{metrics}");
        assert!(metrics.contains("socialgraph_rpc_in_flight 0"), "{metrics}");
    }
}

#[test]
fn health_and_reflection_are_never_shed_and_have_no_default_deadline() {
    let metrics = recorded(|| async {
        let service = layer(0).layer(service_fn(|request: Request<Body>| {
            assert_eq!(request.extensions().get::<Deadline>(), None);
            ready(Ok(Status::not_found("no such").into_http()))
        }));
        let request = Request::post("/grpc.health.v1.Health/Check").body(Body::empty()).unwrap();
        let response = service.oneshot(request).await.unwrap();
        assert_eq!(status_of(&response).code(), tonic::Code::NotFound);
    });
    assert!(metrics.contains("method=\"grpc.health.v1.Health/Check\",code=\"NOT_FOUND\"} 1"), "{metrics}");
}

#[test]
fn a_handler_sees_its_deadline_and_the_request_id() {
    recorded(|| async {
        let service = layer(1).layer(service_fn(|request: Request<Body>| {
            let at = request.extensions().get::<Deadline>().unwrap().instant();
            assert!(at > std::time::Instant::now());
            assert_eq!(request.headers()["x-request-id"].len(), 32);
            ready(Ok(Status::not_found("no such").into_http()))
        }));
        let request = Request::post("/socialgraph.v1.SocialGraph/Follow").body(Body::empty()).unwrap();
        service.oneshot(request).await.unwrap();
    });
}

#[test]
fn a_call_dropped_before_its_end_counts_as_cancelled_and_gives_its_place_back() {
    let metrics = recorded(|| async {
        let layer = layer(1);
        let mut first = Box::pin(layer.layer(service_fn(|_| pending())).oneshot(follow().body(Body::empty()).unwrap()));
        assert!(futures::poll!(&mut first).is_pending());
        let refused = layer.layer(service_fn(|_| pending())).oneshot(follow().body(Body::empty()).unwrap()).await;
        assert_eq!(status_of(&refused.unwrap()).code(), tonic::Code::ResourceExhausted);
        drop(first);
        let mut third = Box::pin(layer.layer(service_fn(|_| pending())).oneshot(follow().body(Body::empty()).unwrap()));
        assert!(futures::poll!(&mut third).is_pending());
    });
    assert!(metrics.contains("code=\"CANCELLED\"} 2"), "{metrics}");
    assert!(metrics.contains("rpc_shed_total{method=\"socialgraph.v1.SocialGraph/Follow\"} 1"), "{metrics}");
}

#[test]
fn unknown_paths_share_one_series() {
    let metrics = recorded(|| async {
        for path in ["/a.B/C", "/d.E/F", "/"] {
            let service = layer(1).layer(service_fn(|_| ready(Ok(Status::unimplemented("").into_http()))));
            service.oneshot(Request::post(path).body(Body::empty()).unwrap()).await.unwrap();
        }
    });
    assert!(metrics.contains("{method=\"_OTHER\",code=\"UNIMPLEMENTED\"} 3"), "{metrics}");
}

#[test]
fn a_panic_before_the_first_poll_is_internal_too() {
    let metrics = recorded(|| async {
        let service = layer(1)
            .layer(service_fn(|_| -> std::future::Ready<Result<Response<Body>, Infallible>> { panic!("boom") }));
        let response = service.oneshot(follow().body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(status_of(&response).code(), tonic::Code::Internal);
        assert!(!status_of(&response).message().contains("boom"));
    });
    assert!(metrics.contains("rpc_panics_total{method=\"socialgraph.v1.SocialGraph/Follow\"} 1"), "{metrics}");
}
