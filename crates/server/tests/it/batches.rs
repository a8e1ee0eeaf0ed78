//! Many follows and unfollows of one user in one call.

use std::collections::BTreeMap;

use rand::Rng;
use socialgraph::v1::{
    BatchFollowRequest, BatchFollowResponse, BatchUnfollowRequest, BatchUnfollowResponse, DeleteUserRequest,
    ErrorReason, FollowResult,
};

use crate::support::{Api, Place, Refusal, assert_mirrored, eventually, micros, now, refused, seeded};

impl Api {
    pub(crate) async fn batch_follow(&self, follower_id: i64, followee_ids: &[i64]) -> Vec<FollowResult> {
        let request = BatchFollowRequest { follower_id, followee_ids: followee_ids.to_vec(), source: String::new() };
        let BatchFollowResponse { results, consistency_token, .. } =
            self.social().batch_follow(request).await.expect("batch follow").into_inner();
        assert_eq!(results.iter().map(|result| result.followee_id).collect::<Vec<_>>(), followee_ids);
        assert!(!consistency_token.is_empty());
        for result in &results {
            let is_fine = result.reason() == ErrorReason::Unspecified;
            assert_eq!((result.followed_at.is_some(), result.message.is_empty()), (is_fine, is_fine), "{result:?}");
            assert!(is_fine || !result.created, "{result:?}");
        }
        results
    }

    /// Which rows ended a follow.
    async fn batch_unfollow(&self, follower_id: i64, followee_ids: &[i64]) -> Vec<bool> {
        let request = BatchUnfollowRequest { follower_id, followee_ids: followee_ids.to_vec() };
        let BatchUnfollowResponse { results, .. } =
            self.social().batch_unfollow(request).await.expect("batch unfollow").into_inner();
        assert_eq!(results.iter().map(|result| result.followee_id).collect::<Vec<_>>(), followee_ids);
        assert!(results.iter().all(|result| result.reason() == ErrorReason::Unspecified || !result.removed));
        results.into_iter().map(|result| result.removed).collect()
    }
}

fn created(results: &[FollowResult]) -> Vec<bool> {
    results.iter().map(|result| result.created).collect()
}

async fn rows_tell_their_own_outcomes_in_order(place: Place) {
    let api = place.serve(&[]).await;
    let before = now();
    let first = micros(api.follow(1, 3).await.followed_at);
    let results = api.batch_follow(1, &[2, 3, 1, 4, 2, 1]).await;
    assert_eq!(created(&results), [true, false, false, true, false, false]);
    assert_eq!(micros(results[1].followed_at), first);
    assert_eq!(results[4].followed_at, results[0].followed_at);
    assert!(micros(results[0].followed_at) >= before);
    for number in [2, 5] {
        assert_eq!(results[number].reason(), ErrorReason::SelfReference);
    }
    let edges = assert_mirrored(&api, 1..=4).await;
    let told = [0, 1, 3].map(|number| (1, results[number].followee_id, micros(results[number].followed_at)));
    assert_eq!(edges, told.into());

    assert_eq!(api.batch_unfollow(1, &[3, 9, 1, 3, 2]).await, [true, false, false, false, true]);
    assert_eq!(assert_mirrored(&api, 1..=9).await.len(), 1);
    let again = api.batch_follow(1, &[3]).await;
    assert!(again[0].created && micros(again[0].followed_at) > first);
}

/// Several scripts, long lists, and rows whose edges lie in segments.
async fn a_thousand_rows_are_one_call(place: Place) {
    let api = place.serve(&[]).await;
    let all: Vec<i64> = (100..1_100).collect();
    let made = api.batch_follow(1, &all).await;
    assert!(made.iter().all(|result| result.created));
    assert!(made.is_sorted_by_key(|result| micros(result.followed_at)));
    assert_eq!(api.count(1).await, (1_000, 0));
    let again = api.batch_follow(1, &all).await;
    assert!(again.iter().zip(&made).all(|(again, made)| !again.created && again.followed_at == made.followed_at));
    let more: Vec<i64> = (600..1_600).collect();
    assert_eq!(created(&api.batch_follow(1, &more).await).iter().filter(|created| **created).count(), 500);
    assert_eq!(assert_mirrored(&api, (1..2).chain(100..1_600)).await.len(), 1_500);

    let odd: Vec<i64> = (100..1_600).filter(|id| id % 2 == 1).chain(2_000..2_250).collect();
    let removed = api.batch_unfollow(1, &odd).await;
    assert!(removed.iter().zip(&odd).all(|(removed, id)| *removed == (*id < 2_000)));
    assert_eq!(assert_mirrored(&api, (1..2).chain(100..1_600)).await.len(), 750);
    let even: Vec<i64> = (100..1_600).filter(|id| id % 2 == 0).collect();
    assert!(api.batch_unfollow(1, &even).await.into_iter().all(|removed| removed));
    assert_eq!(api.count(1).await, (0, 0));
    assert!(assert_mirrored(&api, (1..2).chain(100..1_600)).await.is_empty());
}

async fn the_limit_is_checked_on_the_resulting_list(place: Place) {
    let api = place.serve(&[("limits.max-following", "100")]).await;
    api.follow(1, 500).await;
    let ids: Vec<i64> = (2..=121).chain([500, 2, 130]).collect();
    let results = api.batch_follow(1, &ids).await;
    let limited: Vec<i64> = results
        .iter()
        .filter(|result| result.reason() == ErrorReason::FollowLimit)
        .map(|result| result.followee_id)
        .collect();
    assert_eq!(limited, (101..=121).chain([130]).collect::<Vec<_>>());
    assert_eq!(api.count(1).await, (100, 0));
    assert_eq!(api.batch_unfollow(1, &[2, 3]).await, [true, true]);
    assert_eq!(created(&api.batch_follow(1, &[101, 102, 103]).await), [true, true, false]);
    assert_eq!(assert_mirrored(&api, (1..=130).chain([500])).await.len(), 100);
}

/// The same rows in one call and one by one give the same graph.
async fn batches_are_what_single_calls_are(place: Place) {
    let api = place.serve(&[]).await;
    let mut random = seeded();
    let mut model: BTreeMap<i64, bool> = BTreeMap::new();
    for _ in 0..40 {
        let ids: Vec<i64> = (0..random.random_range(1..200)).map(|_| random.random_range(2..400)).collect();
        let follows = random.random_bool(0.6);
        let changed =
            if follows { created(&api.batch_follow(1, &ids).await) } else { api.batch_unfollow(1, &ids).await };
        for (&id, changed) in ids.iter().zip(changed) {
            let was_there = model.insert(id, follows).unwrap_or(false);
            assert_eq!(changed, was_there != follows, "{id}");
        }
    }
    let expected: Vec<i64> = model.iter().filter(|(_, followed)| **followed).map(|(id, _)| *id).collect();
    let edges = assert_mirrored(&api, 1..400).await;
    assert_eq!(edges.iter().map(|&(_, followee, _)| followee).collect::<Vec<_>>(), expected);
}

async fn an_older_row_of_an_import_is_superseded_by_each_end(place: Place) {
    let api = place.serve(&[]).await;
    let ids: Vec<i64> = (2..=101).collect();
    api.batch_follow(1, &ids[..50]).await;
    api.batch_unfollow(1, &ids).await;
    let rows = ids.iter().map(|&id| crate::support::row_at(1, id, 1_600_000_000_000_000)).collect();
    assert_eq!(api.import(rows).await.superseded, 100);
    assert_eq!(api.count(1).await, (0, 0));
}

/// Some of the others are deleted, and then the follower.
async fn rows_about_deleted_users_are_refused_alone(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(1, 5).await;
    for user_id in [3, 5] {
        api.social().delete_user(DeleteUserRequest { user_id }).await.unwrap();
    }
    let results = api.batch_follow(1, &[2, 3, 4, 5]).await;
    let reasons = results.iter().map(|result| result.reason()).collect::<Vec<_>>();
    let [fine, refused] = [ErrorReason::Unspecified, ErrorReason::UserUnavailable];
    assert_eq!(reasons, [fine, refused, fine, refused]);
    eventually("only those are followed", async || (api.count(1).await == (2, 0)).then_some(())).await;
    api.social().delete_user(DeleteUserRequest { user_id: 1 }).await.unwrap();
    assert!(api.batch_follow(1, &[6, 7]).await.iter().all(|result| result.reason() == refused));
    eventually("nobody is followed", async || (api.count(1).await == (0, 0)).then_some(())).await;
    place.settled().await;
    assert!(assert_mirrored(&api, 1..=7).await.is_empty());
}

async fn a_batch_names_its_writes(place: Place) {
    let api = place.serve(&[]).await;
    let request = BatchFollowRequest { follower_id: 1, followee_ids: vec![2, 3], source: "contacts".to_owned() };
    let token = api.social().batch_follow(request).await.unwrap().into_inner().consistency_token;
    let requirement = Some(socialgraph::v1::consistency::Requirement::AtLeastAsFresh(token));
    let consistency = Some(socialgraph::v1::Consistency { requirement });
    let request = socialgraph::v1::IsFollowingRequest { follower_id: 1, followee_id: 3, consistency };
    assert!(api.social().is_following(request).await.unwrap().into_inner().following);
}

async fn bad_fields_are_named_and_nothing_is_written(place: Place) {
    let api = place.serve(&[]).await;
    let before = place.snapshot().await;
    let long = "x".repeat(65);
    let many = vec![2; 1_001];
    let cases: [(i64, &[i64], &str, &[&str]); 6] = [
        (0, &[2], "", &["follower_id"]),
        (1, &[], "", &["followee_ids"]),
        (1, &many, "", &["followee_ids"]),
        (1, &[2, 0, 3, -1], "", &["followee_ids[1]", "followee_ids[3]"]),
        (-1, &[0], &long, &["follower_id", "followee_ids[0]", "source"]),
        (1, &[1, i64::MIN], "é", &["followee_ids[1]", "source"]),
    ];
    for (follower_id, ids, source, fields) in cases {
        let followee_ids = ids.to_vec();
        let request = BatchFollowRequest { follower_id, followee_ids: followee_ids.clone(), source: source.to_owned() };
        refused(api.social().batch_follow(request).await, &Refusal::fields(fields), fields);
        let fields: Vec<_> = fields.iter().copied().filter(|field| *field != "source").collect();
        let request = BatchUnfollowRequest { follower_id, followee_ids };
        refused(api.social().batch_unfollow(request).await, &Refusal::fields(&fields), fields);
    }
    assert_eq!(place.snapshot().await, before, "something was written");
}

on_each_backend!(
    rows_tell_their_own_outcomes_in_order,
    a_thousand_rows_are_one_call,
    the_limit_is_checked_on_the_resulting_list,
    batches_are_what_single_calls_are,
    an_older_row_of_an_import_is_superseded_by_each_end,
    rows_about_deleted_users_are_refused_alone,
    a_batch_names_its_writes,
    bad_fields_are_named_and_nothing_is_written,
);
