//! Blocks and mutes, and how many follows an hour anyone may make.

mod bad_input;
mod ends;
mod feeds;
mod marks;
mod races;
mod rates;
mod refusals;
mod viewers;

use socialgraph::v1::{
    BlockRequest, BlockResponse, DeleteUserRequest, FollowRequest, GetRelationshipsRequest, ListBlockedRequest,
    ListMutedRequest, MuteRequest, MuteResponse, Relationship, UnblockRequest, UnblockResponse, UnmuteRequest,
};
use tonic::{Code, Response, Status};

use crate::support::{Api, Refusal, micros, stamp};

pub(crate) const CASES: usize = bad_input::CASES
    + ends::CASES
    + feeds::CASES
    + marks::CASES
    + races::CASES
    + rates::CASES
    + refusals::CASES
    + viewers::CASES;

pub(crate) const BEGIN: i64 = 1_600_000_000_000_000;

pub(crate) fn blocked() -> Refusal {
    Refusal::new(Code::PermissionDenied, "BLOCKED")
}

impl Api {
    pub(crate) async fn block(&self, user_id: i64, blocked_id: i64) -> BlockResponse {
        self.social().block(BlockRequest { user_id, blocked_id }).await.expect("block").into_inner()
    }

    pub(crate) async fn unblock(&self, user_id: i64, blocked_id: i64) -> UnblockResponse {
        self.social().unblock(UnblockRequest { user_id, blocked_id }).await.expect("unblock").into_inner()
    }

    /// Until a time in microseconds, or for good.
    pub(crate) async fn mute(&self, user_id: i64, muted_id: i64, until: Option<i64>) -> MuteResponse {
        let request = MuteRequest { user_id, muted_id, muted_until: until.map(stamp) };
        self.social().mute(request).await.expect("mute").into_inner()
    }

    /// Whether there was a mute.
    pub(crate) async fn unmute(&self, user_id: i64, muted_id: i64) -> bool {
        self.social().unmute(UnmuteRequest { user_id, muted_id }).await.expect("unmute").into_inner().removed
    }

    /// A follow that may be refused.
    pub(crate) async fn try_follow(&self, follower_id: i64, followee_id: i64) -> Result<Response<()>, Status> {
        let request = FollowRequest { follower_id, followee_id, source: String::new() };
        self.social().follow(request).await.map(|answer| answer.map(drop))
    }

    pub(crate) async fn relationship(&self, viewer_id: i64, target: i64) -> Relationship {
        let request = GetRelationshipsRequest { viewer_id, target_ids: vec![target], consistency: None };
        let answer = self.social().get_relationships(request).await.expect("relationships").into_inner();
        answer.relationships[0]
    }

    pub(crate) async fn delete(&self, user_id: i64) {
        self.social().delete_user(DeleteUserRequest { user_id }).await.expect("delete");
    }

    /// Whom a user blocks, and since when: page by page.
    pub(crate) async fn blocks(&self, user_id: i64, page_size: i32) -> Vec<(i64, i64)> {
        let (mut all, mut page_token) = (Vec::new(), String::new());
        loop {
            let request = ListBlockedRequest { user_id, page_size, page_token, consistency: None };
            let page = self.social().list_blocked(request).await.expect("blocked").into_inner();
            all.extend(page.users.iter().map(|user| (user.user_id, micros(user.blocked_at))));
            page_token = page.next_page_token;
            if page_token.is_empty() {
                return all;
            }
            assert_eq!(page.users.len(), page_size as usize);
        }
    }

    /// Whom a user mutes, since when, and until when: page by page. Pages may be short.
    pub(crate) async fn mutes(&self, user_id: i64, page_size: i32) -> Vec<(i64, i64, Option<i64>)> {
        let (mut all, mut page_token) = (Vec::new(), String::new());
        loop {
            let request = ListMutedRequest { user_id, page_size, page_token, consistency: None };
            let page = self.social().list_muted(request).await.expect("muted").into_inner();
            assert!(page.users.len() <= page_size as usize);
            all.extend(
                page.users.iter().map(|user| {
                    (user.user_id, micros(user.muted_at), user.muted_until.map(|until| micros(Some(until))))
                }),
            );
            page_token = page.next_page_token;
            if page_token.is_empty() {
                return all;
            }
        }
    }
}
