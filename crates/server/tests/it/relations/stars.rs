//! Users with so many followers that the oldest of them lie in shards.

use socialgraph::v1::{CommonFollowersRequest, KnownFollowersRequest, ListMutualsRequest};

use super::book::{BEGIN, Book, both, known, mutuals_of, walk_both, walk_known, walk_mutuals};
use crate::support::{Place, eventually};

const STAR: i64 = 1;
const OTHER_STAR: i64 = 2;
const FAN: i64 = 3;
/// More than stay in the star's own partition.
const FANS: i64 = 14_000;
const FIRST: i64 = 100_000;

async fn stars_are_searched_wherever_their_followers_lie(place: Place) {
    let api = place.serve(&[]).await;
    let mut book = Book::default();
    book.import(&api, (0..FANS).map(|n| (FIRST + n, STAR, BEGIN + n))).await;
    book.import(&api, (0..FANS).step_by(2).map(|n| (FIRST + n, OTHER_STAR, BEGIN + FANS - n))).await;
    // The fan follows followers of all ages, and the star follows some back.
    book.import(&api, (0..FANS + 500).step_by(100).map(|n| (FAN, FIRST + n, BEGIN + n / 1_000))).await;
    book.import(&api, (0..FANS).step_by(500).map(|n| (STAR, FIRST + n, BEGIN + n))).await;
    // What a slow machine does not apply in time is left to the relay.
    place.settled().await;
    let shards = format!("{}:*:shard:{STAR}:*:parts", place.name);
    eventually("the oldest followers are in shards", async || {
        (!place.redis.scan(&shards).await.is_empty()).then_some(())
    })
    .await;
    for (viewer, user) in [(FAN, STAR), (FAN, OTHER_STAR), (STAR, STAR), (STAR, OTHER_STAR)] {
        let expected = book.known_followers(viewer, user);
        assert!(expected.len() >= 28);
        let request = KnownFollowersRequest { page_size: 50, ..known(viewer, user) };
        assert_eq!(walk_known(&api, request, expected.len()).await, expected, "known {viewer} {user}");
    }
    for (user, other) in [(STAR, OTHER_STAR), (OTHER_STAR, STAR)] {
        let expected = book.common_followers(user, other);
        assert_eq!(expected.len() as i64, FANS / 2);
        // For the shorter page, times of the longer list are asked for later.
        for page_size in [130, 500] {
            let request = CommonFollowersRequest { page_size, ..both(user, other) };
            assert_eq!(walk_both(&api, request, expected.len()).await, expected, "both {user} {other} {page_size}");
        }
    }
    let request = ListMutualsRequest { page_size: 10, ..mutuals_of(STAR) };
    assert_eq!(walk_mutuals(&api, request).await, book.mutuals(STAR));
}

on_each_backend!(stars_are_searched_wherever_their_followers_lie);
