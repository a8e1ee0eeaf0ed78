//! Pages while follows come and go, also the one that the token names; and time budgets that are used up.

use prost_types::Duration;
use socialgraph::v1::{CommonFollowersRequest, KnownFollowersRequest, ListMutualsRequest};

use super::book::{BEGIN, Book, both, in_order, known, mutuals_of, mutuals_page, walk_both, walk_known};
use crate::support::{Api, ORDERS, Place, micros};

const ME: i64 = 1;
const OTHER: i64 = 2;

/// Friends of [`ME`], who follow [`OTHER`] as well.
async fn friends(api: &Api) -> Book {
    let mut book = Book::default();
    let friends = (100..160).flat_map(|id| {
        [(ME, id, BEGIN + id / 3), (id, ME, BEGIN + 2 * id), (id, OTHER, BEGIN + 3 * id), (OTHER, id, BEGIN)]
    });
    book.import(api, friends).await;
    book
}

/// The last row of each page goes before the next one is read, and a new one comes.
async fn mutuals_outlive_the_row_of_the_token(place: Place) {
    for order in ORDERS {
        for removes_own_follow in [true, false] {
            let place = place.another().await;
            let api = place.serve(&[]).await;
            let expected = in_order(friends(&api).await.mutuals(ME), order);
            let mut request = ListMutualsRequest { order: order.into(), page_size: 7, ..mutuals_of(ME) };
            let (mut met, mut newcomer) = (Vec::new(), 1_000);
            loop {
                let (rows, next) = mutuals_page(&api, &request).await;
                met.extend(rows);
                if next.is_empty() {
                    break;
                }
                let last = met.last().unwrap().0;
                let (follower, followee) = if removes_own_follow { (ME, last) } else { (last, ME) };
                assert!(api.unfollow(follower, followee).await.removed);
                newcomer += 1;
                api.follow(ME, newcomer).await;
                api.follow(newcomer, ME).await;
                request.page_token = next;
            }
            // Oldest first, newcomers come at the end.
            assert_eq!(met[..expected.len()], expected, "{order:?}, {removes_own_follow}");
            assert!(met[expected.len()..].iter().all(|&(id, _, _)| id > 1_000));
        }
    }
}

async fn known_and_common_followers_outlive_the_row_of_the_token(place: Place) {
    let api = place.serve(&[]).await;
    let book = friends(&api).await;
    let (known_before, both_before) = (book.known_followers(ME, OTHER), book.common_followers(ME, OTHER));
    let mut request = CommonFollowersRequest { page_size: 10, ..both(ME, OTHER) };
    let (mut met, mut newcomer) = (Vec::new(), 1_000);
    loop {
        let answer = api.social().common_followers(request.clone()).await.unwrap().into_inner();
        met.extend(answer.users.iter().map(|u| (u.user_id, micros(u.followed_at), micros(u.other_followed_at))));
        if answer.next_page_token.is_empty() {
            break;
        }
        api.unfollow(met.last().unwrap().0, ME).await;
        newcomer += 1;
        for star in [ME, OTHER] {
            api.follow(newcomer, star).await;
        }
        request.page_token = answer.next_page_token;
    }
    assert_eq!(met, both_before);

    let mut request = KnownFollowersRequest { page_size: 10, ..known(ME, OTHER) };
    let mut met = Vec::new();
    loop {
        let answer = api.social().known_followers(request.clone()).await.unwrap().into_inner();
        met.extend(answer.users.iter().map(|u| (u.user_id, micros(u.followed_at), micros(u.follower_since))));
        if answer.next_page_token.is_empty() {
            break;
        }
        api.unfollow(ME, met.last().unwrap().0).await;
        newcomer += 1;
        api.follow(ME, newcomer).await;
        api.follow(newcomer, OTHER).await;
        request.page_token = answer.next_page_token;
    }
    assert_eq!(met, known_before);
}

/// Long lists on either side, of which some are searched by asking each user and some by reading both.
async fn lists_beyond_one_segment_are_searched_to_their_end(place: Place) {
    let api = place.serve(&[]).await;
    let mut book = Book::default();
    // 1 follows 3,000; 2 has 3,000 followers, of whom 1 follows 600; 3 is followed by 350 of these, who all follow 200 more.
    book.import(&api, (10_000..13_000).map(|id| (ME, id, BEGIN + id % 1_000))).await;
    book.import(&api, (12_400..15_400).map(|id| (id, OTHER, BEGIN + id))).await;
    book.import(&api, (12_500..12_850).flat_map(|id| [(id, 3, BEGIN + id), (id, ME, BEGIN - id)])).await;
    book.import(&api, (12_500..12_520).flat_map(|id| (20_000..20_200).map(move |other| (id, other, BEGIN + 1)))).await;
    for (viewer, user) in [(ME, OTHER), (ME, 3), (OTHER, ME), (3, OTHER), (12_500, 3)] {
        let expected = book.known_followers(viewer, user);
        // For short pages, times of followers are asked for later.
        for page_size in [20, 100] {
            let request = KnownFollowersRequest { page_size, ..known(viewer, user) };
            assert_eq!(walk_known(&api, request, expected.len()).await, expected, "known {viewer} {user} {page_size}");
        }
    }
    for (user, other) in [(OTHER, 3), (3, OTHER), (OTHER, OTHER), (ME, OTHER), (OTHER, ME)] {
        let expected = book.common_followers(user, other);
        for page_size in [29, 500] {
            let request = CommonFollowersRequest { page_size, ..both(user, other) };
            assert_eq!(walk_both(&api, request, expected.len()).await, expected, "both {user} {other} {page_size}");
        }
    }
    assert_eq!(book.known_followers(ME, OTHER).len(), 600);
    for page_size in [10, 100, 500] {
        for user in [ME, 12_500] {
            let request = ListMutualsRequest { page_size, ..mutuals_of(user) };
            assert_eq!(super::book::walk_mutuals(&api, request).await, book.mutuals(user), "{user} {page_size}");
        }
    }
    let targets: Vec<i64> = (12_400..12_600).collect();
    book.check_relationships(&api, ME, &targets).await;
    book.check_relationships(&api, OTHER, &targets).await;
    book.check_relationships(&api, 12_510, &[ME, OTHER, 3, 20_050, 20_199, ME]).await;
}

async fn field_r10_a_used_up_time_budget_is_told(place: Place) {
    let api = place.serve(&[]).await;
    let mut book = Book::default();
    let fans = (10_000..14_000).flat_map(|id| [(id, OTHER, BEGIN + id), (id, 3, BEGIN + id), (ME, id, BEGIN + id)]);
    book.import(&api, fans).await;
    let (all_known, all_both) = (book.known_followers(ME, OTHER), book.common_followers(OTHER, 3));
    for nanos in [1, 1_000] {
        let time_budget = Some(Duration { seconds: 0, nanos });
        let request = KnownFollowersRequest { time_budget, ..known(ME, OTHER) };
        let answer = api.social().known_followers(request).await.unwrap().into_inner();
        assert!(!answer.complete, "4,000 entries in {nanos} ns");
        assert!(answer.total_count < 4_000 && answer.users.len() as i64 <= answer.total_count);
        let rows = answer.users.iter().map(|u| (u.user_id, micros(u.followed_at), micros(u.follower_since)));
        assert!(rows.into_iter().all(|row| all_known.contains(&row)), "made up");

        let request = CommonFollowersRequest { time_budget, ..both(OTHER, 3) };
        let answer = api.social().common_followers(request).await.unwrap().into_inner();
        assert!(!answer.complete, "4,000 entries in {nanos} ns");
        assert!(answer.total_count < 4_000 && answer.users.len() as i64 <= answer.total_count);
        let rows = answer.users.iter().map(|u| (u.user_id, micros(u.followed_at), micros(u.other_followed_at)));
        assert!(rows.into_iter().all(|row| all_both.contains(&row)), "made up");
    }
}

/// Somebody who follows many that do not follow back: pages are short, and the last one ends.
async fn a_page_of_mutuals_is_bounded_and_the_walk_is_whole(place: Place) {
    let api = place.serve(&[]).await;
    let mut book = Book::default();
    // More followers than it pays to read, none of whom are followed, but for two among 2,500.
    book.import(&api, (10_000..12_500).map(|id| (ME, id, BEGIN + id))).await;
    book.import(&api, (20_000..29_000).map(|id| (id, ME, BEGIN + id))).await;
    book.import(&api, [(10_000, ME, BEGIN), (11_900, ME, BEGIN)]).await;
    let mut request = ListMutualsRequest { page_size: 5, ..mutuals_of(ME) };
    let (mut met, mut pages) = (Vec::new(), 0);
    loop {
        let (rows, next) = mutuals_page(&api, &request).await;
        met.extend(rows);
        pages += 1;
        if next.is_empty() {
            break;
        }
        request.page_token = next;
    }
    assert_eq!(met, book.mutuals(ME));
    assert!((3..=4).contains(&pages), "2,500 entries in {pages} pages of at most some 1,000 looked at");
}

on_each_backend!(
    mutuals_outlive_the_row_of_the_token,
    known_and_common_followers_outlive_the_row_of_the_token,
    lists_beyond_one_segment_are_searched_to_their_end,
    field_r10_a_used_up_time_budget_is_told,
    a_page_of_mutuals_is_bounded_and_the_walk_is_whole,
);
