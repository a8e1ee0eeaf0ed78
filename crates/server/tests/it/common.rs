//! CommonFollows.

use std::collections::BTreeMap;

use prost_types::Duration;
use socialgraph::v1::{CommonFollowsOrder, CommonFollowsRequest, CommonFollowsResponse};

use crate::support::{Api, Place, micros, row_at};

const BEGIN: i64 = 1_600_000_000_000_000;
/// Enough for any machine.
const AMPLE: Duration = Duration { seconds: 10, nanos: 0 };
const ORDERS: [CommonFollowsOrder; 2] = [CommonFollowsOrder::UserNewestFirst, CommonFollowsOrder::OtherNewestFirst];

/// Somebody whom both follow: who, since when the one, since when the other.
type Common = (i64, i64, i64);
/// Whom somebody follows, and since when.
type Follows = BTreeMap<i64, i64>;

fn question(user_id: i64, other_id: i64) -> CommonFollowsRequest {
    CommonFollowsRequest { user_id, other_id, time_budget: Some(AMPLE), ..CommonFollowsRequest::default() }
}

fn entries(answer: &CommonFollowsResponse) -> Vec<Common> {
    answer.users.iter().map(|user| (user.user_id, micros(user.followed_at), micros(user.other_followed_at))).collect()
}

/// All pages; every one must be complete and tell the total.
async fn walk(api: &Api, mut request: CommonFollowsRequest, total: usize) -> Vec<Common> {
    let mut met = Vec::new();
    loop {
        let answer = api.common(request.clone()).await;
        assert!(answer.complete);
        assert_eq!(answer.total_count, total as i64);
        met.extend(entries(&answer));
        if answer.next_page_token.is_empty() {
            return met;
        }
        assert!(!answer.users.is_empty());
        request.page_token = answer.next_page_token;
    }
}

/// What the answer must be, by brute force.
fn expected(user: &Follows, other: &Follows, order: CommonFollowsOrder) -> Vec<Common> {
    let both = user.iter().filter_map(|(id, at)| Some((*id, *at, *other.get(id)?)));
    let mut both: Vec<Common> = both.collect();
    let time = |&(_, at, other_at): &Common| if order == CommonFollowsOrder::OtherNewestFirst { other_at } else { at };
    both.sort_by_key(|common| std::cmp::Reverse((time(common), common.0.to_string())));
    both
}

async fn import(api: &Api, user: i64, follows: &Follows) {
    let rows = follows.iter().map(|(&followee, &at)| row_at(user, followee, at)).collect();
    assert_eq!(api.import(rows).await.created, follows.len() as i64);
}

async fn field_g24_whom_both_follow_in_both_orders_and_any_pages(place: Place) {
    let api = place.serve(&[]).await;
    let one: Follows = (100..200).map(|id| (id, BEGIN + id)).collect();
    let two: Follows = (150..400).map(|id| (id, BEGIN + 1_000 - id)).collect();
    import(&api, 1, &one).await;
    import(&api, 2, &two).await;
    for (user, other, user_follows, other_follows) in [(1, 2, &one, &two), (2, 1, &two, &one)] {
        for order in ORDERS {
            let expected = expected(user_follows, other_follows, order);
            assert_eq!(expected.len(), 50);
            for page_size in [0, 1, 7, 49, 50, 51, 500] {
                let request = CommonFollowsRequest { order: order.into(), page_size, ..question(user, other) };
                assert_eq!(walk(&api, request, 50).await, expected, "{user} and {other}, {order:?}, {page_size}");
            }
        }
        let unspecified = walk(&api, question(user, other), 50).await;
        assert_eq!(unspecified, expected(user_follows, other_follows, CommonFollowsOrder::UserNewestFirst));
    }
}

async fn ties_are_met_once(place: Place) {
    let api = place.serve(&[]).await;
    let one: Follows = (100..700).map(|id| (id, BEGIN)).collect();
    let two: Follows = (100..700).map(|id| (id, BEGIN + id % 2)).collect();
    import(&api, 1, &one).await;
    import(&api, 2, &two).await;
    for order in ORDERS {
        for page_size in [7, 500] {
            let request = CommonFollowsRequest { order: order.into(), page_size, ..question(1, 2) };
            assert_eq!(walk(&api, request, 600).await, expected(&one, &two, order), "{order:?}, {page_size}");
        }
    }
}

async fn nothing_in_common_is_an_empty_answer(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(1, 10).await;
    api.follow(2, 11).await;
    for (user, other) in [(1, 2), (2, 1), (1, 3), (3, 1), (3, 4), (3, 3)] {
        let answer = api.common(question(user, other)).await;
        let empty = CommonFollowsResponse { complete: true, ..CommonFollowsResponse::default() };
        assert_eq!(answer, empty, "{user} and {other}");
    }
}

async fn one_has_in_common_with_oneself_whom_one_follows(place: Place) {
    let api = place.serve(&[]).await;
    let one: Follows = (100..110).map(|id| (id, BEGIN + id)).collect();
    import(&api, 1, &one).await;
    assert_eq!(walk(&api, question(1, 1), 10).await, expected(&one, &one, CommonFollowsOrder::UserNewestFirst));
}

async fn each_other_is_no_common_follow_but_a_third_is(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(1, 2).await;
    api.follow(2, 1).await;
    assert_eq!(api.common(question(1, 2)).await.total_count, 0);
    api.follow(1, i64::MAX).await;
    api.follow(2, i64::MAX).await;
    assert_eq!(entries(&api.common(question(1, 2)).await)[0].0, i64::MAX);
    api.unfollow(2, i64::MAX).await;
    assert_eq!(api.common(question(1, 2)).await.total_count, 0, "outdated");
}

/// Pages go on where they stopped while common follows come and go, the last one of a page too.
async fn pages_hold_while_follows_come_and_go(place: Place) {
    let api = place.serve(&[]).await;
    let both: Follows = (100..160).map(|id| (id, BEGIN + id)).collect();
    import(&api, 1, &both).await;
    import(&api, 2, &both).await;
    let mut request = CommonFollowsRequest { page_size: 10, ..question(1, 2) };
    let (mut met, mut newcomer) = (Vec::new(), 1_000);
    loop {
        let answer = api.common(request.clone()).await;
        met.extend(entries(&answer));
        if answer.next_page_token.is_empty() {
            break;
        }
        api.unfollow(1, met.last().unwrap().0).await;
        newcomer += 1;
        api.follow(1, newcomer).await;
        api.follow(2, newcomer).await;
        request.page_token = answer.next_page_token;
    }
    assert_eq!(met, expected(&both, &both, CommonFollowsOrder::UserNewestFirst));
}

/// Lists of several chunks each, whichever is the shorter one.
async fn long_lists_are_searched_to_their_end(place: Place) {
    let api = place.serve(&[]).await;
    let one: Follows = (10_000..13_100).map(|id| (id, BEGIN + id % 1_000)).collect();
    let two: Follows = (11_000..16_000).map(|id| (id, BEGIN + id)).collect();
    import(&api, 1, &one).await;
    import(&api, 2, &two).await;
    for (user, other, user_follows, other_follows) in [(1, 2, &one, &two), (2, 1, &two, &one)] {
        for order in ORDERS {
            let expected = expected(user_follows, other_follows, order);
            assert_eq!(expected.len(), 2_100);
            let request = CommonFollowsRequest { order: order.into(), page_size: 500, ..question(user, other) };
            assert_eq!(walk(&api, request, 2_100).await, expected, "{user} and {other}, {order:?}");
        }
    }
}

async fn field_r10_a_used_up_time_budget_is_told(place: Place) {
    let api = place.serve(&[]).await;
    let both: Follows = (10_000..14_000).map(|id| (id, BEGIN + id)).collect();
    import(&api, 1, &both).await;
    import(&api, 2, &both).await;
    let found: BTreeMap<i64, Common> =
        expected(&both, &both, CommonFollowsOrder::UserNewestFirst).into_iter().map(|c| (c.0, c)).collect();
    let ample = api.common(question(1, 2)).await;
    // Nothing is sent to Redis when the budget is used up, so that it holds for short lists too.
    let time_budget = Some(Duration { seconds: 0, nanos: 1 });
    let answer = api.common(CommonFollowsRequest { time_budget, ..question(3, 4) }).await;
    assert_eq!(answer, CommonFollowsResponse::default());
    for nanos in [1, 1_000] {
        let time_budget = Some(Duration { seconds: 0, nanos });
        for page_token in [String::new(), ample.next_page_token.clone()] {
            let answer = api.common(CommonFollowsRequest { time_budget, page_token, ..question(1, 2) }).await;
            assert!(!answer.complete, "4,000 entries in {nanos} ns");
            assert!(answer.total_count < 4_000 && answer.users.len() as i64 <= answer.total_count);
            assert!(entries(&answer).iter().all(|common| found.get(&common.0) == Some(common)), "made up");
        }
    }
}

on_each_backend!(
    field_g24_whom_both_follow_in_both_orders_and_any_pages,
    ties_are_met_once,
    nothing_in_common_is_an_empty_answer,
    one_has_in_common_with_oneself_whom_one_follows,
    each_other_is_no_common_follow_but_a_third_is,
    pages_hold_while_follows_come_and_go,
    long_lists_are_searched_to_their_end,
    field_r10_a_used_up_time_budget_is_told,
);
