//! Harm done past the service: VerifyUser names exactly that, and RepairUser mends it.

use std::collections::BTreeSet;

use keyspace::List;
use socialgraph::admin::v1::DriftKind::{GhostFollower, MissingFollower, MissingId, StrayId, WrongCount, WrongTime};

use super::support::{BEGIN, add, assert_clean, miscount, remove, repair, user, verify};
use crate::support::{Place, assert_mirrored, micros, row_at};

async fn field_g11_repair_removes_a_ghost_follow(place: Place) {
    let api = place.serve(&[]).await;
    // 1 is listed among the followers of 2, but does not follow.
    add(&place, &place.keys().followers(user(2)), BEGIN, 1).await;
    let ghost = BTreeSet::from([(GhostFollower, 1, 2, None, Some(BEGIN))]);
    assert_eq!(verify(&api, 2).await.drifts, ghost);
    assert_eq!(api.followers(2).await, [(1, BEGIN)], "a look changes nothing");
    assert_eq!(repair(&api, 2).await.drifts, ghost);
    assert_eq!(assert_mirrored(&api, 1..=2).await, BTreeSet::new());
    assert_clean(&api, 1..=2).await;
    place.settled().await;
    assert!(api.follow(1, 2).await.created);
    assert_eq!(assert_mirrored(&api, 1..=2).await.len(), 1);
}

async fn field_g11_repair_makes_a_half_follow_whole(place: Place) {
    let api = place.serve(&[]).await;
    // 1 follows 2, who does not know of it.
    add(&place, &place.keys().following(user(1)), BEGIN, 2).await;
    let missing = BTreeSet::from([(MissingFollower, 1, 2, Some(BEGIN), None)]);
    assert_eq!(verify(&api, 1).await.drifts, missing);
    assert_eq!(repair(&api, 1).await.drifts, missing);
    assert_eq!(assert_mirrored(&api, 1..=2).await, BTreeSet::from([(1, 2, BEGIN)]));
    assert_clean(&api, 1..=2).await;
    // And now it can be ended, on both sides.
    assert!(api.unfollow(1, 2).await.removed);
    assert_eq!(assert_mirrored(&api, 1..=2).await, BTreeSet::new());
}

async fn field_g4_repair_fixes_and_reports_drift(place: Place) {
    let api = place.serve(&[]).await;
    let keys = place.keys();
    let rows = (2..=20).flat_map(|id| [row_at(1, id, BEGIN + id), row_at(id, 1, BEGIN + 100 + id)]);
    assert_eq!(api.import(rows.collect()).await.created, 38);
    place.settled().await;
    assert_clean(&api, [1, 2, 20]).await;
    remove(&place, &keys.followers(user(2)), 1).await;
    add(&place, &keys.followers(user(3)), BEGIN - 5, 1).await;
    remove(&place, &keys.following(user(4)), 1).await;
    add(&place, &keys.followers(user(1)), BEGIN + 7, 5).await;
    add(&place, &keys.followers(user(1)), BEGIN + 9, 99).await;
    let drifts = BTreeSet::from([
        (MissingFollower, 1, 2, Some(BEGIN + 2), None),
        (WrongTime, 1, 3, Some(BEGIN + 3), Some(BEGIN - 5)),
        (GhostFollower, 4, 1, None, Some(BEGIN + 104)),
        (WrongTime, 5, 1, Some(BEGIN + 105), Some(BEGIN + 7)),
        (GhostFollower, 99, 1, None, Some(BEGIN + 9)),
    ]);
    let looked = verify(&api, 1).await;
    assert_eq!((&looked.drifts, looked.drift_count, looked.edges), (&drifts, 5, 39));
    let repaired = repair(&api, 1).await;
    assert_eq!((repaired.drifts, repaired.drift_count), (drifts, 5));
    assert_eq!(assert_mirrored(&api, (1..=20).chain([99])).await.len(), 37);
    assert_clean(&api, (1..=20).chain([99])).await;
    place.settled().await;
    let again = repair(&api, 1).await;
    assert!(again.is_clean(), "{again:?}");
}

async fn a_list_that_is_lost_comes_back(place: Place) {
    let api = place.serve(&[]).await;
    assert_eq!(api.import((2..=400).map(|id| row_at(1, id, BEGIN + id)).collect()).await.created, 399);
    place.settled().await;
    for id in 2..=400 {
        let key = place.keys().followers(user(id)).to_string();
        if id % 2 == 0 {
            assert_eq!(place.redis.command(&["DEL", &key]).await, "1");
        }
    }
    let repaired = repair(&api, 1).await;
    // The first 100 of each call are named.
    assert_eq!((repaired.drift_count, repaired.drifts.len(), repaired.pages), (200, 100, 1));
    assert_clean(&api, [1, 2, 3, 400]).await;
    assert_eq!(assert_mirrored(&api, 1..=400).await.len(), 399);
}

/// A primary failed over to a replica that lacked the unfollow, of which the followee's partition keeps a tombstone.
async fn a_follow_that_came_back_is_mended_over_a_tombstone(place: Place) {
    let api = place.serve(&[]).await;
    let at = micros(api.follow(1, 2).await.followed_at);
    api.unfollow(1, 2).await;
    place.settled().await;
    add(&place, &place.keys().following(user(1)), at, 2).await;
    assert_eq!(repair(&api, 1).await.drifts, BTreeSet::from([(MissingFollower, 1, 2, Some(at), None)]));
    assert_eq!(assert_mirrored(&api, 1..=2).await, BTreeSet::from([(1, 2, at)]));
    assert_clean(&api, 1..=2).await;
}

async fn field_g3_a_wrong_count_is_set_right(place: Place) {
    let api = place.serve(&[]).await;
    let rows = (2..=400).flat_map(|id| [row_at(1, id, BEGIN + id), row_at(id, 1, BEGIN + id)]);
    assert_eq!(api.import(rows.collect()).await.created, 798);
    place.settled().await;
    assert_clean(&api, [1]).await;
    miscount(&place, List::Following, 1, 3).await;
    miscount(&place, List::Followers, 1, -4).await;
    assert_eq!(api.count(1).await, (396, 403));
    let drifts = BTreeSet::from([(WrongCount, 1, 0, Some(396), Some(399)), (WrongCount, 0, 1, Some(403), Some(399))]);
    assert_eq!(verify(&api, 1).await.drifts, drifts);
    assert_eq!(repair(&api, 1).await.drifts, drifts);
    assert_eq!(api.count(1).await, (399, 399));
    assert_clean(&api, [1]).await;
}

async fn the_set_of_a_long_list_is_set_right(place: Place) {
    let api = place.serve(&[]).await;
    assert_eq!(api.import((2..=400).map(|id| row_at(1, id, BEGIN + id)).collect()).await.created, 399);
    place.settled().await;
    let ids = place.keys().following_ids(user(1)).to_string();
    // The oldest ones are in segments, and 400 is in the head.
    for id in ["2", "7"] {
        assert_eq!(place.redis.command(&["SREM", &ids, id]).await, "1");
    }
    for id in ["400", "999"] {
        assert_eq!(place.redis.command(&["SADD", &ids, id]).await, "1");
    }
    assert_eq!(api.is_following(1, 2).await, None);
    let drifts = BTreeSet::from([
        (MissingId, 1, 2, None, None),
        (MissingId, 1, 7, None, None),
        (StrayId, 1, 400, None, None),
        (StrayId, 1, 999, None, None),
    ]);
    assert_eq!(verify(&api, 1).await.drifts, drifts);
    assert_eq!(repair(&api, 1).await.drifts, drifts);
    assert_clean(&api, [1]).await;
    assert_eq!(api.is_following(1, 2).await, Some(BEGIN + 2));
    assert_eq!(api.batch_is_following(1, &[7, 400, 999]).await, [Some(BEGIN + 7), Some(BEGIN + 400), None]);
    assert!(api.unfollow(1, 400).await.removed);
    assert_eq!(api.is_following(1, 400).await, None);
}

on_each_backend!(
    field_g11_repair_removes_a_ghost_follow,
    field_g11_repair_makes_a_half_follow_whole,
    field_g4_repair_fixes_and_reports_drift,
    a_list_that_is_lost_comes_back,
    a_follow_that_came_back_is_mended_over_a_tombstone,
    field_g3_a_wrong_count_is_set_right,
    the_set_of_a_long_list_is_set_right,
);
