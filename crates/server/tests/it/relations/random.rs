//! All four calls on random graphs, in which few users have most of the edges.

use std::collections::BTreeMap;

use rand::{Rng, rngs::StdRng};

use super::book::{BEGIN, Book, both, in_order, known, mutuals_of, walk_both, walk_known, walk_mutuals};
use crate::support::{ORDERS, Place, seeded, stamp};

const USERS: i64 = 400;
const TRIES: usize = 6_000;

/// A user; the first ones are the most likely.
fn likely_first(random: &mut StdRng) -> i64 {
    let share: f64 = random.random_range(0.0..1.0);
    1 + (USERS as f64 * share.powf(2.5)) as i64
}

/// Edges with times of which many are the same.
fn power_law(random: &mut StdRng) -> BTreeMap<(i64, i64), i64> {
    let tries = std::iter::repeat_with(|| {
        let edge = (likely_first(random), likely_first(random));
        (edge, BEGIN + random.random_range(0..1_000))
    });
    tries.take(TRIES).filter(|((follower, followee), _)| follower != followee).collect()
}

async fn field_g24_all_calls_are_as_brute_force_says(place: Place) {
    let mut random = seeded();
    let api = place.serve(&[]).await;
    let mut book = Book::default();
    let edges = power_law(&mut random);
    book.import(&api, edges.iter().map(|(&(follower, followee), &at)| (follower, followee, at))).await;
    assert!(book.mutuals(1).len() > 20, "a graph of something");
    let pairs: Vec<(i64, i64)> = [(1, 2), (2, 1), (1, 1), (1, USERS), (USERS, 1), (USERS + 1, 1), (1, USERS + 1)]
        .into_iter()
        .chain((0..12).map(|_| (likely_first(&mut random), likely_first(&mut random))))
        .collect();
    for &(user, other) in &pairs {
        let targets: Vec<i64> = (0..200).map(|_| random.random_range(1..=USERS + 10)).collect();
        book.check_relationships(&api, user, &targets).await;
        book.check_relationships(&api, user, &[other, user, other]).await;
        let page_size = [0, 3, 500][random.random_range(0..3)];

        let expected = book.known_followers(user, other);
        let request = socialgraph::v1::KnownFollowersRequest { page_size, ..known(user, other) };
        assert_eq!(walk_known(&api, request, expected.len()).await, expected, "known {user} {other} {page_size}");

        let expected = book.common_followers(user, other);
        let request = socialgraph::v1::CommonFollowersRequest { page_size, ..both(user, other) };
        assert_eq!(walk_both(&api, request, expected.len()).await, expected, "both {user} {other} {page_size}");
    }
    for user in [1, 2, 7, USERS, USERS + 1] {
        for order in ORDERS {
            let all = in_order(book.mutuals(user), order);
            for page_size in [0, 1, 7, 500] {
                let request =
                    socialgraph::v1::ListMutualsRequest { order: order.into(), page_size, ..mutuals_of(user) };
                assert_eq!(walk_mutuals(&api, request).await, all, "mutuals {user} {order:?} {page_size}");
            }
            let (from, before) = (BEGIN + 200, BEGIN + 600);
            let inside = all.into_iter().filter(|&(_, at, _)| (from..before).contains(&at)).collect::<Vec<_>>();
            let request = socialgraph::v1::ListMutualsRequest {
                order: order.into(),
                followed_from: Some(stamp(from)),
                followed_before: Some(stamp(before)),
                page_size: 7,
                ..mutuals_of(user)
            };
            assert_eq!(walk_mutuals(&api, request).await, inside, "mutuals {user} {order:?} in a window");
        }
    }
}

/// Of nobody there is nothing, and reads write nothing.
async fn users_never_seen_have_nothing(place: Place) {
    let api = place.serve(&[]).await;
    let book = Book::default();
    book.check_relationships(&api, 1, &[2, 1, i64::MAX, 2]).await;
    assert_eq!(walk_mutuals(&api, mutuals_of(1)).await, []);
    for (user, other) in [(1, 2), (1, 1)] {
        assert_eq!(walk_known(&api, known(user, other), 0).await, []);
        assert_eq!(walk_both(&api, both(user, other), 0).await, []);
    }
    assert!(place.snapshot().await.keys().all(|key| key.ends_with(":format")), "a read wrote");
}

on_each_backend!(field_g24_all_calls_are_as_brute_force_says, users_never_seen_have_nothing);
