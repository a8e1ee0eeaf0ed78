//! A user with so many followers that the oldest of them lie in shards.

use std::collections::BTreeSet;

use keyspace::List;
use socialgraph::admin::v1::DriftKind::{GhostFollower, MissingFollower, WrongCount};

use super::support::{BEGIN, assert_clean, miscount, repair, verify, verify_by};
use crate::support::{Place, eventually, row_at};

const STAR: i64 = 1;
/// More than stay in the star's own partition.
const FANS: i64 = 14_000;
const FIRST: i64 = 100_000;
const GHOST: i64 = 999_999;

/// A segment of a shard, with two of its followers and since when they follow.
async fn in_a_shard(place: &Place) -> (String, [(i64, i64); 2]) {
    let shards = format!("{}:*:shard:{STAR}:*", place.name);
    let is_segment = |key: &String| !["parts", "gone", "facts"].iter().any(|end| key.ends_with(end));
    let segment = eventually("the oldest followers are in shards", async || {
        place.redis.scan(&shards).await.into_iter().map(|(_, key)| key).find(is_segment)
    })
    .await;
    let reply = place.redis.command(&["ZRANGE", &segment, "3", "4", "WITHSCORES"]).await;
    let words: Vec<i64> = reply.lines().map(|line| line.parse::<f64>().unwrap() as i64).collect();
    let [one, since, other, other_since] = words[..] else { panic!("{reply}") };
    (segment, [(one, since), (other, other_since)])
}

async fn the_followers_of_a_star_are_compared_in_its_shards(place: Place) {
    let api = place.serve(&[]).await;
    for first in (0..FANS).step_by(7_000) {
        let rows = (first..first + 7_000).map(|n| row_at(FIRST + n, STAR, BEGIN + n));
        assert_eq!(api.import(rows.collect()).await.created, 7_000);
    }
    place.settled().await;
    let looked = eventually("no segment moves", async || {
        let looked = verify_by(&api, STAR, 3_000).await;
        looked.is_clean().then_some(looked)
    })
    .await;
    assert_eq!(looked.edges, FANS);
    assert!(looked.pages >= 4, "{}", looked.pages);
    // One follower less, one ghost more, both in a shard; and a count that is wrong besides.
    let (segment, [(lost, lost_since), (_, since)]) = in_a_shard(&place).await;
    assert_eq!(place.redis.command(&["ZREM", &segment, &lost.to_string()]).await, "1");
    place.redis.command(&["ZADD", &segment, &since.to_string(), &GHOST.to_string()]).await;
    miscount(&place, List::Followers, STAR, 5).await;

    let missing = BTreeSet::from([(MissingFollower, lost, STAR, Some(lost_since), None)]);
    let drifts = BTreeSet::from([
        (GhostFollower, GHOST, STAR, None, Some(since)),
        (WrongCount, 0, STAR, Some(FANS - 5), Some(FANS)),
    ]);
    assert_eq!(verify(&api, lost).await.drifts, missing);
    assert_eq!(verify(&api, STAR).await.drifts, drifts);
    assert_eq!(repair(&api, STAR).await.drifts, drifts);
    assert_eq!(api.count(STAR).await, (0, FANS - 1));
    assert_eq!(repair(&api, lost).await.drifts, missing);
    assert_eq!(api.count(STAR).await, (0, FANS));
    place.settled().await;
    assert_clean(&api, [STAR, lost, GHOST]).await;
    let followers = api.followers(STAR).await;
    assert!(followers.into_iter().eq((0..FANS).rev().map(|n| (FIRST + n, BEGIN + n))));
}

on_each_backend!(the_followers_of_a_star_are_compared_in_its_shards);
