//! What changes while VerifyUser looks is no drift.

use std::sync::atomic::{AtomicBool, Ordering};

use futures::{StreamExt, stream};
use rand::Rng;
use socialgraph::admin::v1::{RepairUserRequest, VerifyUserRequest};

use super::support::{BEGIN, assert_clean, remove, repair, user, verify};
use crate::support::{Place, Refusal, assert_mirrored, micros, refused, row_at, seeded};

const CROWD: i64 = 12;
const CALLS: usize = 4_000;

async fn a_storm_of_writes_is_no_drift(place: Place) {
    let mut random = seeded();
    let (api, other) = (place.serve(&[]).await, place.serve(&[]).await);
    // Long lists, so that counts and sets change as well.
    let rows = (1..=CROWD).flat_map(|id| {
        let many = 1_000 * id..1_000 * id + 150;
        many.flat_map(move |other| [row_at(id, other, BEGIN + other), row_at(other, id, BEGIN + other)])
    });
    api.import(rows.collect()).await;
    let plans: Vec<(bool, i64, i64)> = (0..CALLS)
        .map(|_| {
            let follower = random.random_range(1..=CROWD);
            (random.random(), follower, (follower + random.random_range(1..CROWD) - 1) % CROWD + 1)
        })
        .collect();
    let is_over = AtomicBool::new(false);
    let storm = async {
        stream::iter(plans)
            .for_each_concurrent(8, async |(follows, follower, followee)| match follows {
                true => drop(api.follow(follower, followee).await),
                false => drop(other.unfollow(follower, followee).await),
            })
            .await;
        is_over.store(true, Ordering::Relaxed);
    };
    let looks = async {
        let mut looks = 0;
        while !is_over.load(Ordering::Relaxed) {
            let id = looks % CROWD + 1;
            // Repairs that find nothing change nothing.
            let looked = if looks % 3 == 0 { repair(&other, id).await } else { verify(&api, id).await };
            assert_eq!(looked.drift_count, 0, "{looked:?}");
            looks += 1;
        }
        looks
    };
    let ((), looks) = futures::join!(storm, looks);
    assert!(looks > 0);
    place.settled().await;
    assert_clean(&api, 1..=CROWD).await;
}

/// A follow whose second half is still to come is not taken for a half edge, however long that takes.
async fn a_pending_change_is_in_flight(place: Place) {
    let api = place.serve(&[("relay.min-age", "5m")]).await;
    let at = micros(api.follow(1, 2).await.followed_at);
    place.settled().await;
    let (keys, partition) = (place.keys(), place.keys().partition(user(1)));
    remove(&place, &keys.followers(user(2)), 1).await;
    let version = place.redis.command(&["GET", &keys.clock(partition).to_string()]).await;
    let pending = keys.pending(partition).to_string();
    place.redis.command(&["ZADD", &pending, &version, &version]).await;
    for looked in [verify(&api, 1).await, repair(&api, 1).await] {
        assert_eq!((looked.drift_count, looked.in_flight, looked.edges), (0, 1, 1));
    }
    assert_eq!(api.followers(2).await, []);
    // Once nothing is pending, it is drift.
    place.redis.command(&["DEL", &pending]).await;
    assert_eq!(verify(&api, 1).await.drift_count, 1);
    assert_eq!(repair(&api, 1).await.drift_count, 1);
    assert_eq!(assert_mirrored(&api, 1..=2).await.into_iter().collect::<Vec<_>>(), [(1, 2, at)]);
}

async fn users_never_seen_and_deleted_users_are_well(place: Place) {
    let api = place.serve(&[]).await;
    assert_clean(&api, [1, i64::MAX]).await;
    api.follow(1, 2).await;
    let request = socialgraph::v1::DeleteUserRequest { user_id: 1 };
    api.social().delete_user(request).await.unwrap();
    place.settled().await;
    assert_clean(&api, 1..=2).await;
}

async fn bad_input_is_refused(place: Place) {
    let api = place.serve(&[]).await;
    for (user_id, page_size, fields) in
        [(0, 0, &["user_id"][..]), (-1, -1, &["user_id", "page_size"]), (1, 50_001, &["page_size"])]
    {
        let (expected, page_token) = (Refusal::fields(fields), String::new());
        let request = VerifyUserRequest { user_id, page_size, page_token: page_token.clone() };
        refused(api.admin().verify_user(request).await, &expected, user_id);
        let request = RepairUserRequest { user_id, page_size, page_token };
        refused(api.admin().repair_user(request).await, &expected, user_id);
    }
    // Two of each list, so that the second page begins in the middle of one.
    api.import([(1, 2), (1, 3), (4, 1), (5, 1)].map(|(one, other)| row_at(one, other, BEGIN + one + other)).into())
        .await;
    let request =
        |user_id, page_token: &str| VerifyUserRequest { user_id, page_size: 1, page_token: page_token.to_owned() };
    let mut token = String::new();
    for _ in 0..4 {
        let page = api.admin().verify_user(request(1, &token)).await.unwrap().into_inner();
        assert_eq!(page.findings.unwrap().edges_checked, 1);
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
        refused(api.admin().verify_user(request(2, &token)).await, &Refusal::page_token(), "another user");
        let other_call = RepairUserRequest { user_id: 1, page_size: 1, page_token: token.clone() };
        refused(api.admin().repair_user(other_call).await, &Refusal::page_token(), "another call");
    }
    assert_eq!(token, "");
    refused(api.admin().verify_user(request(1, "x")).await, &Refusal::page_token(), "garbage");
}

on_each_backend!(
    a_storm_of_writes_is_no_drift,
    a_pending_change_is_in_flight,
    users_never_seen_and_deleted_users_are_well,
    bad_input_is_refused,
);
