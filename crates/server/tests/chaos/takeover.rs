//! Two servers on one keyspace, of which one dies with work undone.

use std::{collections::BTreeSet, net::SocketAddr, time::Duration};

use futures::future::join_all;
use keyspace::List;
use localcluster::LocalCluster;
use socialgraph::{
    admin::v1::{InspectUserRequest, admin_client::AdminClient},
    v1::FollowRequest,
};

use crate::support::{LIMIT, caller::Caller, graph, http, process::Process, redis, turn, until};

/// Enough that each server holds the lease of some of their partitions.
const FOLLOWERS: usize = 24;
const SETTINGS: [&str; 4] = ["--relay-lease", "3s", "--server-drain-delay", "0s"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_other_server_finishes_what_a_killed_one_left() {
    let _turn = turn().await;
    let cluster = redis::cluster().await;
    let [dying, heir] = [Process::serve(&cluster.addresses(), &SETTINGS).await, serve(&cluster).await];
    let node = |index: usize| cluster.nodes()[index].address().to_string();
    let followers = users_at(dying.admin_grpc, &node(0), FOLLOWERS).await;
    let followee = users_at(dying.admin_grpc, &node(1), 1).await[0];
    until("both hold leases", async || {
        let held = async |at| http::metric(at, "socialgraph_relay_partitions", "").await;
        let held = [held(dying.admin).await, held(heir.admin).await];
        held[0] + held[1] == 1024.0 && held[0] > 0.0 && held[1] > 0.0
    })
    .await;

    let caller = Caller::new(dying.grpc, Duration::from_secs(20));
    cluster.pause(1).await.expect("pause");
    let follows = join_all(followers.iter().map(|follower| follow(&caller, *follower, followee))).await;
    assert!(follows.iter().all(|pending| *pending), "{follows:?}");
    dying.kill().await;
    // What the dead server sent to the paused one waits there, and would be done when it goes on; so it must not go on.
    cluster.kill(1).await.expect("kill");
    cluster.restart(1).await.expect("restart");
    cluster.settle(LIMIT).await.expect("healthy again");

    let caller = Caller::new(heir.grpc, Duration::from_secs(5));
    let expected: BTreeSet<_> = followers.iter().copied().collect();
    until("the heir has finished", async || {
        let listed = graph::list(&caller, List::Followers, followee, 500).await;
        listed.into_iter().map(|(follower, _)| follower).collect::<BTreeSet<_>>() == expected
    })
    .await;
    redis::quiescent(&cluster.addresses()).await;
    let replayed = http::metric(heir.admin, "socialgraph_relay_replayed_total", "follow").await;
    println!("{replayed} halves finished by the heir");
    assert!(replayed >= FOLLOWERS as f64, "{replayed}");
    let users: Vec<_> = followers.into_iter().chain([followee]).collect();
    assert_eq!(graph::consistent(&caller, &users).await.len(), FOLLOWERS);
    heir.stop().await;
    cluster.stop().await;
}

async fn serve(cluster: &LocalCluster) -> Process {
    Process::serve(&cluster.addresses(), &SETTINGS).await
}

/// Follows, and tells whether the second half is pending.
async fn follow(caller: &Caller, follower_id: i64, followee_id: i64) -> bool {
    let request = FollowRequest { follower_id, followee_id, ..Default::default() };
    caller.call(request, |mut c, r| async move { c.follow(r).await }).await.message.followers_pending
}

/// Users whose partitions are at a primary, by the admin service at an address.
pub(crate) async fn users_at(server: SocketAddr, node: &str, count: usize) -> Vec<i64> {
    let mut admin = AdminClient::connect(format!("http://{server}")).await.expect("connect");
    let mut users = Vec::new();
    for user_id in 1.. {
        if users.len() == count {
            break;
        }
        let answer = admin.inspect_user(InspectUserRequest { user_id }).await.expect("inspect").into_inner();
        if answer.node == node {
            users.push(user_id);
        }
    }
    users
}
