//! Watches while primaries come and go, and servers too.

use std::{collections::BTreeMap, time::Duration};

use futures::{StreamExt, join, stream};
use nix::sys::signal::Signal;
use socialgraph::v1::{FollowRequest, UnfollowRequest, WatchRelationshipsRequest, relationship_change::Change};
use tokio::time::timeout;
use tonic::Code;

use crate::support::{
    LIMIT,
    caller::{Caller, Client},
    graph::{self, Edges, micros},
    process::Process,
    redis, turn,
};

const USERS: i64 = 40;
/// Whom all follow at the end: then all changes before are told.
const MARK: i64 = 1_000;
const NO_DELAY: [&str; 2] = ["--server-drain-delay", "0s"];

/// What a watch told of.
#[derive(Default)]
struct Told {
    token: String,
    edges: Edges,
    versions: BTreeMap<i64, i64>,
    marked: usize,
}

impl Told {
    /// Nothing yet: a watch that begins now.
    async fn now(mut client: Client) -> Self {
        let request = WatchRelationshipsRequest::default();
        let mut messages = client.watch_relationships(request).await.expect("watch").into_inner();
        let first = messages.message().await.expect("a message").expect("the first one");
        Self { token: first.resume_token, ..Self::default() }
    }

    fn note(&mut self, change: Change, version: i64) {
        let (user, is_new) = match change {
            Change::Followed(begun) => {
                self.marked += usize::from(begun.followee_id == MARK);
                let edge = (begun.follower_id, begun.followee_id);
                (edge.0, self.edges.insert(edge, micros(begun.followed_at)).is_none())
            }
            Change::Unfollowed(ended) => {
                let edge = (ended.follower_id, ended.followee_id);
                (edge.0, self.edges.remove(&edge) == Some(micros(ended.followed_at)))
            }
            other @ (Change::UserDeleted(_)
            | Change::UserStateSet(_)
            | Change::Blocked(_)
            | Change::Unblocked(_)
            | Change::Muted(_)
            | Change::Unmuted(_)) => panic!("nothing but follows: {other:?}"),
        };
        assert!(is_new, "told twice, or of nothing: user {user} at {version}");
        let last = self.versions.insert(user, version).unwrap_or_default();
        assert!(version > last, "user {user}: {version} after {last}");
    }

    /// Watches until all is told, or the watch ends.
    async fn watch(&mut self, mut client: Client) -> Option<Code> {
        let request = WatchRelationshipsRequest { resume_token: self.token.clone(), ..Default::default() };
        let mut messages = match client.watch_relationships(request).await {
            Ok(answer) => answer.into_inner(),
            Err(status) => return Some(status.code()),
        };
        while self.marked < USERS as usize {
            match timeout(LIMIT, messages.message()).await.expect("a message in time") {
                Ok(message) => {
                    let message = message.expect("an end has a status");
                    for change in message.changes {
                        self.note(change.change.expect("a change"), change.version);
                    }
                    self.token = message.resume_token;
                }
                Err(status) => return Some(status.code()),
            }
        }
        None
    }
}

/// Follows and unfollows of all users at once; `pause` comes in their midst.
async fn writes(caller: &Caller, pause: impl Future<Output = ()>) {
    let round = async |round: i64| {
        let calls = (1..=USERS).map(async |follower_id| {
            let followee_id = 2_000 + (follower_id + round) % 5;
            let follow = FollowRequest { follower_id, followee_id, ..Default::default() };
            caller.call(follow, |mut c, r| async move { c.follow(r).await }).await;
            if round % 3 != 0 {
                let unfollow = UnfollowRequest { follower_id, followee_id, ..Default::default() };
                caller.call(unfollow, |mut c, r| async move { c.unfollow(r).await }).await;
            }
        });
        stream::iter(calls).buffer_unordered(8).collect::<Vec<_>>().await;
    };
    for number in 0..8 {
        round(number).await;
    }
    let more = async {
        for number in 8..16 {
            round(number).await;
        }
    };
    join!(more, pause);
    for follower_id in 1..=USERS {
        let mark = FollowRequest { follower_id, followee_id: MARK, ..Default::default() };
        caller.call(mark, |mut c, r| async move { c.follow(r).await }).await;
    }
}

async fn assert_all_told(told: &Told, caller: &Caller) {
    let users: Vec<_> = (1..=USERS).chain(2_000..2_005).chain([MARK]).collect();
    assert_eq!(told.edges, graph::consistent(caller, &users).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_goes_on_when_a_primary_is_back() {
    let _turn = turn().await;
    let cluster = redis::cluster().await;
    let process = Process::serve(&cluster.addresses(), &NO_DELAY).await;
    let caller = Caller::new(process.grpc, Duration::from_secs(5));
    let mut told = Told::now(caller.client.clone()).await;
    let fault = async {
        cluster.kill(1).await.expect("kill");
        cluster.restart(1).await.expect("restart");
        cluster.settle(LIMIT).await.expect("healthy again");
    };
    let (end, ()) = join!(told.watch(caller.client.clone()), writes(&caller, fault));
    assert_eq!(end, None, "the watch outlives it");
    redis::quiescent(&cluster.addresses()).await;
    assert_all_told(&told, &caller).await;
    process.stop().await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_of_a_server_that_is_told_to_stop_goes_on_at_another() {
    let _turn = turn().await;
    let cluster = redis::cluster().await;
    let [stopping, heir] =
        [Process::serve(&cluster.addresses(), &NO_DELAY).await, Process::serve(&cluster.addresses(), &NO_DELAY).await];
    let (watcher, caller) =
        (Caller::new(stopping.grpc, Duration::from_secs(5)), Caller::new(heir.grpc, Duration::from_secs(5)));
    let mut told = Told::now(watcher.client.clone()).await;
    let stop = async { stopping.signal(Signal::SIGTERM) };
    let watching = async {
        assert_eq!(told.watch(watcher.client.clone()).await, Some(Code::Unavailable));
        assert_eq!(told.watch(caller.client.clone()).await, None);
    };
    join!(watching, writes(&caller, stop));
    assert!(stopping.wait().await.0.success());
    redis::quiescent(&cluster.addresses()).await;
    assert_all_told(&told, &caller).await;
    heir.stop().await;
    cluster.stop().await;
}
