//! The model test: nothing is lost and nothing is wrong, whatever happens to Redis meanwhile.

use std::{sync::atomic::Ordering, time::Duration};

use localcluster::LocalCluster;
use rand::{Rng, SeedableRng, rngs::StdRng, seq::SliceRandom};
use tokio::time::sleep;

use crate::{
    model::{self, Size},
    support::{
        LIMIT,
        caller::{Caller, Counts},
        graph,
        instance::Instance,
        redis::{self, PRIMARIES},
        seed, turn, until,
    },
};

const SIZE: Size = Size { workers: 8, followers: 8, followees: 40 };
/// How often each fault comes.
const ROUNDS: usize = 4;
/// Calls between two faults.
const CALLS_BETWEEN: u64 = 300;
/// Of each attempt: less than what the longer faults take, so that calls fail and are repeated.
const DEADLINE: Duration = Duration::from_millis(800);
/// Failed attempts before a killed primary is started again.
const FAILURES: u64 = 6;

#[derive(Clone, Copy, Debug)]
enum Fault {
    /// SIGKILL of a primary, and a new start on its data.
    Kill,
    /// SCRIPT FLUSH everywhere.
    FlushScripts,
    /// CLIENT KILL of all connections to one primary.
    CutConnections,
    /// A live move of slots, and back.
    Reshard,
    /// SIGSTOP of a primary for a while.
    Pause,
}

const FAULTS: [Fault; 5] = [Fault::Kill, Fault::FlushScripts, Fault::CutConnections, Fault::Reshard, Fault::Pause];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_calls_under_faults_agree_with_the_model() {
    let _turn = turn().await;
    let seed = seed();
    let cluster = redis::cluster().await;
    let instance = Instance::start(&cluster).await;
    let caller = Caller::new(instance.addresses.grpc, DEADLINE);
    let repeated = |instance: &Instance| {
        ["connection", "timeout"].iter().map(|kind| instance.metric("socialgraph_redis_retries_total", kind)).sum()
    };
    let before: f64 = repeated(&instance);

    let outcome = model::run(SIZE, seed, &caller, disturb(&cluster, seed, &caller.counts)).await;
    println!("{}; {} edges in the end", caller.counts, outcome.edges.len());
    let repeated: f64 = repeated(&instance) - before;
    println!("commands repeated after a lost answer: {repeated}; changes denied for it: {}", outcome.denials);
    assert!(outcome.denials as f64 <= repeated, "changes denied for no cause: {}", outcome.denials);

    instance.ready().await;
    instance.quiescent().await;
    let edges = graph::consistent(&caller, &outcome.users).await;
    let (wrong, lost) = graph::difference(&edges, &outcome.edges);
    assert!(wrong.is_empty() && lost.is_empty(), "wrong: {wrong:?}; lost: {lost:?}");
    instance.stop().await;
    cluster.stop().await;
}

async fn disturb(cluster: &LocalCluster, seed: u64, counts: &Counts) {
    let mut random = StdRng::seed_from_u64(seed);
    for round in 0..ROUNDS {
        let mut faults = FAULTS;
        faults.shuffle(&mut random);
        for fault in faults {
            calls(counts, CALLS_BETWEEN).await;
            let node = random.random_range(0..PRIMARIES);
            println!("round {round}: {fault:?} at {node}");
            inject(cluster, counts, fault, node, &mut random).await;
        }
    }
    calls(counts, CALLS_BETWEEN).await;
}

/// Waits until so many more calls were begun.
async fn calls(counts: &Counts, more: u64) {
    let target = counts.calls.load(Ordering::Relaxed) + more;
    until("more calls", async || counts.calls.load(Ordering::Relaxed) >= target).await;
}

async fn inject(cluster: &LocalCluster, counts: &Counts, fault: Fault, node: usize, random: &mut StdRng) {
    match fault {
        Fault::Kill => {
            let failures = counts.failures() + FAILURES;
            cluster.kill(node).await.expect("kill");
            until("calls fail", async || counts.failures() >= failures).await;
            cluster.restart(node).await.expect("restart");
            cluster.settle(LIMIT).await.expect("healthy again");
        }
        Fault::FlushScripts => {
            for node in 0..PRIMARIES {
                cluster.cli(node, &["SCRIPT", "FLUSH"]).await.expect("flush");
            }
        }
        Fault::CutConnections => {
            cluster.cli(node, &["CLIENT", "KILL", "TYPE", "normal"]).await.expect("cut");
        }
        Fault::Reshard => {
            let (other, slots) = ((node + 1) % PRIMARIES, random.random_range(50..200));
            cluster.reshard(node, other, slots).await.expect("reshard");
            cluster.settle(LIMIT).await.expect("agreed");
            cluster.reshard(other, node, slots).await.expect("reshard back");
            cluster.settle(LIMIT).await.expect("agreed");
        }
        Fault::Pause => {
            cluster.pause(node).await.expect("pause");
            // The fault itself: it lasts this long.
            sleep(Duration::from_millis(random.random_range(200..2_500))).await;
            cluster.resume(node).await.expect("resume");
        }
    }
}
