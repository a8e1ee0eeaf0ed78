use prost_types::{Duration, Timestamp};
use socialgraph::v1::{CommonFollowsRequest, ListFollowingRequest};
use tonic::Response;

use super::{BAD_ENUMS, BAD_IDS, BAD_PAGE_SIZES, bad_times};
use crate::support::{Place, Refusal, SIDES, refused};

const SECOND: Option<Timestamp> = Some(Timestamp { seconds: 1_600_000_000, nanos: 0 });

async fn of_lists(place: Place) {
    let api = place.serve(&[]).await;
    let good = ListFollowingRequest { user_id: 1, ..ListFollowingRequest::default() };
    for side in SIDES {
        let ask = async |request: ListFollowingRequest, expected: &[&str]| {
            let answer = api.list(side, request.clone()).await.map(Response::new);
            refused(answer, &Refusal::fields(expected), (side, request));
        };
        for user_id in BAD_IDS {
            ask(ListFollowingRequest { user_id, ..good.clone() }, &["user_id"]).await;
        }
        for order in BAD_ENUMS.into_iter().chain([3]) {
            ask(ListFollowingRequest { order, ..good.clone() }, &["order"]).await;
        }
        for page_size in BAD_PAGE_SIZES {
            ask(ListFollowingRequest { page_size, ..good.clone() }, &["page_size"]).await;
        }
        for time in bad_times() {
            ask(ListFollowingRequest { followed_from: time, ..good.clone() }, &["followed_from"]).await;
            ask(ListFollowingRequest { followed_before: time, ..good.clone() }, &["followed_before"]).await;
            let both = ListFollowingRequest { followed_from: time, followed_before: time, ..good.clone() };
            ask(both, &["followed_from", "followed_before"]).await;
        }
        for earlier in [(1_599_999_999, 999_999_000), (1_600_000_000, 0), (1_600_000_000, 999)] {
            let followed_before = Some(Timestamp { seconds: earlier.0, nanos: earlier.1 });
            let reversed = ListFollowingRequest { followed_from: SECOND, followed_before, ..good.clone() };
            ask(reversed, &["followed_before"]).await;
        }
        let all = ListFollowingRequest {
            user_id: 0,
            order: 3,
            page_size: -1,
            followed_from: bad_times().next().unwrap(),
            followed_before: bad_times().last().unwrap(),
            page_token: "x".to_owned(),
            consistency: None,
            viewer_id: -1,
        };
        ask(all, &["user_id", "order", "page_size", "followed_from", "followed_before", "viewer_id"]).await;
    }
}

async fn of_common_follows(place: Place) {
    let api = place.serve(&[]).await;
    let good = CommonFollowsRequest { user_id: 1, other_id: 2, ..CommonFollowsRequest::default() };
    let ask = async |request: CommonFollowsRequest, expected: &[&str]| {
        refused(api.social().common_follows(request.clone()).await, &Refusal::fields(expected), request);
    };
    for bad in BAD_IDS {
        ask(CommonFollowsRequest { user_id: bad, ..good.clone() }, &["user_id"]).await;
        ask(CommonFollowsRequest { other_id: bad, ..good.clone() }, &["other_id"]).await;
    }
    for order in BAD_ENUMS.into_iter().chain([3]) {
        ask(CommonFollowsRequest { order, ..good.clone() }, &["order"]).await;
    }
    for page_size in BAD_PAGE_SIZES {
        ask(CommonFollowsRequest { page_size, ..good.clone() }, &["page_size"]).await;
    }
    let budgets = [
        (0, 0),
        (0, -1),
        (-1, 0),
        (10, 1),
        (11, 0),
        (1, -1),
        (-1, 1),
        (0, 1_000_000_000),
        (1, i32::MAX),
        (i64::MAX, 0),
        (i64::MIN, i32::MIN),
    ];
    for (seconds, nanos) in budgets {
        let time_budget = Some(Duration { seconds, nanos });
        ask(CommonFollowsRequest { time_budget, ..good.clone() }, &["time_budget"]).await;
    }
    let all = CommonFollowsRequest {
        user_id: -1,
        other_id: 0,
        order: -1,
        page_size: 501,
        time_budget: Some(Duration { seconds: -1, nanos: 0 }),
        page_token: "x".to_owned(),
        consistency: None,
        viewer_id: -1,
    };
    ask(all, &["user_id", "other_id", "order", "page_size", "time_budget", "viewer_id"]).await;
}

on_each_backend!(of_lists, of_common_follows);
