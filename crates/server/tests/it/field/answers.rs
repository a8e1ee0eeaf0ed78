//! What answers hold: order, bounds, and never less than they say.

use prost::Message;
use prost_types::Duration;
use rand::{Rng, seq::SliceRandom};
use socialgraph::v1::{
    BatchGetCountsRequest, BatchIsFollowingRequest, CommonFollowsRequest, ImportEdgesRequest, ListFollowingRequest,
};
use tonic::Request;

use crate::support::{ORDERS, Place, Query, Refusal, SIDES, Side, assert_mirrored, refused, row_at, seeded};

const BEGIN: i64 = 1_600_000_000_000_000;
/// What many clients of gRPC take at most.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// A time budget that no machine uses up.
const AMPLE: Duration = Duration { seconds: 10, nanos: 0 };
/// Ids whose encodings are the longest.
const LARGE: i64 = i64::MAX - 100_000;

async fn field_g9_a_double_click_makes_one_edge(place: Place) {
    let api = place.serve(&[]).await;
    let (first, second) = tokio::join!(api.follow(1, 2), api.follow(1, 2));
    assert!(first.created != second.created);
    assert_eq!(first.followed_at, second.followed_at);
    let third = api.follow(1, 2).await;
    assert_eq!((third.created, third.followed_at), (false, first.followed_at));
    assert_eq!(api.counts(&[1, 2]).await, [(1, 0), (0, 1)]);
    assert_eq!(assert_mirrored(&api, 1..=2).await.len(), 1);
}

async fn field_g10_after_an_unfollow_nobody_follows_whatever_was_sent(place: Place) {
    let mut random = seeded();
    let api = place.serve(&[]).await;
    for followee in 2..=30 {
        for _ in 0..random.random_range(1..6) {
            match random.random_range(0..3) {
                0 => drop(api.follow(1, followee).await),
                1 => drop(api.import(vec![row_at(1, followee, BEGIN), row_at(1, followee, BEGIN + 1)]).await),
                _ => drop(api.unfollow(1, followee).await),
            }
        }
        api.unfollow(1, followee).await;
        assert_eq!(api.is_following(1, followee).await, None);
    }
    assert_eq!(api.count(1).await, (0, 0));
    assert!(assert_mirrored(&api, 1..=30).await.is_empty());
}

async fn field_g19_the_newest_follow_comes_first(place: Place) {
    let mut random = seeded();
    let api = place.serve(&[]).await;
    let mut others: Vec<i64> = (2..=30).collect();
    others.shuffle(&mut random);
    for &other in &others {
        api.follow(1, other).await;
        api.follow(other, 1).await;
    }
    others.reverse();
    let ids = |list: Vec<(i64, i64)>| list.into_iter().map(|(id, _)| id).collect::<Vec<_>>();
    for side in SIDES {
        let unspecified = ListFollowingRequest { user_id: 1, page_size: 0, ..ListFollowingRequest::default() };
        let (page, _) = api.list(side, unspecified).await.unwrap();
        assert_eq!(page.iter().map(|user| user.user_id).collect::<Vec<_>>(), others, "{side:?}");
    }
    // Whom one follows again has become the newest.
    let oldest = others[28];
    api.unfollow(1, oldest).await;
    api.follow(1, oldest).await;
    others.rotate_right(1);
    assert_eq!(ids(api.following(1).await), others);
}

async fn field_g20_no_answer_has_more_than_a_page(place: Place) {
    let api = place.serve(&[]).await;
    let rows: Vec<_> =
        (1..=2_000).flat_map(|id| [row_at(10_000, id, BEGIN + id), row_at(id, 10_000, BEGIN + id)]).collect();
    assert_eq!(api.import(rows).await.created, 4_000);
    for (side, order) in SIDES.into_iter().flat_map(|side| ORDERS.map(|order| (side, order))) {
        for (page_size, entries) in [(0, 50), (500, 500)] {
            let query = Query { order, page_size, ..Query::all(side, 10_000) };
            let (page, next) = api.page(&query, "").await;
            assert_eq!((page.len(), next.is_empty()), (entries, false));
            assert_eq!(api.walk(&query).await.len(), 2_000);
        }
        let request = Query { page_size: 501, ..Query::all(side, 10_000) }.request("");
        let answer = api.list(side, request).await.map(tonic::Response::new);
        refused(answer, &Refusal::fields(&["page_size"]), side);
    }
}

async fn field_r8_the_largest_answers_stay_small(place: Place) {
    let api = place.serve(&[("limits.max-following", "50000")]).await;
    let ids: Vec<i64> = (0..1_000).map(|number| LARGE - number).collect();
    let rows = ids.iter().flat_map(|&id| [row_at(i64::MAX, id, BEGIN), row_at(i64::MAX - 1, id, BEGIN)]);
    assert_eq!(api.import(rows.collect()).await.created, 2_000);

    let batch = BatchIsFollowingRequest { follower_id: i64::MAX, followee_ids: ids.clone(), consistency: None };
    let batch = api.social().batch_is_following(batch).await.unwrap().into_inner();
    assert!(batch.states.iter().all(|state| state.following));
    let counts = BatchGetCountsRequest { user_ids: ids[..200].to_vec(), consistency: None };
    let counts = api.social().batch_get_counts(counts).await.unwrap().into_inner();
    let common = CommonFollowsRequest {
        user_id: i64::MAX,
        other_id: i64::MAX - 1,
        page_size: 500,
        time_budget: Some(AMPLE),
        ..CommonFollowsRequest::default()
    };
    let common = api.common(common).await;
    assert_eq!(common.users.len(), 500);
    let bad = ImportEdgesRequest {
        follower_id: i64::MIN,
        followee_id: i64::MIN,
        followed_at: None,
        import_id: String::new(),
    };
    let faults = api.import(vec![bad; 1_000]).await;
    assert_eq!(faults.errors.len(), 100);
    for bytes in [batch.encoded_len(), counts.encoded_len(), common.encoded_len(), faults.encoded_len()] {
        assert!(bytes < MOST_BYTES, "{bytes} bytes");
    }
}

async fn field_r8_a_long_list_is_read_to_its_end(place: Place) {
    let api = place.serve(&[]).await;
    let rows = (1..=30_000).map(|number| row_at(LARGE - number, i64::MAX, BEGIN + number)).collect();
    assert_eq!(api.import(rows).await.created, 30_000);
    // What a slow machine does not apply in time is left to the relay.
    place.settled().await;
    let followers = api.followers(i64::MAX).await;
    let expected = (1..=30_000).rev().map(|number| (LARGE - number, BEGIN + number));
    assert!(followers.into_iter().eq(expected));
    assert_eq!(api.count(i64::MAX).await, (0, 30_000));
}

/// Within its deadline a call gives the whole answer, and else an error: never a part of it.
async fn field_r10_a_deadline_never_cuts_an_answer(place: Place) {
    let api = place.serve(&[]).await;
    let rows = (1..=600).flat_map(|id| [row_at(1_000, id, BEGIN + id), row_at(1_001, id, BEGIN + id)]).collect();
    assert_eq!(api.import(rows).await.created, 1_200);
    let ids: Vec<i64> = (1..=600).collect();
    let mut late = 0;
    for timeout in ["1n", "1u", "300u", "700u", "1m", "1500u", "2m", "5m", "10S"].repeat(10) {
        let list = Query::all(Side::Following, 1_000).request("");
        match api.social().list_following(within(timeout, list)).await {
            Ok(page) => assert_eq!(page.into_inner().users.len(), 500),
            Err(_) => late += 1,
        }
        let batch = BatchIsFollowingRequest { follower_id: 1_000, followee_ids: ids.clone(), consistency: None };
        match api.social().batch_is_following(within(timeout, batch)).await {
            Ok(batch) => assert!(batch.into_inner().states.iter().all(|state| state.following)),
            Err(_) => late += 1,
        }
        let common = CommonFollowsRequest {
            user_id: 1_000,
            other_id: 1_001,
            time_budget: Some(AMPLE),
            ..CommonFollowsRequest::default()
        };
        match api.social().common_follows(within(timeout, common)).await {
            Ok(common) => assert_eq!((common.get_ref().complete, common.get_ref().total_count), (true, 600)),
            Err(_) => late += 1,
        }
    }
    assert!((1..270).contains(&late), "{late} of 270 calls came late");
}

fn within<T>(timeout: &'static str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("grpc-timeout", timeout.parse().unwrap());
    request
}

on_each_backend!(
    field_g9_a_double_click_makes_one_edge,
    field_g10_after_an_unfollow_nobody_follows_whatever_was_sent,
    field_g19_the_newest_follow_comes_first,
    field_g20_no_answer_has_more_than_a_page,
    field_r8_the_largest_answers_stay_small,
    field_r8_a_long_list_is_read_to_its_end,
    field_r10_a_deadline_never_cuts_an_answer,
);
