//! For every field the exact error, and tokens that open only for the request that they were made for.

use prost_types::{Duration, Timestamp};
use socialgraph::v1::{
    CommonFollowersRequest, CommonFollowsRequest, Consistency, GetRelationshipsRequest, KnownFollowersRequest,
    ListFollowingRequest, ListMutualsRequest, ListOrder, consistency::Requirement,
};
use tonic::Response;

use super::book::{BEGIN, Book, both, known, mutuals_of};
use crate::support::{Place, Refusal, SIDES, refused, stamp};

const BAD_IDS: [i64; 3] = [0, -1, i64::MIN];
const BAD_PAGE_SIZES: [i32; 3] = [-1, 501, i32::MIN];
const BAD_BUDGETS: [(i64, i32); 4] = [(0, 0), (-1, 0), (10, 1), (0, 1_000_000_000)];
const BAD_CHOICE: Option<Consistency> = Some(Consistency { requirement: Some(Requirement::FullyConsistent(false)) });
const GARBAGE: [&str; 5] = ["x", "=", "é", "AAAA", "../../etc"];

async fn of_relationships(place: Place) {
    let api = place.serve(&[]).await;
    let ask = async |viewer_id, target_ids: Vec<i64>, consistency, expected: &[&str]| {
        let case = (viewer_id, target_ids.len());
        let request = GetRelationshipsRequest { viewer_id, target_ids, consistency };
        refused(api.social().get_relationships(request).await, &Refusal::fields(expected), case);
    };
    ask(1, vec![], None, &["target_ids"]).await;
    ask(1, (1..=201).collect(), None, &["target_ids"]).await;
    ask(1, vec![2], BAD_CHOICE, &["consistency.fully_consistent"]).await;
    for bad in BAD_IDS {
        ask(bad, vec![2], None, &["viewer_id"]).await;
        ask(1, vec![2, 3, bad, 4], None, &["target_ids[2]"]).await;
        ask(bad, vec![bad], BAD_CHOICE, &["viewer_id", "target_ids[0]", "consistency.fully_consistent"]).await;
    }
}

async fn of_mutuals(place: Place) {
    let api = place.serve(&[]).await;
    let ask = async |request: ListMutualsRequest, expected: &[&str]| {
        refused(api.social().list_mutuals(request.clone()).await, &Refusal::fields(expected), request);
    };
    for bad in BAD_IDS {
        ask(mutuals_of(bad), &["user_id"]).await;
    }
    for page_size in BAD_PAGE_SIZES {
        ask(ListMutualsRequest { page_size, ..mutuals_of(1) }, &["page_size"]).await;
    }
    ask(ListMutualsRequest { order: 3, ..mutuals_of(1) }, &["order"]).await;
    ask(ListMutualsRequest { consistency: BAD_CHOICE, ..mutuals_of(1) }, &["consistency.fully_consistent"]).await;
    let bad = Some(Timestamp { seconds: -1, nanos: 0 });
    ask(ListMutualsRequest { followed_from: bad, ..mutuals_of(1) }, &["followed_from"]).await;
    ask(ListMutualsRequest { followed_before: bad, ..mutuals_of(1) }, &["followed_before"]).await;
    let (followed_from, followed_before) = (Some(stamp(BEGIN)), Some(stamp(BEGIN)));
    ask(ListMutualsRequest { followed_from, followed_before, ..mutuals_of(1) }, &["followed_before"]).await;
}

async fn of_searches(place: Place) {
    let api = place.serve(&[]).await;
    let ask = async |request: KnownFollowersRequest, expected: &[&str]| {
        refused(api.social().known_followers(request.clone()).await, &Refusal::fields(expected), request.clone());
        let KnownFollowersRequest { viewer_id, user_id, page_size, page_token, time_budget, consistency } = request;
        let request = CommonFollowersRequest {
            user_id: viewer_id,
            other_id: user_id,
            page_size,
            page_token,
            time_budget,
            consistency,
            viewer_id: 0,
        };
        let name = |field: &&str| match *field {
            "viewer_id" => "user_id",
            "user_id" => "other_id",
            other => other.to_owned().leak(),
        };
        let expected: Vec<&str> = expected.iter().map(name).collect();
        refused(api.social().common_followers(request.clone()).await, &Refusal::fields(&expected), request);
    };
    for bad in BAD_IDS {
        ask(known(bad, 2), &["viewer_id"]).await;
        ask(known(1, bad), &["user_id"]).await;
    }
    for page_size in BAD_PAGE_SIZES {
        ask(KnownFollowersRequest { page_size, ..known(1, 2) }, &["page_size"]).await;
    }
    for (seconds, nanos) in BAD_BUDGETS {
        let time_budget = Some(Duration { seconds, nanos });
        ask(KnownFollowersRequest { time_budget, ..known(1, 2) }, &["time_budget"]).await;
    }
    let all = KnownFollowersRequest { page_size: -1, consistency: BAD_CHOICE, ..known(0, -1) };
    ask(all, &["viewer_id", "user_id", "page_size", "consistency.fully_consistent"]).await;
}

async fn tokens_are_bound_to_their_request(place: Place) {
    let api = place.serve(&[]).await;
    let mut book = Book::default();
    let friends = (100..120).flat_map(|id| [(1, id, BEGIN + id), (id, 1, BEGIN + id), (id, 2, BEGIN + id)]);
    book.import(&api, friends).await;
    let token_of_mutuals = {
        let request = ListMutualsRequest { page_size: 5, ..mutuals_of(1) };
        api.social().list_mutuals(request).await.unwrap().into_inner().next_page_token
    };
    let request = KnownFollowersRequest { page_size: 5, ..known(1, 2) };
    let token_of_known = api.social().known_followers(request).await.unwrap().into_inner().next_page_token;
    let request = CommonFollowersRequest { page_size: 5, ..both(1, 2) };
    let token_of_both = api.social().common_followers(request).await.unwrap().into_inner().next_page_token;
    let foreign = |own: &str| {
        let all = [&token_of_mutuals, &token_of_known, &token_of_both].map(String::as_str);
        all.into_iter().chain(GARBAGE).filter(|token| *token != own).map(str::to_owned).collect::<Vec<_>>()
    };

    let good = ListMutualsRequest { page_size: 5, page_token: token_of_mutuals.clone(), ..mutuals_of(1) };
    let others = [
        ListMutualsRequest { user_id: 2, ..good.clone() },
        ListMutualsRequest { order: ListOrder::OldestFirst.into(), ..good.clone() },
        ListMutualsRequest { followed_from: Some(stamp(BEGIN)), ..good.clone() },
        ListMutualsRequest { followed_before: Some(stamp(BEGIN + 999)), ..good.clone() },
        ListMutualsRequest { viewer_id: 9, ..good.clone() },
    ];
    let altered = foreign(&token_of_mutuals).into_iter();
    let altered = altered.map(|page_token| ListMutualsRequest { page_token, ..good.clone() });
    for request in others.into_iter().chain(altered) {
        refused(api.social().list_mutuals(request.clone()).await, &Refusal::page_token(), request);
    }
    let good = KnownFollowersRequest { page_size: 5, page_token: token_of_known.clone(), ..known(1, 2) };
    let others =
        [KnownFollowersRequest { viewer_id: 2, ..good.clone() }, KnownFollowersRequest { user_id: 3, ..good.clone() }];
    let altered = foreign(&token_of_known).into_iter();
    let altered = altered.map(|page_token| KnownFollowersRequest { page_token, ..good.clone() });
    for request in others.into_iter().chain(altered) {
        refused(api.social().known_followers(request.clone()).await, &Refusal::page_token(), request);
    }
    let good = CommonFollowersRequest { page_size: 5, page_token: token_of_both.clone(), ..both(1, 2) };
    let others = [both(2, 1), both(1, 3), CommonFollowersRequest { viewer_id: 9, ..both(1, 2) }]
        .map(|other| CommonFollowersRequest { page_token: token_of_both.clone(), ..other });
    let altered = foreign(&token_of_both).into_iter();
    let altered = altered.map(|page_token| CommonFollowersRequest { page_token, ..good.clone() });
    for request in others.into_iter().chain(altered) {
        refused(api.social().common_followers(request.clone()).await, &Refusal::page_token(), request);
    }
    for page_token in [&token_of_mutuals, &token_of_known, &token_of_both] {
        let request =
            CommonFollowsRequest { user_id: 1, other_id: 2, page_token: page_token.clone(), ..Default::default() };
        refused(api.social().common_follows(request).await, &Refusal::page_token(), page_token);
        for side in SIDES {
            let request = ListFollowingRequest { user_id: 1, page_token: page_token.clone(), ..Default::default() };
            refused(api.list(side, request).await.map(Response::new), &Refusal::page_token(), page_token);
        }
    }
}

on_each_backend!(of_relationships, of_mutuals, of_searches, tokens_are_bound_to_their_request);
