//! A primary that is there and does not answer.

use std::time::{Duration, Instant};

use socialgraph::{
    admin::v1::{InspectUserRequest, admin_client::AdminClient},
    v1::IsFollowingRequest,
};
use tokio::time::timeout;
use tonic::{Code, Request, transport::Endpoint};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

use crate::support::{
    LIMIT,
    caller::{Caller, Client, code},
    http,
    instance::Instance,
    redis, turn, until,
};

const SHORT: Duration = Duration::from_millis(300);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hung_primary_takes_readiness_and_no_call_outlives_its_deadline() {
    let _turn = turn().await;
    let cluster = redis::cluster().await;
    let instance = Instance::start(&cluster).await;
    let caller = Caller::new(instance.addresses.grpc, Duration::from_secs(5));
    let hung = user_at(&instance, cluster.nodes()[0].address().to_string()).await;
    let other = user_at(&instance, cluster.nodes()[1].address().to_string()).await;
    assert_eq!((http::get(instance.addresses.admin, "/readyz").await.0, health(&instance).await), (200, 1));

    cluster.pause(0).await.expect("pause");
    let paused = Instant::now();
    let mut fate = [0, 0];
    until("not ready", async || {
        assert_fails_in_time(&caller.client, hung).await;
        fate[usize::from(is_following(&caller.client, other).await.is_err())] += 1;
        !instance.readiness.is_ready()
    })
    .await;
    println!("not ready after {:?}; calls to another primary until then: {fate:?} answered, failed", paused.elapsed());
    let (status, body) = http::get(instance.addresses.admin, "/readyz").await;
    assert_eq!((status, body.starts_with("store: ")), (503, true), "{body}");
    assert_eq!(http::get(instance.addresses.admin, "/livez").await.0, 200);
    until("health tells", async || health(&instance).await == ServingStatus::NotServing as i32).await;
    // Well beyond the time after which the client gives the connection up.
    let mut fate = [0, 0];
    while paused.elapsed() < Duration::from_secs(5) {
        assert_fails_in_time(&caller.client, hung).await;
        fate[usize::from(is_following(&caller.client, other).await.is_err())] += 1;
    }
    println!("then: {fate:?}");

    cluster.resume(0).await.expect("resume");
    let resumed = Instant::now();
    instance.ready().await;
    println!("ready again after {:?}", resumed.elapsed());
    until("health tells", async || health(&instance).await == ServingStatus::Serving as i32).await;
    for user in [hung, other] {
        let request = IsFollowingRequest { follower_id: user, followee_id: 1, consistency: None };
        caller.call(request, |mut c, r| async move { c.is_following(r).await }).await;
    }
    println!("{}", caller.counts);
    instance.stop().await;
    cluster.stop().await;
}

/// A user whose partition is at a primary.
async fn user_at(instance: &Instance, node: String) -> i64 {
    let channel = Endpoint::from_shared(format!("http://{}", instance.addresses.admin_grpc)).expect("an address");
    let mut admin = AdminClient::new(channel.connect_lazy());
    for user_id in 2.. {
        let answer = admin.inspect_user(InspectUserRequest { user_id }).await.expect("inspect").into_inner();
        if answer.node == node {
            return user_id;
        }
    }
    unreachable!("users don't end")
}

async fn assert_fails_in_time(client: &Client, user: i64) {
    let status = is_following(client, user).await.expect_err("a hung primary does not answer");
    assert!(matches!(code(&status), Code::DeadlineExceeded | Code::Unavailable), "{status:?}");
}

/// Asks with a short deadline, about which the server must care by itself: this side has a much longer one.
async fn is_following(client: &Client, user: i64) -> Result<(), tonic::Status> {
    let mut request = Request::new(IsFollowingRequest { follower_id: user, followee_id: 1, consistency: None });
    let short = format!("{}m", SHORT.as_millis()).parse().expect("ASCII");
    request.metadata_mut().insert("grpc-timeout", short);
    let answer = timeout(LIMIT, client.clone().is_following(request)).await;
    answer.expect("answered in time").map(drop)
}

async fn health(instance: &Instance) -> i32 {
    let channel = Endpoint::from_shared(format!("http://{}", instance.addresses.grpc)).expect("an address");
    let mut client = HealthClient::new(channel.connect_lazy());
    let request = HealthCheckRequest { service: "socialgraph.v1.SocialGraph".to_owned() };
    let answer = timeout(LIMIT, client.check(request)).await.expect("answered in time");
    answer.expect("health answers").into_inner().status
}
