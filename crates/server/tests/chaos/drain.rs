//! SIGTERM with calls in progress.

use std::{
    error::Error as _,
    iter::successors,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use futures::future::{join, join_all};
use nix::sys::signal::Signal;
use socialgraph::v1::{FollowRequest, ImportEdgesRequest, IsFollowingRequest};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use crate::support::{caller::Caller, graph, http, process::Process, redis, turn, until};

const DEADLINE: Duration = Duration::from_secs(10);
const NO_DELAY: [&str; 2] = ["--server-drain-delay", "0s"];

/// Calls that hang in the server when it is told to stop are answered, and so is an import whose stream is still open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_in_progress_are_answered_before_the_server_stops() {
    const CALLS: i64 = 100;
    let _turn = turn().await;
    let cluster = redis::cluster().await;
    let process = Process::serve(&cluster.addresses(), &NO_DELAY).await;
    let caller = Caller::new(process.grpc, DEADLINE);
    let (rows, stream) = mpsc::channel(1);
    let mut importer = caller.client.clone();
    let import = async { importer.import_edges(ReceiverStream::new(stream)).await };

    for node in 0..redis::PRIMARIES {
        cluster.pause(node).await.expect("pause");
    }
    let calls = join_all((1..=CALLS).map(|follower_id| {
        let mut client = caller.client.clone();
        let request = FollowRequest { follower_id, followee_id: CALLS + 1, ..Default::default() };
        async move { client.follow(request).await }
    }));
    let terminate = async {
        let in_flight = async || http::metric(process.admin, "socialgraph_rpc_in_flight", "").await;
        until("all calls in progress", async || in_flight().await > CALLS as f64).await;
        process.signal(Signal::SIGTERM);
        until("draining", async || http::get(process.admin, "/readyz").await.1.contains("draining")).await;
        for node in 0..redis::PRIMARIES {
            cluster.resume(node).await.expect("resume");
        }
        for followee_id in 1..=10 {
            let row =
                ImportEdgesRequest { follower_id: CALLS + 2, followee_id, followed_at: None, import_id: String::new() };
            rows.send(row).await.expect("the import goes on");
        }
        drop(rows);
    };
    let ((answers, import), ()) = join(join(calls, import), terminate).await;
    for answer in answers {
        answer.expect("answered");
    }
    assert_eq!(import.expect("answered").into_inner().created, 10);
    process.stopped().await;
    cluster.stop().await;
}

/// A rolling restart: each server is told to stop under load; its clients go to the other one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_fails_when_the_server_stops_and_another_is_there() {
    const WORKERS: i64 = 32;
    let _turn = turn().await;
    let cluster = redis::cluster().await;
    let [first, second] = [serve(&cluster.addresses()).await, serve(&cluster.addresses()).await];
    let callers = [Caller::new(first.grpc, DEADLINE), Caller::new(second.grpc, DEADLINE)];
    let (done, moved) = (AtomicU64::new(0), AtomicU64::new(0));
    let workers = join_all((1..=WORKERS).map(|worker| work(&callers, worker, &done, &moved)));
    let stop = async {
        until("load", async || done.load(Ordering::Relaxed) > 5_000).await;
        first.signal(Signal::SIGTERM);
        first.stopped().await;
    };
    join(workers, stop).await;
    println!("{} calls answered, {} sent again to the other server", done.into_inner(), moved.into_inner());
    redis::quiescent(&cluster.addresses()).await;
    let users: Vec<_> = (1..=WORKERS + 2_000).collect();
    let edges = graph::consistent(&callers[1], &users).await;
    assert!((1..=WORKERS).all(|worker| edges.keys().any(|(follower, _)| *follower == worker)));
    second.stop().await;
    cluster.stop().await;
}

async fn serve(redis: &[std::net::SocketAddr]) -> Process {
    Process::serve(redis, &NO_DELAY).await
}

/// Calls the first server until it refuses, and then the second for some more.
async fn work(callers: &[Caller; 2], worker: i64, done: &AtomicU64, moved: &AtomicU64) {
    let mut number = 0;
    let mut rest = 50;
    let mut server = 0;
    while rest > 0 {
        number += 1;
        let followee_id = 100 + (worker * 7 + number) % 1_900;
        let mut client = callers[server].client.clone();
        let answer = if number % 2 == 0 {
            let request = FollowRequest { follower_id: worker, followee_id, ..Default::default() };
            client.follow(request).await.map(drop)
        } else {
            let request = IsFollowingRequest { follower_id: worker, followee_id, consistency: None };
            client.is_following(request).await.map(drop)
        };
        match answer {
            Ok(()) => _ = done.fetch_add(1, Ordering::Relaxed),
            // A call that a server begins it also answers. One that finds the door closed fails here, by the client.
            Err(status) => {
                assert!(server == 0 && was_not_sent(&status), "{status:?}");
                moved.fetch_add(1, Ordering::Relaxed);
                server = 1;
            }
        }
        rest -= i32::from(server == 1);
    }
}

/// Whether an error is the client's own, for a request that it could not hand to a connection, or one that the server had not
/// begun: a last GOAWAY, with the code NO_ERROR, names the last request that the server answers.
fn was_not_sent(status: &Status) -> bool {
    let causes = successors(status.source(), |error| (*error).source()).map(ToString::to_string);
    let causes = causes.collect::<Vec<_>>().join(": ");
    ["connection closed", "Connection refused", "not a result of an error"].iter().any(|cause| causes.contains(cause))
}
