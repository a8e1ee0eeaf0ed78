//! An account with very many followers, whose service is killed while it moves parts of the list to other partitions.

use std::{fmt::Write as _, path::Path, process::Output, time::Duration};

use keyspace::List;
use nix::sys::signal::Signal;
use socialgraph::v1::UnfollowRequest;
use tokio::io::AsyncWriteExt;

use crate::support::{
    caller::Caller,
    graph, http,
    process::{self, Process},
    redis, turn, until,
};

const STAR: i64 = 1;
/// Enough that a list of them is spread, however full its segments are.
const FOLLOWERS: i64 = 20_000;
const KILLS: i64 = 3;
/// Segments moved before a kill.
const MOVED: f64 = 10.0;
const DEADLINE: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_mid_spreading_and_every_follower_is_listed_once() {
    let _turn = turn().await;
    let dir = tempfile::tempdir().expect("temporary directory");
    for round in 1..=KILLS {
        killed_in_mid_spreading(Process::dev(dir.path()).await, round * FOLLOWERS).await;
    }
    let process = Process::dev(dir.path()).await;
    let import = import(&process, KILLS * FOLLOWERS + 200).await;
    assert!(import.status.success(), "{import:?}");
    redis::quiescent(&process.redis).await;
    let caller = Caller::new(process.grpc, DEADLINE);
    let mut followers: Vec<_> = rows(KILLS * FOLLOWERS + 200).collect();
    is(&caller, &followers).await;

    for follower_id in followers.iter().copied().step_by(300) {
        let request = UnfollowRequest { follower_id, followee_id: STAR, ..Default::default() };
        assert!(caller.call(request, |mut c, r| async move { c.unfollow(r).await }).await.message.removed);
    }
    let mut number = 0;
    followers.retain(|_| {
        number += 1;
        number % 300 != 1
    });
    redis::quiescent(&process.redis).await;
    is(&caller, &followers).await;
    process.stop().await;
    assert_eq!(redis::servers_on(dir.path()), [0; 0]);
}

fn rows(followers: i64) -> impl Iterator<Item = i64> {
    10..10 + followers
}

/// The star has these followers.
async fn is(caller: &Caller, followers: &[i64]) {
    let listed = graph::list(caller, List::Followers, STAR, 500).await;
    let mut listed: Vec<_> = listed.into_iter().map(|(id, _)| id).collect();
    listed.sort_unstable();
    assert!(listed == followers, "{} listed, not {}", listed.len(), followers.len());
    let counts = graph::counts(caller, &[STAR]).await;
    assert_eq!(counts[0].followers, followers.len() as i64);
}

/// Imports followers, and kills the service once it has moved some of them.
async fn killed_in_mid_spreading(process: Process, followers: i64) {
    let import = import(&process, followers);
    let moved = until("some are moved", async || {
        http::metric(process.admin, "socialgraph_spread_segments_total", "").await >= MOVED
    });
    let kill = async {
        moved.await;
        process.signal(Signal::SIGKILL);
    };
    futures::join!(import, kill);
    process.wait().await;
}

/// Feeds an import. A service that is killed breaks its pipe.
async fn import(process: &Process, followers: i64) -> Output {
    let mut import = process::import(process.grpc, Path::new("-"));
    let mut input = import.stdin.take().expect("piped");
    let mut text = String::new();
    rows(followers).for_each(|follower| writeln!(text, "{follower} {STAR}").expect("a string"));
    let _written = input.write_all(text.as_bytes()).await;
    drop(input);
    process::finish(import).await
}
