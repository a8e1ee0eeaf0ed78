//! For every field the exact error, and tokens that open only for the request that they were made for.

use prost_types::Timestamp;
use socialgraph::v1::{
    BlockRequest, CommonFollowersRequest, CommonFollowsRequest, Consistency, ListBlockedRequest, ListFollowersRequest,
    ListFollowingRequest, ListMutedRequest, ListMutualsRequest, MuteRequest, UnblockRequest, UnmuteRequest,
    consistency::Requirement,
};

use crate::support::{Place, Refusal, now, refused, stamp};

const BAD_IDS: [i64; 3] = [0, -1, i64::MIN];

async fn of_blocks_and_mutes(place: Place) {
    let api = place.serve(&[]).await;
    let before = place.snapshot().await;
    let ask = async |user_id, other, of_blocks: Refusal, of_mutes: Refusal| {
        let mut social = api.social();
        let answer = social.block(BlockRequest { user_id, blocked_id: other }).await;
        refused(answer, &of_blocks, (user_id, other));
        let answer = social.unblock(UnblockRequest { user_id, blocked_id: other }).await;
        refused(answer, &of_blocks, (user_id, other));
        let answer = social.mute(MuteRequest { user_id, muted_id: other, muted_until: None }).await;
        refused(answer, &of_mutes, (user_id, other));
        let answer = social.unmute(UnmuteRequest { user_id, muted_id: other }).await;
        refused(answer, &of_mutes, (user_id, other));
    };
    let fields = |fields: &[&str]| Refusal::fields(fields);
    for bad in BAD_IDS {
        ask(bad, 2, fields(&["user_id"]), fields(&["user_id"])).await;
        ask(1, bad, fields(&["blocked_id"]), fields(&["muted_id"])).await;
        ask(bad, bad, fields(&["user_id", "blocked_id"]), fields(&["user_id", "muted_id"])).await;
    }
    for id in [1, i64::MAX] {
        ask(id, id, Refusal::self_reference(), Refusal::self_reference()).await;
    }
    let past = [
        Timestamp { seconds: -1, nanos: 0 },
        Timestamp { seconds: 0, nanos: -1 },
        Timestamp { seconds: 0, nanos: 1_000_000_000 },
        Timestamp { seconds: i64::MAX, nanos: 0 },
        stamp(1),
        stamp(now() - 1_000_000),
    ];
    for until in past {
        let request = MuteRequest { user_id: 1, muted_id: 2, muted_until: Some(until) };
        refused(api.social().mute(request).await, &fields(&["muted_until"]), until);
    }
    assert_eq!(place.snapshot().await, before, "something was written");
}

async fn of_lists_of_them(place: Place) {
    let api = place.serve(&[]).await;
    let ask = async |user_id, page_size, is_bad_choice: bool, expected: &[&str]| {
        let requirement = Some(Requirement::FullyConsistent(!is_bad_choice));
        let consistency = Some(Consistency { requirement });
        let page_token = String::new();
        let request =
            ListBlockedRequest { user_id, page_size, page_token: page_token.clone(), consistency: consistency.clone() };
        refused(api.social().list_blocked(request).await, &Refusal::fields(expected), user_id);
        let request = ListMutedRequest { user_id, page_size, page_token, consistency };
        refused(api.social().list_muted(request).await, &Refusal::fields(expected), user_id);
    };
    for bad in BAD_IDS {
        ask(bad, 1, false, &["user_id"]).await;
    }
    for page_size in [-1, 501, i32::MIN] {
        ask(1, page_size, false, &["page_size"]).await;
        ask(0, page_size, true, &["user_id", "page_size", "consistency.fully_consistent"]).await;
    }
}

async fn tokens_are_bound_to_their_request(place: Place) {
    let api = place.serve(&[]).await;
    for other in 11..=20 {
        api.block(1, other).await;
        api.mute(1, other, None).await;
        api.block(2, other).await;
        api.mute(2, other, None).await;
    }
    let blocks = ListBlockedRequest { user_id: 1, page_size: 4, ..Default::default() };
    let mutes = ListMutedRequest { user_id: 1, page_size: 4, ..Default::default() };
    let of_blocks = api.social().list_blocked(blocks.clone()).await.unwrap().into_inner().next_page_token;
    let of_mutes = api.social().list_muted(mutes.clone()).await.unwrap().into_inner().next_page_token;
    let refuse = Refusal::page_token();
    for page_token in [of_mutes.as_str(), "x", "é", &of_blocks[1..]] {
        let request = ListBlockedRequest { page_token: page_token.to_owned(), ..blocks.clone() };
        refused(api.social().list_blocked(request).await, &refuse, page_token);
    }
    for page_token in [of_blocks.as_str(), "x", "é", &of_mutes[1..]] {
        let request = ListMutedRequest { page_token: page_token.to_owned(), ..mutes.clone() };
        refused(api.social().list_muted(request).await, &refuse, page_token);
    }
    let request = ListBlockedRequest { user_id: 2, page_token: of_blocks.clone(), ..blocks.clone() };
    refused(api.social().list_blocked(request).await, &refuse, "of another user");
    let request = ListMutedRequest { user_id: 2, page_token: of_mutes.clone(), ..mutes.clone() };
    refused(api.social().list_muted(request).await, &refuse, "of another user");
    let request = ListFollowingRequest { user_id: 1, page_token: of_blocks.clone(), ..Default::default() };
    refused(api.social().list_following(request).await, &refuse, "of another call");
    // The size may differ.
    let request = ListBlockedRequest { page_size: 6, page_token: of_blocks, ..blocks };
    assert_eq!(api.social().list_blocked(request).await.unwrap().into_inner().users.len(), 6);
    let request = ListMutedRequest { page_size: 6, page_token: of_mutes, ..mutes };
    assert_eq!(api.social().list_muted(request).await.unwrap().into_inner().users.len(), 6);
}

/// A viewer is nobody, or a user.
async fn of_viewers(place: Place) {
    let api = place.serve(&[]).await;
    let refuse = Refusal::fields(&["viewer_id"]);
    for viewer_id in [-1, i64::MIN] {
        let mut social = api.social();
        let request = ListFollowingRequest { user_id: 1, viewer_id, ..Default::default() };
        refused(social.list_following(request).await, &refuse, viewer_id);
        let request = ListFollowersRequest { user_id: 1, viewer_id, ..Default::default() };
        refused(social.list_followers(request).await, &refuse, viewer_id);
        let request = ListMutualsRequest { user_id: 1, viewer_id, ..Default::default() };
        refused(social.list_mutuals(request).await, &refuse, viewer_id);
        let request = CommonFollowsRequest { user_id: 1, other_id: 2, viewer_id, ..Default::default() };
        refused(social.common_follows(request).await, &refuse, viewer_id);
        let request = CommonFollowersRequest { user_id: 1, other_id: 2, viewer_id, ..Default::default() };
        refused(social.common_followers(request).await, &refuse, viewer_id);
    }
}

on_each_backend!(of_blocks_and_mutes, of_lists_of_them, tokens_are_bound_to_their_request, of_viewers);
