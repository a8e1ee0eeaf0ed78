use keyspace::{Keyspace, PartitionCount};
use localcluster::LocalCluster;
use model::UserId;

use crate::support::redis::PRIMARIES;

/// The largest inbox of a node.
const LARGEST: &str = "
local largest = 0
for _, key in ipairs(redis.call('KEYS', 'sg:*:inbox:*')) do largest = math.max(largest, redis.call('ZCARD', key)) end
return largest";

/// How many inboxes of a node have an entry with a member: the post's id and the author's, 8 bytes each.
const HOLDING: &str = "
local member = ARGV[1]:gsub('..', function(digits) return string.char(tonumber(digits, 16)) end)
local holding = 0
for _, key in ipairs(redis.call('KEYS', 'sg:*:inbox:*')) do
  if redis.call('ZSCORE', key, member) then holding = holding + 1 end
end
return holding";

/// How many entries the largest inbox has, its sentinel among them.
pub(super) async fn largest(cluster: &LocalCluster) -> usize {
    on_all_nodes(cluster, &["EVAL", LARGEST, "0"]).await.into_iter().max().unwrap_or_default()
}

/// How many inboxes hold a post.
pub(super) async fn holding(cluster: &LocalCluster, post: i64, author: i64) -> usize {
    let mut holding = 0;
    for node in 0..PRIMARIES {
        holding += holding_at(cluster, node, post, author).await;
    }
    holding
}

/// How many inboxes of a node hold a post.
pub(super) async fn holding_at(cluster: &LocalCluster, node: usize, post: i64, author: i64) -> usize {
    on_node(cluster, node, &["EVAL", HOLDING, "0", &format!("{post:016x}{author:016x}")]).await
}

async fn on_all_nodes(cluster: &LocalCluster, command: &[&str]) -> Vec<usize> {
    let mut replies = Vec::new();
    for node in 0..PRIMARIES {
        replies.push(on_node(cluster, node, command).await);
    }
    replies
}

async fn on_node(cluster: &LocalCluster, node: usize, command: &[&str]) -> usize {
    let reply = cluster.cli(node, command).await.expect("a reply");
    reply.parse().unwrap_or_else(|_| panic!("not a number: {reply}"))
}

/// The node that has an author's posts.
pub(super) async fn node_of(cluster: &LocalCluster, author: i64) -> usize {
    let command = ["EVAL", "return #redis.call('KEYS', ARGV[1])", "0", &format!("sg:*:posts:{author}")];
    on_all_nodes(cluster, &command).await.iter().position(|found| *found > 0).expect("an author with posts")
}

/// Removes an inbox as its time to live does.
pub(super) async fn expire(cluster: &LocalCluster, reader: i64) {
    let keys = Keyspace::new("sg", PartitionCount::DEFAULT).expect("the default");
    let user = UserId::new(reader).expect("an id");
    let [inbox, feed] = [keys.inbox(user), keys.feed(user)].map(|key| key.to_string());
    cluster.cli(0, &["-c", "DEL", &inbox, &feed]).await.expect("delete");
}
