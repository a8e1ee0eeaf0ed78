//! `consistency` of every read.

use model::{TokenKey, UserId, Version, WriteName};
use socialgraph::v1::{
    BatchGetCountsRequest, BatchIsFollowingRequest, CommonFollowersRequest, CommonFollowsRequest, Consistency,
    GetRelationshipsRequest, IsFollowingRequest, KnownFollowersRequest, ListBlockedRequest, ListFollowersRequest,
    ListFollowingRequest, ListMutedRequest, ListMutualsRequest, ScrollFeedRequest, consistency::Requirement,
};
use tonic::{Code, Response, Status};

use super::book::{both, known, mutuals_of};
use crate::support::{Api, Place, Refusal, micros, refused};

/// The outcome of every read with a choice of freshness, each with its name. Of user 1, and of 2 whom 1 follows.
async fn every_read(api: &Api, choice: &Requirement) -> Vec<(&'static str, Result<Response<()>, Status>)> {
    let consistency = Some(Consistency { requirement: Some(choice.clone()) });
    let (follower_id, followee_id, user_id, other_id) = (1, 2, 1, 2);
    let mut social = api.social();
    macro_rules! outcomes {
        ($($call:ident: $request:expr),* $(,)?) => {
            vec![$((stringify!($call), social.$call($request).await.map(|answer| answer.map(drop)))),*]
        };
    }
    outcomes![
        is_following: IsFollowingRequest { follower_id, followee_id, consistency: consistency.clone() },
        batch_is_following: BatchIsFollowingRequest {
            follower_id,
            followee_ids: vec![2],
            consistency: consistency.clone()
        },
        common_follows: CommonFollowsRequest {
            user_id,
            other_id,
            consistency: consistency.clone(),
            ..Default::default()
        },
        get_relationships: GetRelationshipsRequest {
            viewer_id: 1,
            target_ids: vec![2],
            consistency: consistency.clone()
        },
        list_mutuals: ListMutualsRequest { consistency: consistency.clone(), ..mutuals_of(1) },
        known_followers: KnownFollowersRequest { consistency: consistency.clone(), ..known(1, 2) },
        common_followers: CommonFollowersRequest { consistency: consistency.clone(), ..both(1, 2) },
        list_following: ListFollowingRequest { user_id, consistency: consistency.clone(), ..Default::default() },
        list_followers: ListFollowersRequest { user_id, consistency: consistency.clone(), ..Default::default() },
        list_blocked: ListBlockedRequest { user_id, consistency: consistency.clone(), ..Default::default() },
        list_muted: ListMutedRequest { user_id, consistency: consistency.clone(), ..Default::default() },
        batch_get_counts: BatchGetCountsRequest { user_ids: vec![2], consistency: consistency.clone() },
        scroll_feed: ScrollFeedRequest { user_id, consistency: consistency.clone(), ..Default::default() },
    ]
}

async fn every_read_takes_every_choice(place: Place) {
    let api = place.serve(&[]).await;
    let followed = api.follow(1, 2).await;
    let published = api.publish(2, "post").await;
    let choices = [
        Requirement::MinimizeLatency(true),
        Requirement::FullyConsistent(true),
        Requirement::AtLeastAsFresh(followed.consistency_token),
        Requirement::AtLeastAsFresh(published.consistency_token),
    ];
    for choice in choices {
        for (name, outcome) in every_read(&api, &choice).await {
            assert!(outcome.is_ok(), "{name} {choice:?}: {outcome:?}");
        }
    }
}

async fn every_read_refuses_bad_choices(place: Place) {
    let api = place.serve(&[]).await;
    let token = api.follow(1, 2).await.consistency_token;
    let elsewhere = place.another().await.serve(&[]).await.follow(1, 2).await.consistency_token;
    let bad = [
        (Requirement::MinimizeLatency(false), "consistency.minimize_latency"),
        (Requirement::FullyConsistent(false), "consistency.fully_consistent"),
        (Requirement::AtLeastAsFresh(elsewhere), "consistency.at_least_as_fresh"),
        (Requirement::AtLeastAsFresh(String::new()), "consistency.at_least_as_fresh"),
        (Requirement::AtLeastAsFresh("x".to_owned()), "consistency.at_least_as_fresh"),
        (Requirement::AtLeastAsFresh(token[1..].to_owned()), "consistency.at_least_as_fresh"),
    ];
    for (choice, field) in bad {
        for (name, outcome) in every_read(&api, &choice).await {
            refused(outcome, &Refusal::fields(&[field]), (name, &choice));
        }
    }
}

/// As after a failover to a replica that lacked the write.
async fn every_read_tells_a_lost_write(place: Place) {
    let api = place.serve(&[]).await;
    let keys = place.keys();
    let partition = |id| keys.partition(UserId::new(id).unwrap());
    let stranger = (3..).find(|&id| [1, 2].iter().all(|&known| partition(known) != partition(id))).unwrap();
    let tokens = [
        api.follow(stranger, 2).await.consistency_token,
        api.unfollow(stranger, 2).await.consistency_token,
        api.publish(stranger, "post").await.consistency_token,
    ];
    place.settled().await;
    let clock = keys.clock(partition(stranger)).to_string();
    place.redis.command(&["SET", &clock, "1700000000000000"]).await;
    for token in tokens {
        let choice = Requirement::AtLeastAsFresh(token);
        for (name, outcome) in every_read(&api, &choice).await {
            refused(outcome, &Refusal::new(Code::Unavailable, "STORE_UNAVAILABLE"), name);
        }
    }
}

/// What makes tokens in this keyspace.
async fn token_key(place: &Place) -> TokenKey {
    let format = place.keys().format().to_string();
    let hex = place.redis.command(&["HGET", &format, "token_key"]).await;
    let bytes = (0..16).map(|at| u8::from_str_radix(&hex.trim()[2 * at..2 * at + 2], 16).unwrap());
    TokenKey::new(bytes.collect::<Vec<_>>().try_into().unwrap())
}

/// Makes it look as if the server had died right after the first half of a follow: gives its token, and since when it is.
async fn follow_half(place: &Place, api: &Api, follower: i64, followee: i64) -> (String, i64) {
    let followed = api.follow(follower, followee).await;
    place.settled().await;
    let keys = place.keys();
    let partition = keys.partition(UserId::new(follower).unwrap());
    let at = micros(followed.followed_at);
    let followers = keys.followers(UserId::new(followee).unwrap()).to_string();
    assert_eq!(place.redis.command(&["ZREM", &followers, &follower.to_string()]).await, "1");
    let (pending, version) = (keys.pending(partition).to_string(), at.to_string());
    assert_eq!(place.redis.command(&["ZADD", &pending, &version, &version]).await, "1");
    let write = WriteName { partition: partition.get(), version: Version(at.cast_unsigned()), is_applied: false };
    (token_key(place).await.seal_consistency(write), at)
}

fn fresh(token: &str) -> Option<Consistency> {
    Some(Consistency { requirement: Some(Requirement::AtLeastAsFresh(token.to_owned())) })
}

/// The relay leaves everything alone for minutes: only the token tells of the write.
const NO_RELAY: [(&str, &str); 3] = [("relay.interval", "1m"), ("relay.min-age", "5m"), ("relay.lease", "5m")];

async fn a_pending_second_half_is_made_visible_by_its_token(place: Place) {
    let api = place.serve(&NO_RELAY).await;
    let second = place.serve(&NO_RELAY).await;
    // Each read by itself brings the half edge to light.
    let (token, at) = follow_half(&place, &api, 1, 2).await;
    assert_eq!((api.followers(2).await, api.count(2).await), (vec![], (0, 0)), "a half edge");
    let request = ListFollowersRequest { user_id: 2, consistency: fresh(&token), ..Default::default() };
    let users = second.social().list_followers(request).await.unwrap().into_inner().users;
    assert_eq!(users.iter().map(|user| (user.user_id, micros(user.followed_at))).collect::<Vec<_>>(), [(1, at)]);
    assert_eq!((api.followers(2).await, api.count(2).await), (vec![(1, at)], (0, 1)), "for everybody from now on");

    let (token, _) = follow_half(&place, &api, 1, 3).await;
    let request = BatchGetCountsRequest { user_ids: vec![3], consistency: fresh(&token) };
    assert_eq!(api.social().batch_get_counts(request).await.unwrap().into_inner().counts[0].followers, 1);

    // Two that hang together: the token of the later one finishes the earlier one of the same follower too.
    let (_, earlier) = follow_half(&place, &api, 1, 4).await;
    let followers = place.keys().followers(UserId::new(4).unwrap()).to_string();
    let version = earlier.to_string();
    let pending = place.keys().pending(place.keys().partition(UserId::new(1).unwrap())).to_string();
    place.redis.command(&["ZREM", &pending, &version]).await;
    let (token, later) = follow_half(&place, &api, 1, 5).await;
    place.redis.command(&["ZADD", &pending, &version, &version]).await;
    assert_eq!(place.redis.command(&["EXISTS", &followers]).await, "0");
    let request = CommonFollowersRequest { consistency: fresh(&token), ..both(5, 4) };
    let users = api.social().common_followers(request).await.unwrap().into_inner().users;
    let rows = users.iter().map(|user| (user.user_id, micros(user.followed_at), micros(user.other_followed_at)));
    assert_eq!(rows.collect::<Vec<_>>(), [(1, later, earlier)]);
    place.settled().await;
}

/// As if the server had died right after the first half of a block.
async fn a_pending_half_of_a_block_is_finished_by_its_token(place: Place) {
    let api = place.serve(&NO_RELAY).await;
    let (user, other) = (UserId::new(1).unwrap(), UserId::new(2).unwrap());
    let at = micros(api.follow(2, 1).await.followed_at).to_string();
    let blocked_at = micros(api.block(1, 2).await.blocked_at);
    place.settled().await;
    let keys = place.keys();
    let partition = keys.partition(user);
    let (following, followers) = (keys.following(other).to_string(), keys.followers(user).to_string());
    let (pending, version) = (keys.pending(partition).to_string(), blocked_at.to_string());
    for command in
        [["ZADD", &following, &at, "1"], ["ZADD", &followers, &at, "2"], ["ZADD", &pending, &version, &version]]
    {
        assert_eq!(place.redis.command(&command).await, "1");
    }
    assert_eq!(api.followers(1).await.len(), 1, "the follow of who is blocked");
    let version = Version(blocked_at.cast_unsigned());
    let write = WriteName { partition: partition.get(), version, is_applied: false };
    let consistency = fresh(&token_key(&place).await.seal_consistency(write));
    let request = ListFollowersRequest { user_id: 1, consistency, ..Default::default() };
    assert_eq!(api.social().list_followers(request).await.unwrap().into_inner().users, []);
    assert_eq!(api.is_following(2, 1).await, None);
    place.settled().await;
}

/// A pending follow that was undone since must not come back by its token.
async fn a_pending_follow_that_was_undone_stays_undone(place: Place) {
    let api = place.serve(&NO_RELAY).await;
    let (token, at) = follow_half(&place, &api, 1, 2).await;
    assert!(api.unfollow(1, 2).await.removed);
    let gone = place.keys().gone(UserId::new(2).unwrap()).to_string();
    // As if more than an hour had passed.
    place.redis.command(&["DEL", &gone]).await;
    let request = ListFollowersRequest { user_id: 2, consistency: fresh(&token), ..Default::default() };
    assert_eq!(api.social().list_followers(request).await.unwrap().into_inner().users, [], "{at}");
    assert_eq!(api.is_following(1, 2).await, None);
}

on_each_backend!(
    every_read_takes_every_choice,
    every_read_refuses_bad_choices,
    every_read_tells_a_lost_write,
    a_pending_second_half_is_made_visible_by_its_token,
    a_pending_half_of_a_block_is_finished_by_its_token,
    a_pending_follow_that_was_undone_stays_undone,
);
