//! What a viewer is not shown.

use std::collections::BTreeSet;

use prost_types::Duration;
use socialgraph::v1::{
    CommonFollowersRequest, CommonFollowsRequest, KnownFollowersRequest, ListFollowersRequest, ListFollowingRequest,
    ListMutualsRequest, RecommendFollowsRequest,
};

use super::{BEGIN, blocked};
use crate::support::{Api, Place, refused, row_at};

const VIEWER: i64 = 9;
const AMPLE: Option<Duration> = Some(Duration { seconds: 10, nanos: 0 });

/// Users 1 and 2 follow 11 to 30, who follow them back. The viewer blocks some of these, and some block the viewer.
async fn filled(place: &Place) -> (crate::support::Instance, BTreeSet<i64>) {
    let api = place.serve(&[]).await;
    let pairs = (11..=30).flat_map(|id| [(1, id), (id, 1), (2, id), (id, 2)]);
    assert_eq!(
        api.import(pairs.map(|(one, other)| row_at(one, other, BEGIN + one + other)).collect()).await.created,
        80
    );
    for id in [11, 20, 21] {
        api.block(VIEWER, id).await;
    }
    for id in [21, 30] {
        api.block(id, VIEWER).await;
    }
    // Mutes hide nobody.
    api.mute(VIEWER, 15, None).await;
    (api, [11, 20, 21, 30].into())
}

/// All pages of a list: who is on it, and how many are left out.
type Walked = (Vec<i64>, i32);

async fn walk(mut page: impl AsyncFnMut(String) -> (Vec<i64>, i32, String)) -> Walked {
    let (mut all, mut filtered, mut token) = (Vec::new(), 0, String::new());
    loop {
        let (ids, left_out, next) = page(token).await;
        assert_eq!(ids.len() as i32 + left_out, 5, "a page has as many entries as without a viewer");
        all.extend(ids);
        filtered += left_out;
        token = next;
        if token.is_empty() {
            return (all, filtered);
        }
    }
}

macro_rules! walks {
    ($($walk:ident: $call:ident($request:ident)),* $(,)?) => {
        $(async fn $walk(api: &Api, request: $request) -> Walked {
            walk(async |page_token| {
                let request = $request { page_token, page_size: 5, ..request.clone() };
                let page = api.social().$call(request).await.unwrap().into_inner();
                (page.users.iter().map(|user| user.user_id).collect(), page.filtered_count, page.next_page_token)
            })
            .await
        })*
    };
}

walks!(
    following: list_following(ListFollowingRequest),
    followers: list_followers(ListFollowersRequest),
    mutuals: list_mutuals(ListMutualsRequest),
    common_follows: common_follows(CommonFollowsRequest),
    common_followers: common_followers(CommonFollowersRequest),
);

/// Every list with a viewer, of user 1, and of 2 as well.
async fn every_list(api: &Api, viewer_id: i64) -> Vec<Walked> {
    let (user_id, other_id, time_budget) = (1, 2, AMPLE);
    vec![
        following(api, ListFollowingRequest { user_id, viewer_id, ..Default::default() }).await,
        followers(api, ListFollowersRequest { user_id, viewer_id, ..Default::default() }).await,
        mutuals(api, ListMutualsRequest { user_id, viewer_id, ..Default::default() }).await,
        common_follows(api, CommonFollowsRequest { user_id, other_id, viewer_id, time_budget, ..Default::default() })
            .await,
        common_followers(
            api,
            CommonFollowersRequest { user_id, other_id, viewer_id, time_budget, ..Default::default() },
        )
        .await,
    ]
}

async fn field_g26_lists_show_nobody_across_a_block(place: Place) {
    let (api, hidden) = filled(&place).await;
    let whole: Vec<i64> = (11..=30).rev().collect();
    for walked in every_list(&api, 0).await {
        assert_eq!(walked, (whole.clone(), 0));
    }
    let shown: Vec<i64> = whole.iter().copied().filter(|id| !hidden.contains(id)).collect();
    for walked in every_list(&api, VIEWER).await {
        assert_eq!(walked, (shown.clone(), 4));
    }
    // To somebody whom all this does not concern, and after its end, all are shown.
    for walked in every_list(&api, 10).await {
        assert_eq!(walked, (whole.clone(), 0));
    }
    for id in [11, 20, 21] {
        api.unblock(VIEWER, id).await;
    }
    for walked in every_list(&api, VIEWER).await {
        assert_eq!(walked.1, 2);
    }
}

async fn lists_of_somebody_across_a_block_are_refused(place: Place) {
    let (api, _) = filled(&place).await;
    for (user_id, viewer_id) in [(11, VIEWER), (VIEWER, 11), (30, VIEWER), (VIEWER, 30)] {
        let mut social = api.social();
        let case = (user_id, viewer_id);
        let request = ListFollowingRequest { user_id, viewer_id, ..Default::default() };
        refused(social.list_following(request).await, &blocked(), case);
        let request = ListFollowersRequest { user_id, viewer_id, ..Default::default() };
        refused(social.list_followers(request).await, &blocked(), case);
        let request = ListMutualsRequest { user_id, viewer_id, ..Default::default() };
        refused(social.list_mutuals(request).await, &blocked(), case);
        for (user_id, other_id) in [(user_id, 1), (1, user_id)] {
            let request = CommonFollowsRequest { user_id, other_id, viewer_id, ..Default::default() };
            refused(social.common_follows(request).await, &blocked(), case);
            let request = CommonFollowersRequest { user_id, other_id, viewer_id, ..Default::default() };
            refused(social.common_followers(request).await, &blocked(), case);
        }
        let request = KnownFollowersRequest { user_id, viewer_id, ..Default::default() };
        refused(social.known_followers(request).await, &blocked(), case);
    }
    // Without a viewer nobody is refused, and one may look at oneself.
    let request = ListFollowingRequest { user_id: 11, ..Default::default() };
    assert_eq!(api.social().list_following(request.clone()).await.unwrap().into_inner().users.len(), 2);
    let request = ListFollowingRequest { viewer_id: 11, ..request };
    assert_eq!(api.social().list_following(request).await.unwrap().into_inner().users.len(), 2);
}

async fn known_followers_end_with_the_follow(place: Place) {
    let api = place.serve(&[]).await;
    let rows = (11..=14).flat_map(|id| [row_at(VIEWER, id, BEGIN + id), row_at(id, 1, BEGIN)]);
    api.import(rows.collect()).await;
    api.block(VIEWER, 12).await;
    api.block(14, VIEWER).await;
    let request = KnownFollowersRequest { viewer_id: VIEWER, user_id: 1, time_budget: AMPLE, ..Default::default() };
    let known = api.social().known_followers(request).await.unwrap().into_inner();
    assert_eq!(known.users.iter().map(|user| user.user_id).collect::<Vec<_>>(), [13, 11]);
    assert_eq!(known.total_count, 2);
}

async fn recommended(api: &Api, user_id: i64, limit: i32) -> Vec<i64> {
    let request = RecommendFollowsRequest { user_id, limit, time_budget: AMPLE, consistency: None };
    let answer = api.social().recommend_follows(request).await.unwrap().into_inner();
    assert!(answer.complete);
    answer.recommendations.iter().map(|one| one.user_id).collect()
}

async fn field_g26_nobody_across_a_block_is_recommended(place: Place) {
    let api = place.serve(&[]).await;
    let friends = [1, 2, 3].map(|friend| row_at(VIEWER, friend, BEGIN));
    let candidates = (1..=3).flat_map(|friend| (100..140).map(move |id| row_at(friend, id, BEGIN)));
    api.import(friends.into_iter().chain(candidates).collect()).await;
    assert_eq!(recommended(&api, VIEWER, 100).await, (100..140).collect::<Vec<_>>());
    for id in [100, 101, 102, 105] {
        api.block(VIEWER, id).await;
    }
    for id in [103, 139] {
        api.block(id, VIEWER).await;
    }
    let end = crate::support::now() + 3_600_000_000;
    api.mute(VIEWER, 104, None).await;
    api.mute(VIEWER, 107, Some(end)).await;
    let gone = [100, 101, 102, 103, 104, 105, 107, 139];
    let left: Vec<i64> = (100..140).filter(|id| !gone.contains(id)).collect();
    for limit in [1, 2, 5, 30, 32, 100] {
        let most = left.len().min(limit as usize);
        assert_eq!(recommended(&api, VIEWER, limit).await, left[..most], "limit {limit}");
    }
    api.unmute(VIEWER, 104).await;
    api.unblock(VIEWER, 100).await;
    assert_eq!(recommended(&api, VIEWER, 3).await, [100, 104, 106]);
    // The blocker's own view.
    api.follow(139, 1).await;
    assert!(!recommended(&api, 139, 100).await.contains(&VIEWER));
}

on_each_backend!(
    field_g26_lists_show_nobody_across_a_block,
    lists_of_somebody_across_a_block_are_refused,
    known_followers_end_with_the_follow,
    field_g26_nobody_across_a_block_is_recommended,
);
