//! How many follows an hour anyone may make.

use std::time::Duration;

use futures::future::join_all;
use socialgraph::v1::ErrorReason;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::{BEGIN, blocked};
use crate::support::{Place, Refusal, refused, row_at};

const LIMIT: (&str, &str) = ("limits.follows-per-hour", "10");
/// An hour's tenth.
const SHARE: Duration = Duration::from_secs(360);

fn limited() -> Refusal {
    Refusal::new(Code::ResourceExhausted, "RATE_LIMITED")
}

/// Asserts that it is refused for now, and gives for how long.
#[track_caller]
fn wait_of(status: Status) -> Duration {
    let wait = status.get_details_retry_info().and_then(|info| info.retry_delay).expect("when to retry");
    refused::<()>(Err(status), &limited(), "a follow too many");
    wait
}

async fn the_eleventh_follow_of_ten_is_told_to_wait(place: Place) {
    let api = place.serve(&[LIMIT]).await;
    for followee in 2..=11 {
        assert!(api.follow(1, followee).await.created);
    }
    let wait = wait_of(api.try_follow(1, 12).await.unwrap_err());
    // Since the first one, a machine may have been slow.
    assert!(wait <= SHARE && wait > SHARE - Duration::from_secs(60), "{wait:?}");
    assert_eq!(api.count(1).await, (10, 0));
    // What is there already costs nothing, nor does what another one does, nor an unfollow; a follow again does.
    assert!(!api.follow(1, 2).await.created);
    assert!(api.follow(2, 1).await.created);
    assert!(api.unfollow(1, 2).await.removed);
    wait_of(api.try_follow(1, 2).await.unwrap_err());
}

async fn a_share_of_the_hour_makes_room_for_one_more(place: Place) {
    let api = place.serve(&[LIMIT]).await;
    for followee in 2..=11 {
        api.follow(1, followee).await;
    }
    // As if some minutes had passed.
    let key = place.keys().rate(model::UserId::new(1).unwrap()).to_string();
    let ends: i64 = place.redis.command(&["GET", &key]).await.parse().unwrap();
    let expires: i64 = place.redis.command(&["PEXPIRETIME", &key]).await.parse().unwrap();
    assert!((0..=2).contains(&(expires - ends / 1_000)), "{ends} {expires}");
    let share = SHARE.as_micros() as i64;
    place.redis.command(&["SET", &key, &(ends - share).to_string()]).await;
    assert!(api.follow(1, 12).await.created);
    let wait = wait_of(api.try_follow(1, 13).await.unwrap_err());
    assert!(wait <= SHARE, "{wait:?}");
    // After an hour it is as if there had been none.
    place.redis.command(&["DEL", &key]).await;
    for followee in 13..=22 {
        assert!(api.follow(1, followee).await.created);
    }
    wait_of(api.try_follow(1, 23).await.unwrap_err());
}

async fn of_many_at_once_as_many_pass_as_may(place: Place) {
    let servers = [place.serve(&[LIMIT]).await, place.serve(&[LIMIT]).await];
    let calls = (2..=51).map(|followee| {
        let server = &servers[followee as usize % 2];
        async move { server.try_follow(1, followee).await }
    });
    let answers = join_all(calls).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 10);
    for status in answers.into_iter().filter_map(Result::err) {
        wait_of(status);
    }
    assert_eq!(servers[0].count(1).await, (10, 0));
}

/// Of a batch each row counts, and each is told what became of it.
async fn field_g23_no_row_of_a_batch_is_dropped_silently(place: Place) {
    let api = place.serve(&[LIMIT]).await;
    api.follow(1, 2).await;
    api.block(1, 3).await;
    let results = api.batch_follow(1, &(2..=20).collect::<Vec<_>>()).await;
    let reasons: Vec<_> = results.iter().map(|result| (result.followee_id, result.reason())).collect();
    let expected = (2..=20).map(|followee| match followee {
        3 => (followee, ErrorReason::Blocked),
        2 | 4..=12 => (followee, ErrorReason::Unspecified),
        _ => (followee, ErrorReason::RateLimited),
    });
    assert_eq!(reasons, expected.collect::<Vec<_>>());
    assert_eq!(api.count(1).await, (10, 0));
    // Whom the follower blocks is told so before that.
    refused(api.try_follow(1, 3).await, &blocked(), 3);
}

async fn imports_are_not_limited(place: Place) {
    let api = place.serve(&[LIMIT]).await;
    let rows = (2..=200).map(|followee| row_at(1, followee, BEGIN)).collect();
    assert_eq!(api.import(rows).await.created, 199);
    // Nor do they count.
    assert!(api.follow(1, 300).await.created);
}

async fn by_default_there_is_no_limit(place: Place) {
    let api = place.serve(&[]).await;
    let results = api.batch_follow(1, &(2..=400).collect::<Vec<_>>()).await;
    assert!(results.iter().all(|result| result.created));
    assert!(place.redis.scan(&format!("{}:*:rate:*", place.name)).await.is_empty());
}

on_each_backend!(
    the_eleventh_follow_of_ten_is_told_to_wait,
    a_share_of_the_hour_makes_room_for_one_more,
    of_many_at_once_as_many_pass_as_may,
    field_g23_no_row_of_a_batch_is_dropped_silently,
    imports_are_not_limited,
    by_default_there_is_no_limit,
);
