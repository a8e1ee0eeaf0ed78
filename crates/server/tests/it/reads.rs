//! IsFollowing, BatchIsFollowing, BatchGetCounts, and how fresh a read is.

use model::UserId;
use socialgraph::v1::{Consistency, IsFollowingRequest, consistency::Requirement};
use tonic::{Response, Status};

use crate::support::{Place, Refusal, micros, refused, row_at};

async fn users_never_seen_have_nothing(place: Place) {
    let api = place.serve(&[]).await;
    assert_eq!(api.is_following(1, 2).await, None);
    assert_eq!(api.is_following(7, 7).await, None);
    assert_eq!(api.batch_is_following(1, &[2, 3, 1]).await, [None, None, None]);
    assert_eq!(api.counts(&[1, i64::MAX]).await, [(0, 0), (0, 0)]);
    assert_eq!((api.following(1).await, api.followers(1).await), (vec![], vec![]));
    assert!(place.snapshot().await.keys().all(|key| key.ends_with(":format")), "a read wrote");
}

async fn a_batch_keeps_order_and_repeats(place: Place) {
    let api = place.serve(&[]).await;
    let at2 = micros(api.follow(1, 2).await.followed_at);
    let at9 = micros(api.follow(1, 9).await.followed_at);
    let asked = [9, 3, 2, 9, 9, 1, 2];
    let expected = [Some(at9), None, Some(at2), Some(at9), Some(at9), None, Some(at2)];
    assert_eq!(api.batch_is_following(1, &asked).await, expected);
    assert_eq!(api.counts(&[2, 1, 1, 3, 2]).await, [(0, 1), (2, 0), (2, 0), (0, 0), (0, 1)]);
}

async fn the_largest_batches_are_answered(place: Place) {
    let api = place.serve(&[]).await;
    let rows = (2..=1_000).step_by(2).map(|followee| row_at(1, followee, 1_000 + followee)).collect();
    assert_eq!(api.import(rows).await.created, 500);
    let asked: Vec<i64> = (2..=1_001).rev().collect();
    let expected: Vec<Option<i64>> = asked.iter().map(|id| (id % 2 == 0).then_some(1_000 + id)).collect();
    assert_eq!(api.batch_is_following(1, &asked).await, expected);
    let users: Vec<i64> = (1..=200).collect();
    let counts = api.counts(&users).await;
    assert_eq!(counts[0], (500, 0));
    assert!((2..=200).all(|id| counts[id as usize - 1] == (0, i64::from(id % 2 == 0))));
}

async fn read(
    api: &crate::support::Api,
    follower_id: i64,
    requirement: Requirement,
) -> Result<Response<socialgraph::v1::IsFollowingResponse>, Status> {
    let consistency = Some(Consistency { requirement: Some(requirement) });
    api.social().is_following(IsFollowingRequest { follower_id, followee_id: 2, consistency }).await
}

/// Two users of different partitions.
fn strangers(place: &Place) -> (i64, i64) {
    let keys = place.keys();
    let partition = |id| keys.partition(UserId::new(id).unwrap());
    let other = (3..).find(|&id| partition(id) != partition(1)).unwrap();
    (1, other)
}

async fn every_choice_of_freshness_sees_what_was_written(place: Place) {
    let api = place.serve(&[]).await;
    let second = place.serve(&[]).await;
    let (one, other) = strangers(&place);
    let mine = api.follow(one, 2).await;
    let foreign = api.follow(other, 2).await;
    let unfollowed = api.unfollow(other, 2).await;
    let choices = [
        Requirement::MinimizeLatency(true),
        Requirement::FullyConsistent(true),
        Requirement::AtLeastAsFresh(mine.consistency_token.clone()),
        Requirement::AtLeastAsFresh(foreign.consistency_token),
        Requirement::AtLeastAsFresh(unfollowed.consistency_token),
    ];
    for instance in [&api, &second] {
        for choice in &choices {
            for (follower, following) in [(one, true), (other, false)] {
                let answer = read(instance, follower, choice.clone()).await.unwrap().into_inner();
                assert_eq!(answer.following, following, "{choice:?}");
                assert_eq!(answer.followed_at, mine.followed_at.filter(|_| following));
            }
        }
        let unset = IsFollowingRequest { follower_id: one, followee_id: 2, consistency: Some(Consistency::default()) };
        assert!(instance.social().is_following(unset).await.unwrap().into_inner().following);
    }
}

async fn a_repeated_write_gives_a_token_too(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(1, 2).await;
    let tokens = [
        (api.follow(1, 2).await.consistency_token, true),
        (api.unfollow(1, 2).await.consistency_token, false),
        (api.unfollow(1, 2).await.consistency_token, false),
    ];
    for (token, _) in tokens {
        let answer = read(&api, 1, Requirement::AtLeastAsFresh(token)).await.unwrap().into_inner();
        assert!(!answer.following);
    }
}

async fn a_bad_choice_of_freshness_is_refused(place: Place) {
    let api = place.serve(&[]).await;
    let token = api.follow(1, 2).await.consistency_token;
    let field = Refusal::fields(&["consistency.minimize_latency"]);
    refused(read(&api, 1, Requirement::MinimizeLatency(false)).await, &field, "false");
    let field = Refusal::fields(&["consistency.fully_consistent"]);
    refused(read(&api, 1, Requirement::FullyConsistent(false)).await, &field, "false");

    let field = Refusal::fields(&["consistency.at_least_as_fresh"]);
    for position in 0..token.len() {
        let other = if &token[position..=position] == "A" { "B" } else { "A" };
        let altered = format!("{}{other}{}", &token[..position], &token[position + 1..]);
        refused(read(&api, 1, Requirement::AtLeastAsFresh(altered)).await, &field, position);
        let cut = token[..position].to_owned();
        refused(read(&api, 1, Requirement::AtLeastAsFresh(cut)).await, &field, position);
    }
    let elsewhere = place.another().await.serve(&[]).await.follow(1, 2).await.consistency_token;
    for garbage in ["x", "=", " ", "é", &"A".repeat(10_000), &format!("{token}="), &format!("{token}A"), &elsewhere] {
        refused(read(&api, 1, Requirement::AtLeastAsFresh(garbage.to_owned())).await, &field, garbage);
    }
}

/// A write that its token names and a primary no longer has: as after a failover to a replica that lacked it.
async fn a_lost_write_is_told(place: Place) {
    let api = place.serve(&[]).await;
    let token = api.follow(1, 2).await.consistency_token;
    place.settled().await;
    let keys = place.keys();
    let clock = keys.clock(keys.partition(UserId::new(1).unwrap())).to_string();
    place.redis.command(&["SET", &clock, "1700000000000000"]).await;
    let lost = Refusal::new(tonic::Code::Unavailable, "STORE_UNAVAILABLE");
    refused(read(&api, 1, Requirement::AtLeastAsFresh(token.clone())).await, &lost, "own partition");
    let (_, other) = strangers(&place);
    refused(read(&api, other, Requirement::AtLeastAsFresh(token)).await, &lost, "another partition");
    assert!(read(&api, 1, Requirement::FullyConsistent(true)).await.unwrap().into_inner().following);
}

on_each_backend!(
    users_never_seen_have_nothing,
    a_batch_keeps_order_and_repeats,
    the_largest_batches_are_answered,
    every_choice_of_freshness_sees_what_was_written,
    a_repeated_write_gives_a_token_too,
    a_bad_choice_of_freshness_is_refused,
    a_lost_write_is_told,
);
