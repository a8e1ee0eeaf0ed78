//! FIELD R1 and R2: slots move while they are written and read.

use std::{sync::atomic::Ordering, time::Duration};

use crate::{
    model::{self, Size},
    support::{LIMIT, caller::Caller, graph, instance::Instance, redis, seed, turn, until},
};

/// So many users that most of the moving slots hold some.
const SIZE: Size = Size { workers: 12, followers: 60, followees: 400 };
const SLOTS: u16 = 600;
/// Calls before the move, so that there is something to be moved.
const CALLS_BEFORE: u64 = 6_000;
const DEADLINE: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn field_r1_r2_a_live_reshard_gives_no_wrong_answer() {
    let _turn = turn().await;
    let seed = seed();
    let cluster = redis::cluster().await;
    let instance = Instance::start(&cluster).await;
    let caller = Caller::new(instance.addresses.grpc, DEADLINE);
    let moving = async {
        let counts = &caller.counts;
        until("data to move", async || counts.calls.load(Ordering::Relaxed) >= CALLS_BEFORE).await;
        let before = counts.calls.load(Ordering::Relaxed);
        cluster.reshard(0, 1, SLOTS).await.expect("reshard");
        cluster.reshard(2, 0, SLOTS / 2).await.expect("reshard");
        println!("{} calls while {} slots moved", counts.calls.load(Ordering::Relaxed) - before, SLOTS + SLOTS / 2);
    };
    let before = instance.metric("socialgraph_redis_retries_total", "moving");
    let outcome = model::run(SIZE, seed, &caller, moving).await;
    let repeated = instance.metric("socialgraph_redis_retries_total", "moving") - before;
    println!("{}; commands repeated because of moving slots: {repeated}", caller.counts);
    assert_eq!(outcome.denials, 0, "a moving slot makes no answer uncertain");

    cluster.settle(LIMIT).await.expect("agreed");
    instance.ready().await;
    instance.quiescent().await;
    assert_eq!(graph::consistent(&caller, &outcome.users).await, outcome.edges);
    instance.stop().await;
    cluster.stop().await;
}
