//! The account with the most edges is deleted.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    time::Instant,
};

use keyspace::{Keyspace, PartitionCount};
use model::UserId;
use socialgraph::v1::OperationState;

use super::{
    file::{Graph, OFFSET},
    served::Served,
};
use crate::{
    support::{graph, operation, redis, until},
    traces::{self, Mention},
};

/// The one that servers have if nothing is said.
const KEYSPACE: &str = "sg";
/// Logs that a script reads.
const LOGS: usize = 32;

/// For `EVAL` without keys; the arguments are a user's id, and logs. Gives the kind of each change that is about the user, and what it is about, one a line.
const CHANGES: &str = r"
local id, found = ' ' .. table.remove(ARGV, 1) .. ' ', {}
for _, log in ipairs(ARGV) do
  for _, entry in ipairs(redis.call('XRANGE', log, '-', '+')) do
    for at = 1, #entry[2], 2 do
      local kind, about = unpack(entry[2], at, at + 1)
      if (' ' .. about .. ' '):find(id, 1, true) then found[#found + 1] = kind .. ' ' .. about end
    end
  end
end
return table.concat(found, '\n')";

/// Deletes the account by a server that is killed with SIGKILL once it has removed a quarter of the edges, and another one that is started then.
pub(super) async fn killed_midway(served: Served) -> Served {
    let begun = Instant::now();
    let account = served.graph.largest(1)[0];
    let total = served.graph.edges_of(account).len() as i64;
    assert_eq!(operation::delete(&served.caller, account).await.edges_total, total);

    let mut removed = 0;
    until("a quarter of the edges is removed", async || {
        let operation = operation::of(&served.caller, account).await;
        assert_eq!(operation.state(), OperationState::Running);
        removed = operation.edges_removed;
        removed >= total / 4
    })
    .await;
    let served = served.restarted(async |cluster| assert_unfinished(&cluster.addresses(), account).await).await;
    let restarted = operation::of(&served.caller, account).await;
    until("the user is removed", async || operation::of(&served.caller, account).await.state() == OperationState::Done)
        .await;
    assert_eq!(operation::of(&served.caller, account).await.edges_removed, total);
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

/// The server died before all was removed: what is written down of the deletion has no end, and there are references that must go.
async fn assert_unfinished(redis: &[SocketAddr], account: i64) {
    let state = keys().state(id(account)).to_string();
    let fact = async |name: &str| redis::cli(redis[0], &["-c", "HGET", &state, name]).await;
    assert_eq!([fact("state").await, fact("done").await], ["deleted", ""]);
    let left = mentions(redis, account).await.into_iter().filter(|(_, mention)| !mention.is_allowed(account)).count();
    assert!(left > 0, "nothing was left to be removed");
    println!("e: killed when {left} keys had what must go");
}

fn keys() -> Keyspace {
    Keyspace::new(KEYSPACE, PartitionCount::DEFAULT).expect("a name")
}

fn id(user: i64) -> UserId {
    UserId::new(user).expect("an id")
}

/// All keys of all servers that mention the account.
async fn mentions(redis: &[SocketAddr], account: i64) -> Vec<(SocketAddr, Mention)> {
    let mut all = Vec::new();
    for &server in redis {
        let run = async |command: &[&str]| redis::cli(server, command).await;
        let mentions = traces::of(account, &format!("{KEYSPACE}:*"), run).await;
        all.extend(mentions.into_iter().map(|mention| (server, mention)));
    }
    all
}

/// Looks for the account in every key of every node, whatever it holds.
pub(super) async fn assert_no_reference(Served { graph, cluster, .. }: &Served) {
    let begun = Instant::now();
    let (account, servers) = (graph.largest(1)[0], cluster.addresses());
    let keys = keys();
    let gone: BTreeSet<_> = graph.following(account).iter().map(|&user| keys.gone(id(user)).to_string()).collect();
    let mentions = mentions(&servers, account).await;
    let (mut kept, mut logs) = (BTreeMap::<&str, usize>::new(), BTreeMap::<SocketAddr, Vec<&str>>::new());
    for (server, mention) in &mentions {
        assert!(mention.is_allowed(account), "{mention:?}");
        *kept.entry(mention.kind()).or_default() += 1;
        match mention.kind() {
            "log" => logs.entry(*server).or_default().push(&mention.key),
            "gone" => assert!(gone.contains(&mention.key), "{mention:?}"),
            _ => {}
        }
    }
    let mut changes = Vec::new();
    for (server, logs) in logs {
        let account = account.to_string();
        for logs in logs.chunks(LOGS) {
            let command = [&["EVAL", CHANGES, "0", &account], logs].concat();
            changes.extend(redis::cli(server, &command).await.lines().map(str::to_owned));
        }
    }
    assert_logged(graph, account, &changes);
    println!(
        "e: of all keys, those that mention it are {kept:?}, where the logs have its deletion and its edges' {} changes; {:.1?}",
        changes.len() - 1,
        begun.elapsed()
    );
}

/// The logs have the deletion, the end of each edge once, and besides only how these edges began.
fn assert_logged(graph: &Graph, account: i64, changes: &[String]) {
    let of_kind = |kind: char| changes.iter().filter_map(move |change| change.strip_prefix(kind)).map(str::trim_start);
    let edge = |about: &str| {
        let ids: Vec<i64> = about.split(' ').take(2).map(|id| id.parse().expect("an id")).collect();
        (ids[0], ids[1])
    };
    let [mut ended, begun] = ['-', '+'].map(|kind| of_kind(kind).map(edge).collect::<Vec<_>>());
    ended.sort_unstable();
    let edges = graph.edges_of(account);
    assert!(of_kind('x').eq([account.to_string()]), "the deletion is in the log once");
    assert!(ended == edges, "{} ends of {} edges", ended.len(), edges.len());
    assert!(begun.iter().all(|edge| edges.binary_search(edge).is_ok()), "{begun:?}");
    assert_eq!(changes.len(), 1 + ended.len() + begun.len());
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
