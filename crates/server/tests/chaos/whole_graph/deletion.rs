//! The account with the most edges is deleted.

use std::{collections::BTreeMap, net::SocketAddr, time::Instant};

use keyspace::{Keyspace, PartitionCount};
use model::UserId;
use socialgraph::v1::{
    DeleteUserRequest, GetOperationRequest, Operation, OperationState, get_operation_request::Target,
};

use super::{
    file::{Graph, OFFSET},
    served::Served,
};
use crate::{
    support::{caller::Caller, graph, redis, until},
    traces::{self, Mention},
};

/// The one that servers have if nothing is said.
const KEYSPACE: &str = "sg";

/// Deletes the account by a server that is killed with SIGKILL once it has removed some edges, and another one that is started then.
pub(super) async fn killed_midway(served: Served) -> Served {
    let begun = Instant::now();
    let account = served.graph.largest(1)[0];
    let total = edges_of(&served.graph, account).len() as i64;
    let request = DeleteUserRequest { user_id: account };
    let answer = served.caller.call(request, |mut c, r| async move { c.delete_user(r).await }).await.message;
    assert_eq!(answer.operation.expect("an operation").edges_total, total);

    let mut removed = 0;
    until("some edges are removed", async || {
        let operation = operation(&served.caller, account).await;
        assert_eq!(operation.state(), OperationState::Running);
        removed = operation.edges_removed;
        removed > 0
    })
    .await;
    let served = served.restarted(async |cluster| assert_unfinished(&cluster.addresses(), account).await).await;
    let restarted = operation(&served.caller, account).await;
    until("the user is removed", async || operation(&served.caller, account).await.state() == OperationState::Done)
        .await;
    assert_eq!(operation(&served.caller, account).await.edges_removed, total);
    redis::quiescent(&served.cluster.addresses()).await;
    println!(
        "e: account {} of the file is deleted: {} edges; killed after {removed}, {} when it was back; done after {:.1?}",
        account - OFFSET,
        total,
        restarted.edges_removed,
        begun.elapsed()
    );
    served
}

async fn operation(caller: &Caller, account: i64) -> Operation {
    let request = GetOperationRequest { target: Some(Target::UserId(account)) };
    let answer = caller.call(request, |mut c, r| async move { c.get_operation(r).await }).await.message;
    answer.operation.expect("an operation")
}

/// The server died before all was removed: what is written down of the deletion has no end.
async fn assert_unfinished(redis: &[SocketAddr], account: i64) {
    let keys = Keyspace::new(KEYSPACE, PartitionCount::DEFAULT).expect("a name");
    let state = keys.state(UserId::new(account).expect("an id")).to_string();
    let fact = async |name: &str| redis::cli(redis[0], &["-c", "HGET", &state, name]).await;
    assert_eq!([fact("state").await, fact("done").await], ["deleted", ""]);
}

/// Looks for the account in every key of every node, whatever it holds.
pub(super) async fn assert_no_reference(Served { graph, cluster, .. }: &Served) {
    let begun = Instant::now();
    let account = graph.largest(1)[0];
    let (mut kept, mut keys) = (BTreeMap::<String, usize>::new(), 0);
    let mut logged = Vec::new();
    for server in cluster.addresses() {
        let run = async |command: &[&str]| redis::cli(server, command).await;
        keys += run(&["DBSIZE"]).await.parse::<usize>().expect("a number");
        let mentions = traces::of(account, &format!("{KEYSPACE}:*"), run).await;
        let left: Vec<_> = mentions.iter().filter(|mention| !mention.is_allowed(account)).collect();
        assert!(left.is_empty(), "{left:?}");
        for Mention { key, .. } in mentions.iter().filter(|mention| mention.kind() == "log") {
            logged.extend(changes_of(account, &run(&["XRANGE", key, "-", "+"]).await));
        }
        mentions.iter().for_each(|mention| *kept.entry(mention.kind().to_owned()).or_default() += 1);
    }
    assert_logged(graph, account, &logged);
    println!(
        "e: of {keys} keys, those that mention it are {kept:?}, where the logs have its deletion and its edges' {} changes; {:.1?}",
        logged.len() - 1,
        begun.elapsed()
    );
}

/// What a log, as redis-cli prints it, has of an account: kinds of changes, and what they are about.
fn changes_of(account: i64, log: &str) -> Vec<(String, String)> {
    let (account, lines) = (account.to_string(), log.lines().collect::<Vec<_>>());
    let changes = lines.windows(2).filter(|pair| pair[1].split(' ').any(|word| word == account));
    changes.map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect()
}

/// The logs have the deletion, the end of each edge once, and besides only how these edges began.
fn assert_logged(graph: &Graph, account: i64, logged: &[(String, String)]) {
    let of_kind = |kind: &str| {
        let changes = logged.iter().filter(|change| change.0 == kind);
        let mut changes: Vec<_> = changes.map(|(_, text)| text.as_str()).collect();
        changes.sort_unstable();
        changes
    };
    let edge = |text: &str| {
        let ids: Vec<i64> = text.split(' ').take(2).map(|id| id.parse().expect("an id")).collect();
        (ids[0], ids[1])
    };
    let [mut ended, begun] = ["-", "+"].map(|kind| of_kind(kind).into_iter().map(edge).collect::<Vec<_>>());
    ended.sort_unstable();
    let edges = edges_of(graph, account);
    assert_eq!(of_kind("x"), [account.to_string()]);
    assert!(ended == edges, "{} ends of {} edges", ended.len(), edges.len());
    assert!(begun.iter().all(|edge| edges.binary_search(edge).is_ok()), "{begun:?}");
    assert_eq!(logged.len(), 1 + ended.len() + begun.len());
}

/// What all others have is what the file says but for the account, and their counts are the lengths of their lists.
pub(super) async fn assert_others_are_whole(Served { graph, caller, .. }: &Served) {
    let begun = Instant::now();
    let account = graph.largest(1)[0];
    let listed = graph::consistent(caller, &graph.users).await;
    let expected = graph.edges.iter().filter(|(follower, followee)| ![follower, followee].contains(&&account));
    assert!(listed.keys().eq(expected), "{} edges listed", listed.len());
    println!(
        "e: {} users have {} edges, which are the file's others, and counts that are the lengths of their lists; {:.1?}",
        graph.users.len(),
        listed.len(),
        begun.elapsed()
    );
}

/// An account's edges, sorted.
fn edges_of(graph: &Graph, account: i64) -> Vec<(i64, i64)> {
    let following = graph.following(account).iter().map(|&followee| (account, followee));
    let mut edges: Vec<_> = following.chain(graph.followers(account).iter().map(|&id| (id, account))).collect();
    edges.sort_unstable();
    edges
}
