//! A large account is deleted, by a service that is killed again and again.

use std::{fmt::Write as _, path::Path, time::Duration};

use nix::sys::signal::Signal;
use socialgraph::v1::OperationState;
use tokio::io::AsyncWriteExt;

use crate::{
    support::{
        caller::Caller,
        graph, http, operation,
        process::{self, Process},
        redis, turn, until,
    },
    traces,
};

pub(crate) const USER: i64 = 9_000_001;
/// Enough that the list is spread over partitions.
pub(crate) const FOLLOWERS: i64 = 20_000;
pub(crate) const FOLLOWED: i64 = 2_000;
const KILLS: usize = 3;
/// Edges removed before a kill.
const REMOVED: f64 = 2_000.0;
pub(crate) const DEADLINE: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_that_is_killed_goes_on_and_leaves_no_trace() {
    let _turn = turn().await;
    let dir = tempfile::tempdir().expect("temporary directory");
    let process = Process::dev(dir.path()).await;
    import(&process).await;
    let caller = Caller::new(process.grpc, DEADLINE);
    assert_eq!(operation::delete(&caller, USER).await.edges_total, FOLLOWERS + FOLLOWED);
    killed_in_mid_deletion(process).await;
    for _ in 1..KILLS {
        killed_in_mid_deletion(Process::dev(dir.path()).await).await;
    }

    let process = Process::dev(dir.path()).await;
    let caller = Caller::new(process.grpc, DEADLINE);
    until("half of all is removed", async || operation::of(&caller, USER).await.edges_removed >= FOLLOWERS / 2).await;
    until("the user is removed", async || operation::of(&caller, USER).await.state() == OperationState::Done).await;
    assert_eq!(operation::of(&caller, USER).await.edges_removed, FOLLOWERS + FOLLOWED);
    redis::quiescent(&process.redis).await;
    for &server in &process.redis {
        assert_eq!(traces::left(USER, "sg:*", async |command| redis::cli(server, command).await).await, []);
    }
    let users: Vec<_> = (1..=FOLLOWERS).step_by(97).chain([USER]).collect();
    assert!(graph::counts(&caller, &users).await.iter().all(|counts| counts.following <= 1 && counts.followers <= 1));
    // Each follows the next one.
    let ring: Vec<_> = (1..=300).collect();
    let counts = graph::counts(&caller, &ring).await;
    assert!(counts.iter().all(|counts| (counts.following, counts.followers) == (1, 1)), "{counts:?}");
    process.stop().await;
    assert_eq!(redis::servers_on(dir.path()), [0; 0]);
}

/// Kills the service once it has removed some edges, or all of them.
async fn killed_in_mid_deletion(process: Process) {
    until("some edges are removed", async || {
        let removed = http::metric(process.admin, "socialgraph_deletion_removed_total", "kind=\"edge\"").await;
        removed >= REMOVED || http::metric(process.admin, "socialgraph_operations_done_total", "").await > 0.0
    })
    .await;
    process.signal(Signal::SIGKILL);
    process.wait().await;
}

/// The user with all followers and followees, and the first 300 of these, of whom each follows the next.
pub(crate) async fn import(process: &Process) {
    let mut import = process::import(process.grpc, Path::new("-"));
    let mut input = import.stdin.take().expect("piped");
    let mut text = String::new();
    for follower in 1..=FOLLOWERS {
        writeln!(text, "{follower} {USER}").expect("a string");
    }
    for followee in 1..=FOLLOWED {
        writeln!(text, "{USER} {followee}").expect("a string");
    }
    for user in 1..=300 {
        writeln!(text, "{user} {}", user % 300 + 1).expect("a string");
    }
    input.write_all(text.as_bytes()).await.expect("feed the import");
    drop(input);
    let output = process::finish(import).await;
    assert!(output.status.success(), "{output:?}");
    until("the list is spread", async || {
        http::metric(process.admin, "socialgraph_spread_segments_total", "").await >= 10.0
    })
    .await;
}
