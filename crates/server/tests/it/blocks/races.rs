//! Follows and blocks at once.

use futures::{StreamExt, future::join_all, stream};
use rand::Rng;
use socialgraph::admin::v1::VerifyUserRequest;

use super::blocked;
use crate::support::{Api, Place, assert_mirrored, refused, seeded};

const CROWD: i64 = 8;

/// Nobody follows anybody across a block.
async fn assert_separate(api: &Api) {
    let edges = assert_mirrored(api, 1..=CROWD).await;
    for user in 1..=CROWD {
        let request = VerifyUserRequest { user_id: user, ..Default::default() };
        let findings = api.admin().verify_user(request).await.expect("verify").into_inner().findings;
        assert_eq!(findings.map(|findings| findings.drift_count), Some(0), "{user}");
        for (other, _) in api.blocks(user, 100).await {
            let across = edges.iter().find(|edge| [(user, other), (other, user)].contains(&(edge.0, edge.1)));
            assert_eq!(across, None, "{user} blocks {other}");
        }
    }
}

/// Whichever of the two is first: there is never both a block and a follow, nor half a follow.
async fn field_g13_a_block_and_a_follow_at_once(place: Place) {
    let servers = [place.serve(&[]).await, place.serve(&[]).await];
    for round in 0..30 {
        let (one, other) = (10 + 2 * round, 11 + 2 * round);
        if round % 3 == 0 {
            servers[0].follow(other, one).await;
        }
        let follows =
            join_all([(one, other), (other, one)].into_iter().flat_map(|(follower, followee)| {
                servers.iter().map(move |server| server.try_follow(follower, followee))
            }));
        let (answers, block) = futures::join!(follows, servers[round as usize % 2].block(one, other));
        assert!(block.created);
        for status in answers.into_iter().filter_map(Result::err) {
            refused::<()>(Err(status), &blocked(), round);
        }
        place.settled().await;
        assert!(assert_mirrored(&servers[0], [one, other]).await.is_empty(), "round {round}");
    }
}

/// Random calls of many callers on few users.
async fn field_g2_after_a_storm_of_blocks_counts_are_the_lengths_of_lists(place: Place) {
    let mut random = seeded();
    let servers = [place.serve(&[]).await, place.serve(&[]).await];
    for round in 0..3 {
        let plans: Vec<(usize, i64, i64, u32)> = (0..1_000)
            .map(|number| {
                let user = random.random_range(1..=CROWD);
                let other = (user + random.random_range(1..CROWD) - 1) % CROWD + 1;
                (number % 2, user, other, random.random_range(0..20))
            })
            .collect();
        stream::iter(plans)
            .for_each_concurrent(32, async |(server, user, other, choice)| {
                let api = &servers[server];
                match choice {
                    0..10 => {
                        if let Err(status) = api.try_follow(user, other).await {
                            refused::<()>(Err(status), &blocked(), (user, other));
                        }
                    }
                    10..13 => drop(api.unfollow(user, other).await),
                    13..16 => drop(api.block(user, other).await),
                    _ => drop(api.unblock(user, other).await),
                }
            })
            .await;
        place.settled().await;
        assert_separate(&servers[round % 2]).await;
    }
}

on_each_backend!(
    field_g13_a_block_and_a_follow_at_once,
    field_g2_after_a_storm_of_blocks_counts_are_the_lengths_of_lists,
);
