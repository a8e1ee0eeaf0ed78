//! GetTopology.

use socialgraph::admin::v1::{GetTopologyRequest, GetTopologyResponse, NodeRole, NodeState};

use super::support::{add, user};
use crate::support::{Api, Place, eventually, micros, now};

async fn topology(api: &Api) -> GetTopologyResponse {
    api.admin().get_topology(GetTopologyRequest {}).await.expect("topology").into_inner()
}

/// The numbers of ranges such as `0-3,7`.
fn numbers(ranges: &str) -> Vec<u32> {
    let ranges = ranges.split(',').filter(|range| !range.is_empty()).map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        first.parse::<u32>().unwrap()..=last.parse().unwrap()
    });
    ranges.flatten().collect()
}

fn assert_all_once(ranges: impl Iterator<Item = Vec<u32>>, partitions: u32) {
    let mut all: Vec<u32> = ranges.flatten().collect();
    all.sort_unstable();
    assert_eq!(all, (0..partitions).collect::<Vec<_>>());
}

async fn it_names_nodes_and_their_partitions(place: Place) {
    let api = place.serve(&[]).await;
    let answer = topology(&api).await;
    let mut addresses: Vec<_> = answer.nodes.iter().map(|node| node.address.clone()).collect();
    addresses.sort_unstable();
    let mut expected: Vec<_> = place.redis.urls().split(',').map(str::to_owned).collect();
    expected.sort_unstable();
    assert_eq!(addresses, expected);
    assert!(answer.nodes.iter().all(|node| node.role() == NodeRole::Primary && node.state() == NodeState::Up));
    assert!(answer.nodes.iter().all(|node| node.primary_id.is_empty()));
    assert_eq!(answer.nodes.iter().all(|node| !node.id.is_empty()), place.backend.is_cluster());
    assert_eq!(answer.nodes.iter().map(|node| node.slots).sum::<u32>(), 16_384);
    assert_eq!(answer.partitions, place.partitions);
    assert_all_once(answer.nodes.iter().map(|node| numbers(&node.partitions)), answer.partitions);
}

async fn it_names_instances_and_what_they_hold(place: Place) {
    let first = place.serve(&[]).await;
    let second = place.serve(&[]).await;
    let mut names = Vec::new();
    for api in [&first, &second] {
        let answer = eventually("both have leases", async || {
            let answer = topology(api).await;
            (answer.instances.len() == 2).then_some(answer)
        })
        .await;
        assert_all_once(answer.instances.iter().map(|instance| numbers(&instance.partitions)), answer.partitions);
        assert!(answer.instances.iter().all(|instance| instance.lease_until.is_some()));
        let asked: Vec<_> = answer.instances.into_iter().filter(|instance| instance.asked).collect();
        let [asked] = <[_; 1]>::try_from(asked).unwrap();
        names.push(asked.name);
    }
    assert_ne!(names[0], names[1]);
    second.stop().await;
    let left = eventually("one is gone", async || {
        let answer = topology(&first).await;
        (answer.instances.len() == 1).then_some(answer.instances)
    })
    .await;
    assert_eq!(
        (left[0].name.as_str(), numbers(&left[0].partitions).len() as u32),
        (names[0].as_str(), place.partitions)
    );
}

async fn it_counts_what_is_pending(place: Place) {
    let api = place.serve(&[("relay.min-age", "5m")]).await;
    let idle = topology(&api).await;
    assert_eq!((idle.pending_changes, idle.oldest_pending_at), (0, None));
    // Too young for the relay.
    let (keys, begin) = (place.keys(), now());
    for (id, version) in [(1, begin + 7), (2, begin + 3)] {
        add(&place, &keys.pending(keys.partition(user(id))), version, version).await;
    }
    let busy = topology(&api).await;
    assert_eq!(busy.pending_changes, 2);
    assert_eq!(micros(busy.oldest_pending_at), begin + 3);
}

on_each_backend!(it_names_nodes_and_their_partitions, it_names_instances_and_what_they_hold, it_counts_what_is_pending,);
