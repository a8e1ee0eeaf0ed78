//! Follow and Unfollow.

use socialgraph::v1::{FeedPolicy, FollowRequest, UnfollowRequest};
use tonic::Code;

use crate::support::{Place, Refusal, assert_mirrored, micros, now, refused};

async fn the_first_follow_makes_the_edge(place: Place) {
    let api = place.serve(&[]).await;
    let begin = now();
    let followed = api.follow(1, 2).await;
    let at = micros(followed.followed_at);
    assert!(followed.created && !followed.followers_pending);
    assert!(!followed.consistency_token.is_empty());
    assert!((begin..=now()).contains(&at), "{at}");
    assert_eq!(api.is_following(1, 2).await, Some(at));
    assert_eq!(api.is_following(2, 1).await, None);
    assert_eq!((api.following(1).await, api.followers(2).await), (vec![(2, at)], vec![(1, at)]));
    assert_eq!((api.following(2).await, api.followers(1).await), (vec![], vec![]));
    assert_eq!(api.counts(&[1, 2, 3]).await, [(1, 0), (0, 1), (0, 0)]);
}

async fn again_changes_nothing(place: Place) {
    let api = place.serve(&[]).await;
    let first = api.follow(1, 2).await;
    let before = place.snapshot().await;
    for _ in 0..3 {
        let again = api.follow(1, 2).await;
        assert!(!again.created && !again.followers_pending && !again.consistency_token.is_empty());
        assert_eq!(again.followed_at, first.followed_at);
    }
    assert_eq!(place.snapshot().await, before);
    assert_eq!(api.counts(&[1, 2]).await, [(1, 0), (0, 1)]);
}

async fn an_unfollow_ends_the_edge(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(1, 2).await;
    api.follow(1, 3).await;
    let removed = api.unfollow(1, 2).await;
    assert!(removed.removed && !removed.followers_pending && !removed.consistency_token.is_empty());
    assert_eq!(api.is_following(1, 2).await, None);
    assert_eq!(assert_mirrored(&api, 1..=3).await.len(), 1);
    let again = api.unfollow(1, 2).await;
    assert!(!again.removed && !again.followers_pending && !again.consistency_token.is_empty());
    assert_eq!(assert_mirrored(&api, 1..=3).await.len(), 1);
}

async fn unfollowing_whom_one_never_followed_removes_nothing(place: Place) {
    let api = place.serve(&[]).await;
    assert!(!api.unfollow(1, 2).await.removed);
    assert!(assert_mirrored(&api, 1..=2).await.is_empty());
}

async fn a_new_follow_after_an_unfollow_has_a_new_time(place: Place) {
    let api = place.serve(&[]).await;
    let mut last = 0;
    for _ in 0..20 {
        let followed = api.follow(1, 2).await;
        let at = micros(followed.followed_at);
        assert!(followed.created && at > last, "{at} after {last}");
        assert_eq!(api.followers(2).await, [(1, at)]);
        assert!(api.unfollow(1, 2).await.removed);
        assert_eq!(api.followers(2).await, []);
        last = at;
    }
}

async fn both_may_follow_each_other(place: Place) {
    let api = place.serve(&[]).await;
    let there = micros(api.follow(1, 2).await.followed_at);
    let back = micros(api.follow(2, 1).await.followed_at);
    assert_eq!(assert_mirrored(&api, 1..=2).await.into_iter().collect::<Vec<_>>(), [(1, 2, there), (2, 1, back)]);
    api.unfollow(1, 2).await;
    assert_eq!(assert_mirrored(&api, 1..=2).await.into_iter().collect::<Vec<_>>(), [(2, 1, back)]);
}

async fn the_largest_id_is_an_id(place: Place) {
    let api = place.serve(&[]).await;
    for (follower, followee) in [(i64::MAX, 1), (1, i64::MAX), (i64::MAX, i64::MAX - 1)] {
        let at = micros(api.follow(follower, followee).await.followed_at);
        assert_eq!(api.is_following(follower, followee).await, Some(at));
        assert_eq!(api.followers(followee).await[0], (follower, at));
        assert_eq!(api.following(follower).await[0], (followee, at));
    }
    assert_eq!(api.count(i64::MAX).await, (2, 1));
    assert!(api.unfollow(i64::MAX, 1).await.removed);
    assert_mirrored(&api, [1, i64::MAX - 1, i64::MAX]).await;
}

async fn a_source_is_kept_in_the_log(place: Place) {
    let api = place.serve(&[]).await;
    let longest = "x".repeat(64);
    for (followee_id, source) in [(2, "contacts of mine ~!"), (3, longest.as_str())] {
        let request = FollowRequest { follower_id: 1, followee_id, source: source.to_owned() };
        assert!(api.social().follow(request).await.unwrap().into_inner().created);
        let keys = place.keys();
        let log = keys.log(keys.partition(model::UserId::new(1).unwrap())).to_string();
        let last = place.redis.command(&["XREVRANGE", &log, "+", "-", "COUNT", "1"]).await;
        assert!(last.ends_with(&format!(" {source}")), "{last}");
    }
    place.settled().await;
    assert_eq!(assert_mirrored(&api, 1..=3).await.len(), 2);
}

async fn every_feed_policy_is_accepted(place: Place) {
    let api = place.serve(&[]).await;
    for policy in [FeedPolicy::Unspecified, FeedPolicy::Hide, FeedPolicy::Purge, FeedPolicy::KeepDelivered] {
        api.follow(1, 2).await;
        let request = UnfollowRequest { follower_id: 1, followee_id: 2, feed_policy: policy.into() };
        assert!(api.social().unfollow(request).await.unwrap().into_inner().removed, "{policy:?}");
    }
}

async fn nobody_follows_more_than_the_limit(place: Place) {
    let api = place.serve(&[("limits.max-following", "3")]).await;
    for followee in 2..=4 {
        assert!(api.follow(1, followee).await.created);
    }
    let before = place.snapshot().await;
    let follow = |follower_id, followee_id| FollowRequest { follower_id, followee_id, source: String::new() };
    let refusal = Refusal::new(Code::ResourceExhausted, "FOLLOW_LIMIT");
    refused(api.social().follow(follow(1, 5)).await, &refusal, "one too many");
    assert_eq!(place.snapshot().await, before);
    // Whom one follows already, one may go on to follow; others may follow; and an unfollow makes room.
    assert!(!api.follow(1, 4).await.created);
    assert!(api.follow(5, 1).await.created);
    assert!(api.unfollow(1, 2).await.removed);
    assert!(api.follow(1, 5).await.created);
    refused(api.social().follow(follow(1, 2)).await, &refusal, "full again");
    assert_eq!(api.count(1).await, (3, 1));
    assert_mirrored(&api, 1..=5).await;
}

on_each_backend!(
    the_first_follow_makes_the_edge,
    again_changes_nothing,
    an_unfollow_ends_the_edge,
    unfollowing_whom_one_never_followed_removes_nothing,
    a_new_follow_after_an_unfollow_has_a_new_time,
    both_may_follow_each_other,
    the_largest_id_is_an_id,
    a_source_is_kept_in_the_log,
    every_feed_policy_is_accepted,
    nobody_follows_more_than_the_limit,
);
