//! The end of a server with calls in progress.

use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::net::TcpStream;
use tonic_health::pb::health_check_response::ServingStatus;

use crate::{
    harness::{TestServer, behave, patiently},
    health,
};

const CALLS: u32 = 50;

#[tokio::test]
async fn calls_in_progress_end_well_while_the_server_drains() {
    let server = TestServer::start(&[("server.drain-delay", "300ms")]).await;
    server.readiness.watch_store(async || Ok(()));
    let mut watch = health::watch(&server, "socialgraph.v1.SocialGraph").await;
    while health::next(&mut watch).await != Some(ServingStatus::Serving) {}

    let client = server.client();
    let (service, shutdown, address) = (server.service.clone(), server.shutdown.clone(), server.addresses.grpc);
    let admin_address = server.addresses.admin_grpc;
    let gated = behave("gate");
    let calls = join_all((0..CALLS).map(|_| client.unary("Follow", &gated)));
    let driver = async {
        patiently(service.arrived.acquire_many(CALLS)).await.unwrap().forget();
        shutdown.cancel();
        // Load balancers see it first; calls that come meanwhile are served.
        assert_eq!(health::next(&mut watch).await, Some(ServingStatus::NotServing));
        assert_eq!(server.get("/readyz").await, (503, "draining\n".to_owned()));
        let admin = health::check_admin(&server, "socialgraph.admin.v1.Admin").await;
        assert_eq!(admin.unwrap(), ServingStatus::NotServing);
        client.unary("Follow", &[]).await.unwrap();
        // Ends when the delay is over; it would keep its connection open for ever.
        while health::next(&mut watch).await.is_some() {}
        for address in [address, admin_address] {
            while TcpStream::connect(address).await.is_ok() {
                tokio::task::yield_now().await;
            }
        }
        service.gate.add_permits(CALLS as usize);
    };
    let (answers, ()) = tokio::join!(calls, driver);
    for answer in answers {
        answer.unwrap();
    }
    let started = Instant::now();
    server.stop().await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(5), "ended by the drain limit of 20s");
}

#[tokio::test]
async fn a_call_that_does_not_end_is_cut_off_at_the_limit() {
    let server = TestServer::start(&[("server.drain-limit", "200ms")]).await;
    let client = server.client();
    let service = server.service.clone();
    let gated = behave("gate");
    let call = client.unary("Follow", &gated);
    let stop = async {
        patiently(service.arrived.acquire()).await.unwrap().forget();
        let started = Instant::now();
        server.stop().await.unwrap();
        assert!((200..5000).contains(&started.elapsed().as_millis()));
    };
    tokio::select! {
        _ = call => panic!("nobody opened the gate"),
        () = stop => {}
    }
}

#[tokio::test]
async fn a_connection_is_replaced_at_its_age_and_its_calls_go_on() {
    let server = TestServer::start(&[("server.max-connection-age", "1s")]).await;
    let client = server.client();
    let gated = behave("gate");
    let peer = async || client.unary("Follow", &behave("peer")).await.unwrap().into_inner().consistency_token;
    let driver = async {
        patiently(server.service.arrived.acquire()).await.unwrap().forget();
        let first = peer().await;
        patiently(async { while peer().await == first {} }).await;
        server.service.gate.add_permits(1);
    };
    let (answer, ()) = tokio::join!(client.unary("Follow", &gated), driver);
    answer.unwrap();
}
