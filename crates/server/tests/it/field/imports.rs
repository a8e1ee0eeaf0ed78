//! Imports beside live traffic.

use std::collections::BTreeMap;

use futures::future::join_all;
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::support::{Instance, Place, assert_mirrored, eventually, micros, now, row_at, seeded};

const BEGIN: i64 = 1_600_000_000_000_000;
const USERS: i64 = 60;

async fn field_g16_an_unfollow_before_its_row_stands(place: Place) {
    let api = place.serve(&[]).await;
    for followed_before in [false, true] {
        if followed_before {
            api.follow(1, 2).await;
        }
        assert_eq!(api.unfollow(1, 2).await.removed, followed_before);
        let answer = api.import(vec![row_at(1, 2, BEGIN), row_at(1, 3, BEGIN)]).await;
        assert_eq!(answer.superseded, 1);
        assert_eq!(api.is_following(1, 2).await, None);
    }
    assert_eq!(assert_mirrored(&api, 1..=3).await.len(), 1);
}

async fn field_g16_a_live_follow_keeps_its_time(place: Place) {
    let api = place.serve(&[]).await;
    api.unfollow(1, 2).await;
    let at = micros(api.follow(1, 2).await.followed_at);
    assert_eq!(api.import(vec![row_at(1, 2, BEGIN)]).await.existing, 1);
    assert_eq!(api.is_following(1, 2).await, Some(at));
    assert_eq!(api.followers(2).await, [(1, at)]);
}

/// What is known of an edge when all is done: `None` if it must not be there; else its time, 0 for a live one.
type Model = BTreeMap<(i64, i64), Option<i64>>;

fn edges() -> impl Iterator<Item = (i64, i64)> {
    (1..=USERS).flat_map(|follower| (1..=USERS).map(move |followee| (follower, followee))).filter(|(a, b)| a != b)
}

fn import_time((follower, followee): (i64, i64)) -> i64 {
    BEGIN + follower * 1_000 + followee
}

/// Follows and unfollows edges of its own, one after the other, and gives what it left.
async fn live_traffic(api: &Instance, own: Vec<(i64, i64)>, seed: u64) -> Model {
    let mut random = StdRng::seed_from_u64(seed);
    let mut last = Model::new();
    for _ in 0..300 {
        let edge = own[random.random_range(0..own.len())];
        if random.random_bool(0.4) {
            let followed = api.follow(edge.0, edge.1).await;
            // If the import was first, the edge is the imported one.
            last.insert(edge, Some(if followed.created { micros(followed.followed_at) } else { 0 }));
        } else {
            api.unfollow(edge.0, edge.1).await;
            last.insert(edge, None);
        }
    }
    last
}

/// Every row of an import is older than the live traffic beside it: an edge that was touched is as its last live write left
/// it, and the others are imported.
async fn field_g16_the_last_write_by_time_wins_beside_an_import(place: Place) {
    let mut random = seeded();
    let servers = [place.serve(&[]).await, place.serve(&[]).await];
    let begin = now();
    let workers = 8;
    let live = (0..workers).map(|worker| {
        let own = edges().enumerate().filter(|(number, _)| number % workers == worker).map(|(_, edge)| edge);
        let seed = random.random();
        live_traffic(&servers[worker % 2], own.collect(), seed)
    });
    let live = join_all(live.collect::<Vec<_>>());
    let importing = async {
        // Several imports of parts, so that some rows come before, some amid and some after the live calls.
        let rows: Vec<_> = edges().map(|edge| row_at(edge.0, edge.1, import_time(edge))).collect();
        let mut superseded = 0;
        for (number, rows) in rows.chunks(150).enumerate() {
            superseded += servers[number % 2].import(rows.to_vec()).await.superseded;
        }
        superseded
    };
    let (models, superseded) = tokio::join!(live, importing);
    let touched: Model = models.into_iter().flatten().collect();
    println!("{} edges touched, {superseded} rows superseded", touched.len());

    place.settled().await;
    eventually("lists are equal", async || (servers[0].count(1).await == servers[1].count(1).await).then_some(()))
        .await;
    let stored: BTreeMap<(i64, i64), i64> = assert_mirrored(&servers[0], 1..=USERS)
        .await
        .into_iter()
        .map(|(follower, followee, at)| ((follower, followee), at))
        .collect();
    for edge in edges() {
        let stored = stored.get(&edge).copied();
        match touched.get(&edge) {
            None => assert_eq!(stored, Some(import_time(edge)), "not touched: {edge:?}"),
            Some(None) => assert_eq!(stored, None, "unfollowed last: {edge:?}"),
            Some(Some(0)) => {
                let at = stored.unwrap_or_else(|| panic!("lost: {edge:?}"));
                assert!(at == import_time(edge) || at >= begin, "{edge:?} at {at}");
            }
            Some(&Some(at)) => assert_eq!(stored, Some(at), "followed last: {edge:?}"),
        }
    }
}

on_each_backend!(
    field_g16_an_unfollow_before_its_row_stands,
    field_g16_a_live_follow_keeps_its_time,
    field_g16_the_last_write_by_time_wins_beside_an_import,
);
