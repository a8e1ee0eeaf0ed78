//! Page tokens open only for the request that they were made for.

use prost_types::Duration;
use socialgraph::v1::{
    CommonFollowsOrder, CommonFollowsRequest, ExportEdgesRequest, FeedView, ListFollowingRequest, ListOrder,
    ScrollFeedRequest, WatchRelationshipsRequest,
};
use tonic::Response;

use crate::support::{Api, Place, Query, Refusal, SIDES, Side, refused, row_at, stamp};

const BEGIN: i64 = 1_600_000_000_000_000;
const GARBAGE: [&str; 8] = ["x", " ", "=", "é", "AAAA", "null", "../../etc", "%00"];

/// Gives users 1 and 2 followees and followers in common, 20 of each.
async fn fill(api: &Api) {
    let edges = |user| (100..120).flat_map(move |id| [row_at(user, id, BEGIN + id), row_at(id, user, BEGIN + id)]);
    assert_eq!(api.import(edges(1).chain(edges(2)).collect()).await.created, 80);
}

/// Tokens made from one by altering, cutting or extending it, and plain garbage.
fn spoiled(token: &str) -> impl Iterator<Item = String> {
    let altered = (0..token.len()).flat_map(move |position| {
        let is = token.as_bytes()[position];
        let others = [b'A', b'B', b'_', b'!'].into_iter().filter(move |&other| other != is);
        others.map(move |other| format!("{}{}{}", &token[..position], char::from(other), &token[position + 1..]))
    });
    let cut = (1..token.len()).map(move |length| token[..length].to_owned());
    let extended = ["A", "=", " ", "AAAA"].map(|more| format!("{token}{more}"));
    let garbage = GARBAGE.map(str::to_owned).into_iter().chain([token.repeat(2), "A".repeat(100_000)]);
    altered.chain(cut).chain(extended).chain(garbage)
}

async fn list_refuses(api: &Api, side: Side, request: ListFollowingRequest) {
    let answer = api.list(side, request.clone()).await.map(Response::new);
    refused(answer, &Refusal::page_token(), (side, request));
}

async fn common_refuses(api: &Api, request: CommonFollowsRequest) {
    refused(api.social().common_follows(request.clone()).await, &Refusal::page_token(), request);
}

fn question(page_token: &str) -> CommonFollowsRequest {
    let page_token = page_token.to_owned();
    let time_budget = Some(Duration { seconds: 10, nanos: 0 });
    CommonFollowsRequest { user_id: 1, other_id: 2, page_size: 5, page_token, time_budget, ..Default::default() }
}

async fn of_lists_are_bound_to_their_request(place: Place) {
    let api = place.serve(&[]).await;
    fill(&api).await;
    let elsewhere = place.another().await.serve(&[]).await;
    fill(&elsewhere).await;
    let windowed = |side| Query { from: Some(BEGIN), before: Some(BEGIN + 900), page_size: 5, ..Query::all(side, 1) };
    for (side, other_side) in [(SIDES[0], SIDES[1]), (SIDES[1], SIDES[0])] {
        let query = windowed(side);
        let (_, token) = api.page(&query, "").await;
        let good = query.request(&token);
        let foreign = [
            ListFollowingRequest { user_id: 2, ..good.clone() },
            ListFollowingRequest { order: ListOrder::OldestFirst.into(), ..good.clone() },
            ListFollowingRequest { followed_from: None, ..good.clone() },
            ListFollowingRequest { followed_from: Some(stamp(BEGIN + 1)), ..good.clone() },
            ListFollowingRequest { followed_before: None, ..good.clone() },
            ListFollowingRequest { followed_before: Some(stamp(BEGIN + 901)), ..good.clone() },
            ListFollowingRequest { viewer_id: 9, ..good.clone() },
        ];
        for request in foreign {
            list_refuses(&api, side, request).await;
        }
        list_refuses(&api, other_side, good.clone()).await;
        list_refuses(&elsewhere, side, good.clone()).await;
        common_refuses(&api, question(&token)).await;
        for page_token in spoiled(&token) {
            list_refuses(&api, side, ListFollowingRequest { page_token, ..good.clone() }).await;
        }
        // What may differ: the size, and how the same order is written.
        let (second_page, _) = api.page(&query, &token).await;
        let same = ListFollowingRequest { order: ListOrder::Unspecified.into(), page_size: 4, ..good };
        let (users, _) = api.list(side, same).await.unwrap();
        let ids = |entries: &[(i64, i64)]| entries.iter().map(|entry| entry.0).collect::<Vec<_>>();
        assert_eq!(users.iter().map(|user| user.user_id).collect::<Vec<_>>(), ids(&second_page[..4]));
    }
}

async fn of_common_follows_are_bound_to_their_request(place: Place) {
    let api = place.serve(&[]).await;
    fill(&api).await;
    let elsewhere = place.another().await.serve(&[]).await;
    fill(&elsewhere).await;
    let token = api.common(question("")).await.next_page_token;
    let good = question(&token);
    let foreign = [
        CommonFollowsRequest { user_id: 2, other_id: 1, ..good.clone() },
        CommonFollowsRequest { user_id: 3, ..good.clone() },
        CommonFollowsRequest { other_id: 3, ..good.clone() },
        CommonFollowsRequest { order: CommonFollowsOrder::OtherNewestFirst.into(), ..good.clone() },
        CommonFollowsRequest { viewer_id: 9, ..good.clone() },
    ];
    for request in foreign {
        common_refuses(&api, request).await;
    }
    common_refuses(&elsewhere, good.clone()).await;
    for side in SIDES {
        let (_, list_token) = api.page(&Query { page_size: 5, ..Query::all(side, 1) }, "").await;
        common_refuses(&api, question(&list_token)).await;
        list_refuses(&api, side, Query::all(side, 1).request(&token)).await;
    }
    for page_token in spoiled(&token) {
        common_refuses(&api, CommonFollowsRequest { page_token, ..good.clone() }).await;
    }
    let second_page = api.common(good.clone()).await.users;
    let same = CommonFollowsRequest {
        order: CommonFollowsOrder::UserNewestFirst.into(),
        page_size: 4,
        time_budget: Some(Duration { seconds: 9, nanos: 0 }),
        ..good
    };
    assert_eq!(api.common(same).await.users, second_page[..4]);
}

async fn feed_refuses(api: &Api, request: ScrollFeedRequest) {
    refused(api.social().scroll_feed(request.clone()).await, &Refusal::page_token(), request);
}

async fn of_feeds_are_bound_to_their_request(place: Place) {
    let api = place.serve(&[]).await;
    let elsewhere = place.another().await.serve(&[]).await;
    for api in [&api, &elsewhere] {
        fill(api).await;
        for post in 0..20 {
            api.publish(1 + post % 2, post.to_string()).await;
        }
    }
    let first = ScrollFeedRequest { user_id: 1, page_size: 4, ..ScrollFeedRequest::default() };
    let token = api.scroll(first.clone()).await.next_page_token;
    let good = ScrollFeedRequest { page_token: token.clone(), ..first };
    feed_refuses(&api, ScrollFeedRequest { user_id: 2, ..good.clone() }).await;
    feed_refuses(&elsewhere, good.clone()).await;
    let (_, list_token) = api.page(&Query { page_size: 5, ..Query::all(SIDES[0], 1) }, "").await;
    for page_token in [list_token, api.common(question("")).await.next_page_token] {
        feed_refuses(&api, ScrollFeedRequest { page_token, ..good.clone() }).await;
    }
    for side in SIDES {
        list_refuses(&api, side, Query::all(side, 1).request(&token)).await;
    }
    common_refuses(&api, question(&token)).await;
    for page_token in spoiled(&token) {
        feed_refuses(&api, ScrollFeedRequest { page_token, ..good.clone() }).await;
    }
    // What may differ: the size, and how much of each post is given.
    let second_page = api.scroll(good.clone()).await.items;
    let same = ScrollFeedRequest { page_size: 3, view: FeedView::Full.into(), ..good };
    let ids = api.scroll(same).await.items.into_iter().map(|item| item.post_id);
    assert_eq!(ids.collect::<Vec<_>>(), second_page[..3].iter().map(|item| item.post_id).collect::<Vec<_>>());
}

async fn export_refuses(api: &Api, resume_token: String) {
    let request = ExportEdgesRequest { resume_token };
    let answer = api.social().export_edges(request.clone()).await.map(|_| Response::new(()));
    refused(answer, &Refusal::page_token(), request);
}

async fn of_exports_are_bound_to_their_keyspace(place: Place) {
    let api = place.serve(&[]).await;
    fill(&api).await;
    let elsewhere = place.another().await.serve(&[]).await;
    let token = api.export("").await[0].resume_token.clone();
    export_refuses(&elsewhere, token.clone()).await;
    list_refuses(&api, SIDES[0], Query::all(SIDES[0], 1).request(&token)).await;
    let (_, list_token) = api.page(&Query { page_size: 5, ..Query::all(SIDES[0], 1) }, "").await;
    export_refuses(&api, list_token).await;
    for token in spoiled(&token) {
        export_refuses(&api, token).await;
    }
}

async fn watch_refuses(api: &Api, resume_token: String) {
    let request = WatchRelationshipsRequest { resume_token, ..WatchRelationshipsRequest::default() };
    let answer = api.social().watch_relationships(request.clone()).await.map(|_| Response::new(()));
    refused(answer, &Refusal::page_token(), request);
}

async fn of_watches_are_bound_to_their_keyspace(place: Place) {
    let api = place.serve(&[]).await;
    fill(&api).await;
    let elsewhere = place.another().await.serve(&[]).await;
    let token = api.watch("").await.last_token();
    watch_refuses(&elsewhere, token.clone()).await;
    export_refuses(&api, token.clone()).await;
    list_refuses(&api, SIDES[0], Query::all(SIDES[0], 1).request(&token)).await;
    watch_refuses(&api, api.export("").await[0].resume_token.clone()).await;
    watch_refuses(&api, api.follow(1, 2).await.consistency_token).await;
    for token in spoiled(&token) {
        watch_refuses(&api, token).await;
    }
}

/// The kinds of token are not taken for each other.
async fn a_consistency_token_is_no_page_token(place: Place) {
    let api = place.serve(&[]).await;
    let token = api.follow(1, 2).await.consistency_token;
    for side in SIDES {
        list_refuses(&api, side, Query::all(side, 1).request(&token)).await;
    }
    common_refuses(&api, question(&token)).await;
    feed_refuses(&api, ScrollFeedRequest { user_id: 1, page_token: token, ..ScrollFeedRequest::default() }).await;
}

on_each_backend!(
    of_lists_are_bound_to_their_request,
    of_common_follows_are_bound_to_their_request,
    of_feeds_are_bound_to_their_request,
    of_exports_are_bound_to_their_keyspace,
    of_watches_are_bound_to_their_keyspace,
    a_consistency_token_is_no_page_token,
);
