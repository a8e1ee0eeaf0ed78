//! Deadlines, shedding, panics and request ids, as a client sees them.

use std::time::{Duration, Instant};

use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use crate::{
    harness::{TestServer, behave, patiently},
    service::BEHAVIOUR,
};

fn assert_is_deadline(status: &Status) {
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
    assert_eq!(status.get_details_error_info().unwrap().reason, "DEADLINE");
}

#[tokio::test]
async fn a_passed_deadline_is_deadline_exceeded_for_one_answer_and_for_streams() {
    let server = TestServer::start(&[]).await;
    let client = server.client();
    let timed = |behaviour| [(BEHAVIOUR, behaviour), ("grpc-timeout", "150m")];
    let started = Instant::now();
    assert_is_deadline(&client.unary("Follow", &timed("hang")).await.unwrap_err());
    assert!(started.elapsed() >= Duration::from_millis(150));

    let (messages, end) = client.stream("Follow", &timed("stream-hang")).await;
    assert_eq!(messages, 1);
    assert_is_deadline(&end.unwrap_err());

    let (messages, end) = client.stream("Follow", &timed("stream-endless")).await;
    assert!(messages > 1);
    assert_is_deadline(&end.unwrap_err());
    assert!(started.elapsed() < Duration::from_secs(5), "the default of 10s would have ended it");
}

#[tokio::test]
async fn the_default_deadline_holds_for_all_but_long_calls() {
    let server = TestServer::start(&[("limits.default-deadline", "100ms")]).await;
    let client = server.client();
    assert_is_deadline(&client.unary("Unfollow", &behave("hang")).await.unwrap_err());
    let has_deadline = |answer: Result<tonic::Response<socialgraph::v1::FollowResponse>, Status>| {
        answer.unwrap().into_inner().consistency_token
    };
    assert_eq!(has_deadline(client.unary("Unfollow", &behave("deadline")).await), "true");
    assert_eq!(has_deadline(client.unary("ImportEdges", &behave("deadline")).await), "false");
}

#[tokio::test]
async fn a_malformed_timeout_is_refused_by_name() {
    let server = TestServer::start(&[]).await;
    let status = server.client().unary("Follow", &[("grpc-timeout", "soon")]).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(status.get_details_error_info().unwrap().reason, "INVALID_FIELD");
    assert_eq!(status.get_details_bad_request().unwrap().field_violations[0].field, "grpc-timeout");
}

#[tokio::test]
async fn a_call_too_many_is_shed_with_pushback_and_health_is_not() {
    let server = TestServer::start(&[("limits.max-in-flight-calls", "1")]).await;
    let client = server.client();
    let gated = behave("gate");
    let (first, ()) = tokio::join!(client.unary("IsFollowing", &gated), async {
        patiently(server.service.arrived.acquire()).await.unwrap().forget();
        let status = client.unary("IsFollowing", &[]).await.unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert_eq!(status.get_details_error_info().unwrap().reason, "OVERLOADED");
        assert_eq!(status.get_details_retry_info().unwrap().retry_delay, Some(Duration::from_millis(200)));
        assert_eq!(status.metadata().get("grpc-retry-pushback-ms").unwrap(), "200");
        assert!(crate::health::check(&server, "").await.is_ok());
        // The port for operators has a limit of its own: it is asked, and does not have the call.
        let status = server.admin_client().unary("IsFollowing", &[]).await.unwrap_err();
        assert_eq!(status.code(), Code::Unimplemented);
        server.service.gate.add_permits(1);
    });
    first.unwrap();
    client.unary("IsFollowing", &[]).await.unwrap();
    let (_, metrics) = server.get("/metrics").await;
    assert!(metrics.contains("rpc_shed_total{method=\"socialgraph.v1.SocialGraph/IsFollowing\"} 1"), "{metrics}");
    assert!(metrics.contains("method=\"socialgraph.v1.SocialGraph/IsFollowing\",code=\"RESOURCE_EXHAUSTED\"} 1"));
}

#[tokio::test]
async fn a_panic_is_internal_tells_nothing_and_leaves_the_connection_alone() {
    let server = TestServer::start(&[]).await;
    let client = server.client();
    let status = client.unary("CommonFollows", &behave("panic")).await.unwrap_err();
    assert_eq!(status.code(), Code::Internal);
    assert!(!format!("{status:?}").contains("secret"));

    // Messages that tonic had gathered for one write are lost with it.
    let (_, end) = client.stream("CommonFollows", &behave("stream-panic")).await;
    let status = end.unwrap_err();
    assert_eq!(status.code(), Code::Internal);
    assert!(!format!("{status:?}").contains("secret"));

    client.unary("CommonFollows", &[]).await.unwrap();
    let (_, metrics) = server.get("/metrics").await;
    assert!(metrics.contains("rpc_panics_total{method=\"socialgraph.v1.SocialGraph/CommonFollows\"} 2"), "{metrics}");
}

#[tokio::test]
async fn the_request_id_comes_back_with_answers_and_errors() {
    let server = TestServer::start(&[]).await;
    let client = server.client();
    let answer = client.unary("Follow", &[("x-request-id", "r-42")]).await.unwrap();
    assert_eq!(answer.metadata().get("x-request-id").unwrap(), "r-42");
    let generated = client.unary("Follow", &[]).await.unwrap();
    assert_eq!(generated.metadata().get("x-request-id").unwrap().as_bytes().len(), 32);
    for behaviour in ["panic", "internal"] {
        let status =
            client.unary("BatchGetCounts", &[(BEHAVIOUR, behaviour), ("x-request-id", "r-43")]).await.unwrap_err();
        assert_eq!(status.metadata().get("x-request-id").unwrap(), "r-43");
    }
}
