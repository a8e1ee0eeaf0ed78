use std::{
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    time::{Duration, Instant},
};

use socialgraph_localcluster::{Error, LocalCluster, Options, Role, Topology};

use crate::support::{LIMIT, THREE, assert_ended, assert_filled, fill, start, temporary};

#[tokio::test]
async fn a_single_server_keeps_its_data_and_its_port() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let first = start(dir.path(), Topology::Single).await;
    fill(&first).await;
    let addresses = first.addresses();
    assert_eq!((first.nodes()[0].id(), first.nodes()[0].role()), (None, Role::Primary));
    first.stop().await;
    assert_ended(dir.path()).await;

    let second = start(dir.path(), Topology::Single).await;
    assert_eq!(second.addresses(), addresses);
    assert_filled(&second).await;
    second.stop().await;
}

#[tokio::test]
async fn the_settings_are_in_force_and_extra_ones_win() {
    let options = Options::temporary(Topology::Single).expect("temporary directory");
    let cluster = LocalCluster::start(options.setting("set-max-intset-entries 77")).await.expect("start");
    for (name, value) in [
        ("set-max-intset-entries", "77"),
        ("zset-max-listpack-entries", "128"),
        ("stream-node-max-bytes", "1024"),
        ("appendonly", "yes"),
        ("appendfsync", "everysec"),
        ("auto-aof-rewrite-percentage", "150"),
        ("save", ""),
        ("lazyfree-lazy-user-del", "yes"),
        ("repl-diskless-sync-delay", "0"),
    ] {
        let reply = cluster.cli(0, &["CONFIG", "GET", name]).await.expect("config");
        assert_eq!(reply.lines().nth(1).unwrap_or_default(), value, "{name}");
    }
    cluster.stop().await;
}

#[tokio::test]
async fn a_new_cluster_is_ready_soon_and_complete() {
    let begin = Instant::now();
    let cluster = temporary(THREE).await;
    println!("3 primaries ready after {:?}", begin.elapsed());
    let shards = cluster.cli(2, &["CLUSTER", "NODES"]).await.expect("cluster nodes");
    for (node, range) in cluster.nodes().iter().zip(["0-5460", "5461-10922", "10923-16383"]) {
        let line = shards.lines().find(|line| line.starts_with(node.id().expect("id"))).expect("listed");
        assert!(line.ends_with(&format!("connected {range}")), "{line}");
        assert!(line.contains(&node.address().to_string()), "{line}");
    }
    fill(&cluster).await;
    assert_filled(&cluster).await;
    cluster.stop().await;
}

#[tokio::test]
async fn valkey_makes_a_cluster_too() {
    let options = Options::temporary(THREE).expect("temporary directory");
    let cluster = LocalCluster::start(options.valkey().unwrap_or_else(|error| panic!("{error}"))).await.expect("start");
    for node in 0..3 {
        let info = cluster.cli(node, &["INFO", "server"]).await.expect("info");
        assert!(info.contains("\nvalkey_version:9."), "{info}");
    }
    fill(&cluster).await;
    assert_filled(&cluster).await;
    cluster.stop().await;
}

#[tokio::test]
async fn replicas_follow_their_primaries() {
    let cluster = temporary(Topology::Cluster { primaries: 3, replicas: 1 }).await;
    let roles: Vec<Role> = cluster.nodes().iter().map(|node| node.role()).collect();
    assert_eq!(roles, [[Role::Primary; 3], [Role::Replica; 3]].concat());
    let nodes = cluster.cli(0, &["CLUSTER", "NODES"]).await.expect("cluster nodes");
    for (primary, replica) in cluster.nodes().iter().zip(&cluster.nodes()[3..]) {
        let line = nodes.lines().find(|line| line.starts_with(replica.id().expect("id"))).expect("listed");
        assert!(line.contains(&format!("slave {}", primary.id().expect("id"))), "{line}");
    }
    cluster.stop().await;
}

#[tokio::test]
async fn fewer_than_three_primaries_make_a_cluster_too() {
    for primaries in [1, 2] {
        let cluster = temporary(Topology::Cluster { primaries, replicas: 0 }).await;
        fill(&cluster).await;
        cluster.stop().await;
    }
}

#[tokio::test]
async fn nodes_that_lost_their_ports_are_introduced_again() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let topology = Topology::Cluster { primaries: 3, replicas: 1 };
    let first = start(dir.path(), topology).await;
    fill(&first).await;
    let (before, ids) = (first.addresses(), ids(&first));
    first.stop().await;

    // Two nodes lose the client port, by listeners that answer nothing.
    let taken = [1, 4].map(|node: usize| TcpListener::bind(before[node]).expect("port is free again"));
    let second = start(dir.path(), topology).await;
    let after = second.addresses();
    assert_eq!(self::ids(&second), ids);
    assert_eq!([0, 2, 3, 5].map(|node: usize| after[node]), [0, 2, 3, 5].map(|node: usize| before[node]));
    assert!([1, 4].iter().all(|node| !before.contains(&after[*node])));
    assert_filled(&second).await;
    second.stop().await;
    drop(taken);

    // And the new ones are remembered, even though the old ones are free again.
    let third = start(dir.path(), topology).await;
    assert_eq!(third.addresses(), after);
    assert_filled(&third).await;
    third.stop().await;
}

#[tokio::test]
async fn all_ports_may_change() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let first = start(dir.path(), THREE).await;
    fill(&first).await;
    let before = first.addresses();
    first.stop().await;
    let _taken: Vec<TcpListener> = before.iter().map(|at| TcpListener::bind(at).expect("port is free again")).collect();
    let second = start(dir.path(), THREE).await;
    assert!(second.addresses().iter().all(|address| !before.contains(address)));
    assert_filled(&second).await;
    second.stop().await;
}

fn ids(cluster: &LocalCluster) -> Vec<String> {
    cluster.nodes().iter().filter_map(|node| node.id()).map(str::to_owned).collect()
}

#[tokio::test]
async fn a_directory_has_one_user_and_one_topology() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let cluster = start(dir.path(), Topology::Single).await;
    let second = LocalCluster::start(Options::new(dir.path(), Topology::Single)).await;
    assert!(matches!(second, Err(Error::InUse(_))), "{second:?}");
    cluster.stop().await;
    let other = LocalCluster::start(Options::new(dir.path(), THREE)).await;
    assert!(matches!(other, Err(Error::OtherTopology { .. })), "{other:?}");
}

#[tokio::test]
async fn a_bootstrap_that_was_cut_short_is_done_again() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let cut = tokio::time::timeout(Duration::from_millis(500), start(dir.path(), THREE)).await;
    assert!(cut.is_err(), "the bootstrap takes longer than that");
    start(dir.path(), THREE).await.stop().await;
}

#[tokio::test]
async fn what_is_missing_or_too_old_is_named() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let options = || Options::new(dir.path().join("data"), Topology::Single);
    let missing = LocalCluster::start(options().server("no-such-server")).await.expect_err("missing");
    assert_eq!(
        missing.to_string(),
        "no-such-server was not found: install Redis 7.0 or later with `apt-get install redis-server`"
    );
    let missing = LocalCluster::start(options().cli("no-such-cli")).await.expect_err("missing");
    assert!(missing.to_string().starts_with("no-such-cli was not found"));

    let old = dir.path().join("old-server");
    fs::write(&old, "#!/bin/sh\necho Redis server v=6.2.14 sha=0\n").expect("write");
    fs::set_permissions(&old, fs::Permissions::from_mode(0o755)).expect("make executable");
    let error = LocalCluster::start(options().server(&old)).await.expect_err("too old");
    assert!(matches!(&error, Error::Unsupported { says, .. } if says.contains("6.2.14")), "{error}");
}

#[tokio::test]
async fn a_server_that_ends_at_once_shows_its_log() {
    let options = Options::temporary(Topology::Single).expect("temporary directory").setting("no-such-setting 1");
    let error = LocalCluster::start(options).await.expect_err("bad setting");
    assert!(matches!(&error, Error::Died { log, port_taken: false } if log.contains("no-such-setting")), "{error}");
}

#[tokio::test]
async fn servers_that_are_not_ready_in_time_show_their_logs() {
    let options = Options::temporary(THREE).expect("temporary directory").ready_within(Duration::from_millis(700));
    let error = LocalCluster::start(options).await.expect_err("a cluster takes 2 s");
    assert!(matches!(&error, Error::NotReady { log, .. } if log.contains("Ready to accept")), "{error}");
}

#[tokio::test]
async fn clusters_that_start_at_once_do_not_disturb_each_other() {
    let clusters = tokio::join!(temporary(THREE), temporary(THREE), temporary(THREE), temporary(Topology::Single));
    let clusters = [clusters.0, clusters.1, clusters.2, clusters.3];
    for cluster in clusters {
        fill(&cluster).await;
        cluster.settle(LIMIT).await.expect("healthy");
        cluster.stop().await;
    }
}
