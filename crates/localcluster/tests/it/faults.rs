use std::time::Duration;

use socialgraph_localcluster::{Error, LocalCluster, Topology};

use crate::support::{LIMIT, THREE, assert_ended, assert_filled, fill, start, temporary};

#[tokio::test]
async fn a_killed_node_comes_back_at_its_address_with_its_data() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let cluster = start(dir.path(), THREE).await;
    fill(&cluster).await;
    let (address, pid) = (cluster.nodes()[1].address(), cluster.nodes()[1].pid());
    written(&cluster, 1).await;
    cluster.kill(1).await.expect("kill");
    assert_eq!(cluster.nodes()[1].pid(), None);
    assert!(cluster.cli(1, &["PING"]).await.is_err());
    assert!(matches!(cluster.kill(1).await, Err(Error::State { node: 1, running: false })));

    cluster.restart(1).await.expect("restart");
    assert_eq!(cluster.nodes()[1].address(), address);
    assert_ne!(cluster.nodes()[1].pid(), pid);
    assert!(matches!(cluster.restart(1).await, Err(Error::State { node: 1, running: true })));
    cluster.settle(LIMIT).await.expect("healthy again");
    assert_filled(&cluster).await;
    cluster.stop().await;
    assert_ended(dir.path()).await;
}

/// Waits until the node has handed its writes to the kernel. It puts that off while an fsync is under way.
async fn written(cluster: &LocalCluster, node: usize) {
    let written = async {
        while !cluster.cli(node, &["INFO", "persistence"]).await.expect("info").contains("aof_buffer_length:0\r\n") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LIMIT, written).await.expect("written in time");
}

#[tokio::test]
async fn a_replica_takes_over_from_a_killed_primary() {
    let cluster = temporary(Topology::Cluster { primaries: 3, replicas: 1 }).await;
    fill(&cluster).await;
    assert_eq!(cluster.cli(0, &["WAIT", "1", "30000"]).await.expect("wait"), "1");
    cluster.kill(0).await.expect("kill");
    tokio::time::timeout(LIMIT, async {
        while !cluster.cli(3, &["ROLE"]).await.expect("role").starts_with("master") {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .expect("failover");
    cluster.restart(0).await.expect("restart");
    cluster.settle(LIMIT).await.expect("healthy again");
    assert!(cluster.cli(0, &["ROLE"]).await.expect("role").starts_with("slave"));
    assert_filled(&cluster).await;
    cluster.stop().await;
}

#[tokio::test]
async fn a_paused_node_does_not_answer_until_it_is_resumed() {
    let cluster = temporary(Topology::Single).await;
    cluster.pause(0).await.expect("pause");
    let silent = tokio::time::timeout(Duration::from_millis(300), cluster.cli(0, &["PING"])).await;
    assert!(silent.is_err(), "{silent:?}");
    cluster.resume(0).await.expect("resume");
    assert_eq!(cluster.cli(0, &["PING"]).await.expect("ping"), "PONG");
    // And stopping does not hang on a paused one.
    cluster.pause(0).await.expect("pause");
    cluster.stop().await;
}

#[tokio::test]
async fn slots_move_with_their_keys() {
    let cluster = temporary(THREE).await;
    fill(&cluster).await;
    cluster.reshard(0, 2, 5_000).await.expect("reshard");
    cluster.settle(LIMIT).await.expect("healthy");
    let nodes = cluster.cli(1, &["CLUSTER", "NODES"]).await.expect("cluster nodes");
    let source = nodes.lines().find(|line| line.starts_with(cluster.nodes()[0].id().expect("id"))).expect("listed");
    assert!(source.ends_with(" 5000-5460"), "{source}");
    assert_filled(&cluster).await;
    cluster.stop().await;
}

#[tokio::test]
async fn misuse_is_an_error() {
    let cluster = temporary(Topology::Single).await;
    assert!(matches!(cluster.kill(1).await, Err(Error::NoNode { node: 1, nodes: 1 })));
    assert!(matches!(cluster.reshard(0, 0, 1).await, Err(Error::NotACluster)));
    let error = cluster.cli(0, &["NOSUCH"]).await.expect_err("unknown command");
    assert!(error.to_string().contains("unknown command"), "{error}");
    cluster.stop().await;
}
