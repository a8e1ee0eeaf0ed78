//! FIELD G4 and G15: the service is killed in the middle of writes.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use futures::future::{join, join_all};
use rand::{Rng, SeedableRng, rngs::StdRng};
use socialgraph::v1::{FollowRequest, UnfollowRequest};

use crate::support::{caller::Caller, graph, process::Process, redis, seed, turn, until};

const WORKERS: i64 = 64;
const FOLLOWEES: i64 = 100;
const ROUNDS: u64 = 2;
/// Writes before the kill.
const WRITES: u64 = 4_000;
const DEADLINE: Duration = Duration::from_secs(5);

/// Of each edge whether it must be there; `None` if the answer to the last call was lost.
type Told = BTreeMap<(i64, i64), Option<bool>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn field_g4_g15_killed_in_mid_write_and_counts_equal_lists() {
    let _turn = turn().await;
    let seed = seed();
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut told = Told::new();
    for round in 0..ROUNDS {
        let process = Process::dev(dir.path()).await;
        told.extend(storm_and_kill(process, seed + round * 1_000).await);
        let process = Process::dev(dir.path()).await;
        redis::quiescent(&process.redis).await;
        let caller = Caller::new(process.grpc, DEADLINE);
        let users: Vec<_> = (1..=WORKERS.max(FOLLOWEES) + 1_000).collect();
        let edges: BTreeSet<_> = graph::consistent(&caller, &users).await.into_keys().collect();
        let known: BTreeMap<_, _> = told.iter().filter_map(|(edge, there)| Some((*edge, (*there)?))).collect();
        println!("{} edges, {} known, {} in doubt", edges.len(), known.len(), told.len() - known.len());
        for (edge, there) in known {
            assert_eq!(edges.contains(&edge), there, "{edge:?}");
        }
        assert!(edges.iter().all(|edge| told.contains_key(edge)));
        process.stop().await;
    }
    assert_eq!(redis::servers_on(dir.path()), [0; 0]);
}

/// Writes from many sides until the process is killed, and tells what was acknowledged.
async fn storm_and_kill(process: Process, seed: u64) -> Told {
    let caller = Caller::new(process.grpc, DEADLINE);
    let writes = AtomicU64::new(0);
    let told = RefCell::new(Told::new());
    let workers = join_all((1..=WORKERS).map(|follower| work(&caller, follower, seed, &writes, &told)));
    let kill = async {
        until("writes", async || writes.load(Ordering::Relaxed) >= WRITES).await;
        process.kill().await;
    };
    join(workers, kill).await;
    told.into_inner()
}

/// Follows and unfollows until a call fails.
async fn work(caller: &Caller, follower_id: i64, seed: u64, writes: &AtomicU64, told: &RefCell<Told>) {
    let mut random = StdRng::seed_from_u64(seed + follower_id.cast_unsigned());
    let mut client = caller.client.clone();
    loop {
        let followee_id = 1_000 + random.random_range(1..=FOLLOWEES);
        let follow = random.random_bool(0.6);
        let done = if follow {
            let request = FollowRequest { follower_id, followee_id, ..Default::default() };
            client.follow(request).await.map(drop)
        } else {
            let request = UnfollowRequest { follower_id, followee_id, ..Default::default() };
            client.unfollow(request).await.map(drop)
        };
        told.borrow_mut().insert((follower_id, followee_id), done.is_ok().then_some(follow));
        if done.is_err() {
            return;
        }
        writes.fetch_add(1, Ordering::Relaxed);
    }
}
