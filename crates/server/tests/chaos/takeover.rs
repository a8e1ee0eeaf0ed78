//! Two servers on one keyspace, of which one dies with work undone.

use std::{collections::BTreeSet, net::SocketAddr, time::Duration};

use futures::future::join_all;
use keyspace::List;
use localcluster::LocalCluster;
use socialgraph::{
    admin::v1::{InspectUserRequest, admin_client::AdminClient},
    v1::{BlockRequest, FollowRequest},
};

use crate::support::{LIMIT, caller::Caller, graph, http, process::Process, redis, turn, until};

/// Enough that each server holds the lease of some of their partitions.
const FOLLOWERS: usize = 24;
const SETTINGS: [&str; 4] = ["--relay-lease", "3s", "--server-drain-delay", "0s"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_other_server_finishes_what_a_killed_one_left() {
    let _turn = turn().await;
    let Pair { cluster, dying, heir, here: followers, there } = Pair::start(FOLLOWERS).await;
    let followee = there[0];
    let caller = Caller::new(dying.grpc, Duration::from_secs(20));
    cluster.pause(1).await.expect("pause");
    let follows = join_all(followers.iter().map(|follower| follow(&caller, *follower, followee))).await;
    assert!(follows.iter().all(|pending| *pending), "{follows:?}");
    die(dying, &cluster).await;

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

/// FIELD G13: the server is killed between the halves of blocks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn field_g13_the_other_server_ends_the_follows_of_whom_a_killed_one_blocked() {
    let _turn = turn().await;
    let Pair { cluster, dying, heir, here: blockers, there } = Pair::start(FOLLOWERS).await;
    let blocked = there[0];
    let caller = Caller::new(dying.grpc, Duration::from_secs(20));
    for &blocker in &blockers {
        assert!(!follow(&caller, blocker, blocked).await && !follow(&caller, blocked, blocker).await);
    }
    cluster.pause(1).await.expect("pause");
    let blocks = join_all(blockers.iter().map(|blocker| block(&caller, *blocker, blocked))).await;
    assert!(blocks.iter().all(|pending| *pending), "{blocks:?}");
    die(dying, &cluster).await;

    let caller = Caller::new(heir.grpc, Duration::from_secs(5));
    redis::quiescent(&cluster.addresses()).await;
    let replayed = http::metric(heir.admin, "socialgraph_relay_replayed_total", "block").await;
    println!("{replayed} blocks finished by the heir");
    assert!(replayed >= FOLLOWERS as f64, "{replayed}");
    let users: Vec<_> = blockers.into_iter().chain([blocked]).collect();
    assert!(graph::consistent(&caller, &users).await.is_empty());
    heir.stop().await;
    cluster.stop().await;
}

/// Two servers that share the leases, on one cluster.
struct Pair {
    cluster: LocalCluster,
    dying: Process,
    heir: Process,
    /// Users of the first primary.
    here: Vec<i64>,
    /// A user of the second one.
    there: Vec<i64>,
}

impl Pair {
    async fn start(users: usize) -> Self {
        let cluster = redis::cluster().await;
        let [dying, heir] = [serve(&cluster).await, serve(&cluster).await];
        let node = |index: usize| cluster.nodes()[index].address().to_string();
        let here = users_at(dying.admin_grpc, &node(0), users).await;
        let there = users_at(dying.admin_grpc, &node(1), 1).await;
        until("both hold leases", async || {
            let held = async |at| http::metric(at, "socialgraph_relay_partitions", "").await;
            let held = [held(dying.admin).await, held(heir.admin).await];
            held[0] + held[1] == 1024.0 && held[0] > 0.0 && held[1] > 0.0
        })
        .await;
        Self { cluster, dying, heir, here, there }
    }
}

/// Kills a server, and the paused primary. What the server sent to that one waits there, and would be done when it goes on; so it must not
/// go on.
async fn die(server: Process, cluster: &LocalCluster) {
    server.kill().await;
    cluster.kill(1).await.expect("kill");
    cluster.restart(1).await.expect("restart");
    cluster.settle(LIMIT).await.expect("healthy again");
}

/// Blocks, and tells whether the second half is pending.
async fn block(caller: &Caller, user_id: i64, blocked_id: i64) -> bool {
    let request = BlockRequest { user_id, blocked_id };
    let answer = caller.call(request, |mut c, r| async move { c.block(r).await }).await.message;
    assert!(answer.created);
    answer.followers_pending
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
