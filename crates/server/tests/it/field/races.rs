//! Many callers at once.

use std::collections::BTreeSet;

use futures::{StreamExt, future::join_all, stream};
use rand::Rng;

use crate::support::{Api, Instance, Place, assert_mirrored, micros, row_at, seeded};

/// Two servers of one keyspace, with two connections each.
async fn crowd(place: &Place) -> (Vec<Instance>, Vec<Api>) {
    let servers = vec![place.serve(&[]).await, place.serve(&[]).await];
    let mut connections = Vec::new();
    for server in &servers {
        connections.extend([server.connect().await, server.connect().await]);
    }
    (servers, connections)
}

async fn field_g1_of_parallel_unfollows_one_removes(place: Place) {
    let (_servers, apis) = crowd(&place).await;
    for round in 1..=5 {
        for other in [1, 2, 3] {
            apis[0].follow(other, 10).await;
        }
        let calls = (0..100).map(|number| apis[number % apis.len()].unfollow(1, 10));
        let removed = join_all(calls).await.iter().filter(|answer| answer.removed).count();
        assert_eq!(removed, 1, "round {round}");
        assert_eq!(apis[0].counts(&[1, 10]).await, [(0, 0), (0, 2)]);
        assert_mirrored(&apis[1], [1, 2, 3, 10]).await;
    }
}

async fn field_g9_of_parallel_follows_one_makes_the_edge(place: Place) {
    let (_servers, apis) = crowd(&place).await;
    for round in 1..=5 {
        let calls = (0..100).map(|number| apis[number % apis.len()].follow(1, 10));
        let answers = join_all(calls).await;
        assert_eq!(answers.iter().filter(|answer| answer.created).count(), 1, "round {round}");
        let times: BTreeSet<i64> = answers.iter().map(|answer| micros(answer.followed_at)).collect();
        assert_eq!(times.len(), 1, "one edge, one time: {times:?}");
        assert_eq!(apis[0].counts(&[1, 10]).await, [(1, 0), (0, 1)]);
        assert_eq!(assert_mirrored(&apis[1], [1, 10]).await.len(), 1);
        apis[2].unfollow(1, 10).await;
    }
}

const CROWD: i64 = 12;

/// Random calls of many callers on few users; counts are looked at all the while.
async fn field_g2_after_a_storm_counts_are_the_lengths_of_lists(place: Place) {
    let mut random = seeded();
    let (_servers, apis) = crowd(&place).await;
    let users: Vec<i64> = (1..=CROWD).collect();
    for round in 0..3 {
        let plans: Vec<(usize, i64, i64, u32)> = (0..1_500)
            .map(|number| {
                let follower = random.random_range(1..=CROWD);
                let followee = (follower + random.random_range(1..CROWD) - 1) % CROWD + 1;
                (number % apis.len(), follower, followee, random.random_range(0..20))
            })
            .collect();
        stream::iter(plans)
            .for_each_concurrent(64, async |(api, follower, followee, choice)| {
                let api = &apis[api];
                match choice {
                    0 => assert_in_range(&api.counts(&users).await),
                    1 => drop(api.import(vec![row_at(follower, followee, 1_600_000_000_000_000)]).await),
                    2..11 => drop(api.follow(follower, followee).await),
                    _ => drop(api.unfollow(follower, followee).await),
                }
            })
            .await;
        place.settled().await;
        let edges = assert_mirrored(&apis[round % apis.len()], users.clone()).await;
        println!("round {round}: {} edges", edges.len());
    }
}

fn assert_in_range(counts: &[(i64, i64)]) {
    let possible = 0..CROWD;
    assert!(counts.iter().all(|(following, followers)| possible.contains(following) && possible.contains(followers)));
}

on_each_backend!(
    field_g1_of_parallel_unfollows_one_removes,
    field_g9_of_parallel_follows_one_makes_the_edge,
    field_g2_after_a_storm_counts_are_the_lengths_of_lists,
);
