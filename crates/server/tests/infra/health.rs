//! Health and readiness, over gRPC and over HTTP.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::{Duration, Instant},
};

use tonic::{Code, Status, Streaming, transport::Channel};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus, health_client::HealthClient,
};

use crate::harness::{TestServer, patiently, uri};

pub(crate) async fn health_client(server: &TestServer) -> HealthClient<Channel> {
    let endpoint = Channel::builder(uri(server.addresses.grpc));
    HealthClient::new(patiently(endpoint.connect()).await.unwrap())
}

/// What the port for operators tells of a service.
pub(crate) async fn check_admin(server: &TestServer, service: &str) -> Result<ServingStatus, Status> {
    let endpoint = Channel::builder(uri(server.addresses.admin_grpc));
    let request = HealthCheckRequest { service: service.to_owned() };
    let response =
        patiently(async { HealthClient::new(endpoint.connect().await.unwrap()).check(request).await }).await?;
    Ok(response.into_inner().status())
}

pub(crate) async fn check(server: &TestServer, service: &str) -> Result<ServingStatus, Status> {
    let request = HealthCheckRequest { service: service.to_owned() };
    let response = patiently(async { health_client(server).await.check(request).await }).await?;
    Ok(response.into_inner().status())
}

pub(crate) async fn watch(server: &TestServer, service: &str) -> Streaming<HealthCheckResponse> {
    let request = HealthCheckRequest { service: service.to_owned() };
    patiently(async { health_client(server).await.watch(request).await }).await.unwrap().into_inner()
}

pub(crate) async fn next(watch: &mut Streaming<HealthCheckResponse>) -> Option<ServingStatus> {
    patiently(watch.message()).await.unwrap().map(|message| message.status())
}

const GRAPH: &str = "socialgraph.v1.SocialGraph";
const ADMIN: &str = "socialgraph.admin.v1.Admin";

/// A store that is as the number says.
const GOOD: u8 = 0;
const BAD: u8 = 1;
const HANGING: u8 = 2;

fn watch_store(server: &TestServer) -> Arc<AtomicU8> {
    let state = Arc::new(AtomicU8::new(GOOD));
    let probed = state.clone();
    server.readiness.watch_store(move || {
        let state = probed.load(Ordering::Relaxed);
        async move {
            match state {
                GOOD => Ok(()),
                BAD => Err("slot 7 is not served".to_owned()),
                _ => pending().await,
            }
        }
    });
    state
}

#[tokio::test]
async fn health_and_readiness_follow_the_store() {
    let server = TestServer::start(&[]).await;
    for service in ["", GRAPH] {
        assert_eq!(check(&server, service).await.unwrap(), ServingStatus::NotServing, "{service}");
    }
    for service in ["", ADMIN] {
        assert_eq!(check_admin(&server, service).await.unwrap(), ServingStatus::NotServing, "{service}");
    }
    // Each port knows its own service.
    assert_eq!(check(&server, ADMIN).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(check_admin(&server, GRAPH).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(server.get("/readyz").await, (503, "store: not asked yet\n".to_owned()));
    let mut watch = watch(&server, "socialgraph.v1.SocialGraph").await;
    assert_eq!(next(&mut watch).await, Some(ServingStatus::NotServing));

    let store = watch_store(&server);
    assert_eq!(next(&mut watch).await, Some(ServingStatus::Serving));
    assert_eq!(server.get("/readyz").await, (200, "ok\n".to_owned()));
    patiently(async { while check_admin(&server, ADMIN).await.unwrap() != ServingStatus::Serving {} }).await;

    store.store(BAD, Ordering::Relaxed);
    assert_eq!(next(&mut watch).await, Some(ServingStatus::NotServing));
    assert_eq!(server.get("/readyz").await, (503, "store: slot 7 is not served\n".to_owned()));

    store.store(GOOD, Ordering::Relaxed);
    assert_eq!(next(&mut watch).await, Some(ServingStatus::Serving));

    store.store(HANGING, Ordering::Relaxed);
    assert_eq!(next(&mut watch).await, Some(ServingStatus::NotServing));
    let started = Instant::now();
    assert_eq!(server.get("/readyz").await, (503, "store: does not answer\n".to_owned()));
    assert_eq!(check(&server, "").await.unwrap(), ServingStatus::NotServing);
    assert_eq!(server.get("/livez").await, (200, "ok\n".to_owned()));
    assert!(started.elapsed() < Duration::from_secs(1));
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_dead_task_takes_readiness_away() {
    let server = TestServer::start(&[]).await;
    watch_store(&server);
    let mut watch = watch(&server, "").await;
    while next(&mut watch).await != Some(ServingStatus::Serving) {}
    server.tasks.spawn("relay", async {});
    assert_eq!(next(&mut watch).await, Some(ServingStatus::NotServing));
    assert_eq!(server.get("/readyz").await, (503, "background task relay died\n".to_owned()));
    assert_eq!(server.get("/livez").await.0, 200);
}
