//! A large account is suspended and made active again, by a service that is killed.

use std::{fs, path::Path};

use keyspace::List;
use nix::sys::signal::Signal;
use socialgraph::v1::{OperationState, UserState};

use crate::{
    deletion::{DEADLINE, FOLLOWED, FOLLOWERS, USER, import},
    support::{caller::Caller, graph, operation, process, process::Process, redis, turn, until},
};

/// Edges moved before a kill.
const MOVED: i64 = 2_000;
/// Users whose entries are in a shard, and in the head, of the large account's followers.
const FOLLOWERS_TO_SUSPEND: [i64; 2] = [1, FOLLOWERS];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moves_of_edges_that_are_killed_go_on_and_all_come_back() {
    let _turn = turn().await;
    let dir = tempfile::tempdir().expect("temporary directory");
    let process = Process::dev(dir.path()).await;
    import(&process).await;
    let before = export(&process, dir.path(), "before").await;
    let before_counts = counts(&Caller::new(process.grpc, DEADLINE)).await;

    let process = set_and_kill(process, dir.path(), UserState::Suspended).await;
    let caller = Caller::new(process.grpc, DEADLINE);
    // The user's own list, and the ring of those who follow each other.
    let lines = export(&process, dir.path(), "suspended").await.lines().count() as i64;
    assert_eq!(lines, before.lines().count() as i64 - FOLLOWERS);
    let suspended = counts(&caller).await;
    let without: i64 = before_counts.iter().map(|(following, followers)| following + followers).sum();
    let left: i64 = suspended.iter().map(|(following, followers)| following + followers).sum();
    assert_eq!(without - left, FOLLOWERS + FOLLOWED);

    let process = set_and_kill(process, dir.path(), UserState::Active).await;
    let caller = Caller::new(process.grpc, DEADLINE);
    assert_eq!(counts(&caller).await, before_counts);
    assert!(export(&process, dir.path(), "after").await == before, "the exports differ");

    for follower in FOLLOWERS_TO_SUSPEND {
        operation::set_state(&caller, follower, UserState::Deactivated).await;
        done(&caller, follower).await;
    }
    let user = graph::counts(&caller, &[USER]).await;
    assert_eq!(user[0].followers, FOLLOWERS - FOLLOWERS_TO_SUSPEND.len() as i64);
    let listed = graph::list(&caller, List::Followers, USER, 500).await;
    assert!(FOLLOWERS_TO_SUSPEND.iter().all(|follower| listed.iter().all(|(user, _)| user != follower)));
    for follower in FOLLOWERS_TO_SUSPEND {
        operation::set_state(&caller, follower, UserState::Active).await;
        done(&caller, follower).await;
    }
    assert_eq!(counts(&caller).await, before_counts);
    assert!(export(&process, dir.path(), "last").await == before, "the exports differ");
    process.stop().await;
    assert_eq!(redis::servers_on(dir.path()), [0; 0]);
}

/// Sets the user's state, kills the service once some edges are moved, and gives another one that has moved the rest.
async fn set_and_kill(process: Process, dir: &Path, state: UserState) -> Process {
    let caller = Caller::new(process.grpc, DEADLINE);
    let total = operation::set_state(&caller, USER, state).await.edges_total;
    assert_eq!(total, FOLLOWERS + FOLLOWED);
    until("some edges are moved", async || operation::of(&caller, USER).await.edges_moved >= MOVED).await;
    process.signal(Signal::SIGKILL);
    process.wait().await;
    let process = Process::dev(dir).await;
    let caller = Caller::new(process.grpc, DEADLINE);
    assert!(operation::of(&caller, USER).await.edges_moved >= MOVED);
    until("half of all is moved", async || operation::of(&caller, USER).await.edges_moved >= total / 2).await;
    done(&caller, USER).await;
    redis::quiescent(&process.redis).await;
    process
}

async fn done(caller: &Caller, user: i64) {
    until("all edges are moved", async || operation::of(caller, user).await.state() == OperationState::Done).await;
}

/// Followees and followers of all but the user.
async fn counts(caller: &Caller) -> Vec<(i64, i64)> {
    let users: Vec<_> = (1..=FOLLOWERS).collect();
    let counts = graph::counts(caller, &users).await;
    counts.iter().map(|counts| (counts.following, counts.followers)).collect()
}

async fn export(process: &Process, dir: &Path, name: &str) -> String {
    let file = dir.join(name);
    let output = process::finish(process::export(process.grpc, &file)).await;
    assert!(output.status.success(), "{output:?}");
    fs::read_to_string(file).expect("an export")
}
