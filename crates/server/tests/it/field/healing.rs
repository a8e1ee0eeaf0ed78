//! Second halves of writes that got lost, and lists that disagree for whatever reason.

use std::collections::BTreeSet;

use model::UserId;
use rand::Rng;
use tokio::task::yield_now;

use crate::support::{Api, LIMIT, Place, assert_mirrored, eventually, micros, seeded};

const BEGIN: i64 = 1_600_000_000_000_000;

fn user(id: i64) -> UserId {
    UserId::new(id).unwrap()
}

/// Writes one half of the edge 1 -> 2 past the service.
async fn inject(place: &Place, forward: bool) {
    let keys = place.keys();
    let (key, member) = if forward { (keys.following(user(1)), "2") } else { (keys.followers(user(2)), "1") };
    assert_eq!(place.redis.command(&["ZADD", &key.to_string(), &BEGIN.to_string(), member]).await, "1");
}

async fn field_g11_a_follow_heals_a_half_edge(place: Place) {
    for forward in [true, false] {
        let place = place.another().await;
        let api = place.serve(&[]).await;
        inject(&place, forward).await;
        let followed = api.follow(1, 2).await;
        assert_eq!(followed.created, !forward);
        let at = micros(followed.followed_at);
        assert_eq!(at == BEGIN, forward);
        assert_eq!(assert_mirrored(&api, 1..=2).await, BTreeSet::from([(1, 2, at)]), "forward: {forward}");
    }
}

async fn field_g11_an_unfollow_removes_a_half_edge(place: Place) {
    for forward in [true, false] {
        let place = place.another().await;
        let api = place.serve(&[]).await;
        inject(&place, forward).await;
        assert_eq!(api.unfollow(1, 2).await.removed, forward);
        assert_eq!(assert_mirrored(&api, 1..=2).await, BTreeSet::new(), "forward: {forward}");
        assert_eq!(api.is_following(1, 2).await, None);
        // And it stays away.
        place.settled().await;
        assert_eq!(api.followers(2).await, []);
        assert!(api.follow(1, 2).await.created);
        assert_eq!(assert_mirrored(&api, 1..=2).await.len(), 1);
    }
}

/// Undoes the second half of the last write of user 1, as if the server had died right after the first.
async fn lose_second_half(place: &Place, undo: &[&[&str]]) {
    place.settled().await;
    let keys = place.keys();
    let partition = keys.partition(user(1));
    for command in undo {
        place.redis.command(command).await;
    }
    let last = place.redis.command(&["XREVRANGE", &keys.log(partition).to_string(), "+", "-", "COUNT", "1"]).await;
    let version = last.split_once('-').expect("a log entry").0;
    place.redis.command(&["ZADD", &keys.pending(partition).to_string(), version, version]).await;
}

async fn field_g15_the_relay_finishes_a_follow(place: Place) {
    let api = place.serve(&[]).await;
    let at = micros(api.follow(1, 2).await.followed_at);
    let followers = place.keys().followers(user(2)).to_string();
    lose_second_half(&place, &[&["ZREM", &followers, "1"]]).await;
    eventually("the follower is listed", async || (api.followers(2).await == [(1, at)]).then_some(())).await;
    place.settled().await;
    assert_eq!(assert_mirrored(&api, 1..=2).await.len(), 1);
}

async fn field_g15_the_relay_finishes_an_unfollow(place: Place) {
    let api = place.serve(&[]).await;
    let at = micros(api.follow(1, 2).await.followed_at);
    api.unfollow(1, 2).await;
    let (followers, gone) = (place.keys().followers(user(2)).to_string(), place.keys().gone(user(2)).to_string());
    lose_second_half(&place, &[&["ZREM", &gone, "1"], &["ZADD", &followers, &at.to_string(), "1"]]).await;
    eventually("the follower is gone", async || api.followers(2).await.is_empty().then_some(())).await;
    place.settled().await;
    assert_eq!(assert_mirrored(&api, 1..=2).await.len(), 0);
}

/// Sends a call and drops it after a while. Gives whether it was still going on.
async fn cancelled<T>(call: impl Future<Output = T>, after: u32) -> bool {
    let a_while = async {
        for _ in 0..after {
            yield_now().await;
        }
    };
    tokio::select! {
        biased;
        _ = call => false,
        () = a_while => true,
    }
}

/// Callers go away in mid-call, at every point of it: each call happens wholly or not at all, and lists become equal.
async fn field_g4_cancelled_calls_leave_no_half_edge(place: Place) {
    let mut random = seeded();
    let api = place.serve(&[]).await;
    let begin = std::time::Instant::now();
    let (mut sent, mut cut, mut done_though_cut) = (0, 0, 0);
    // Until calls were cut off both before and after they took effect.
    while sent < 400 || done_though_cut == 0 || done_though_cut == cut {
        assert!(begin.elapsed() < LIMIT, "of {sent} calls {cut} were cut off and {done_though_cut} took effect");
        let (follower, followee) = (random.random_range(1..=20), random.random_range(21..=40));
        let before = api.is_following(follower, followee).await;
        let after = random.random_range(0..300);
        let was_cut = match before {
            None => cancelled(api.follow(follower, followee), after).await,
            Some(_) => cancelled(api.unfollow(follower, followee), after).await,
        };
        sent += 1;
        if was_cut {
            cut += 1;
            done_though_cut += u32::from(takes_effect(&api, follower, followee, before).await);
        }
    }
    println!("of {sent} calls {cut} were cut off, and {done_though_cut} of these took effect");
    place.settled().await;
    assert_mirrored(&api, 1..=40).await;
}

async fn takes_effect(api: &Api, follower: i64, followee: i64, before: Option<i64>) -> bool {
    api.is_following(follower, followee).await != before
}

on_each_backend!(
    field_g11_a_follow_heals_a_half_edge,
    field_g11_an_unfollow_removes_a_half_edge,
    field_g15_the_relay_finishes_a_follow,
    field_g15_the_relay_finishes_an_unfollow,
    field_g4_cancelled_calls_leave_no_half_edge,
);
