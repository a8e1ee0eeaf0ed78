//! Walks through lists, and what must hold between them.

use std::collections::BTreeSet;

use socialgraph::v1::{ListFollowersRequest, ListFollowingRequest, ListOrder, ListedUser};
use tonic::Status;

use super::{Api, micros, stamp};

/// A user and since when, in microseconds.
pub(crate) type Listed = (i64, i64);

/// Which of a user's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Following,
    Followers,
}

pub(crate) const SIDES: [Side; 2] = [Side::Following, Side::Followers];
pub(crate) const ORDERS: [ListOrder; 2] = [ListOrder::NewestFirst, ListOrder::OldestFirst];

/// A question for a list, except for the page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query {
    pub(crate) side: Side,
    pub(crate) user: i64,
    pub(crate) order: ListOrder,
    pub(crate) from: Option<i64>,
    pub(crate) before: Option<i64>,
    pub(crate) page_size: i32,
}

impl Query {
    /// Everything, newest first, in the largest pages.
    pub(crate) fn all(side: Side, user: i64) -> Self {
        Self { side, user, order: ListOrder::NewestFirst, from: None, before: None, page_size: 500 }
    }

    /// The request of one page, in the terms of `ListFollowing`.
    pub(crate) fn request(&self, page_token: &str) -> ListFollowingRequest {
        ListFollowingRequest {
            user_id: self.user,
            order: self.order.into(),
            followed_from: self.from.map(stamp),
            followed_before: self.before.map(stamp),
            page_size: self.page_size,
            page_token: page_token.to_owned(),
            consistency: None,
            viewer_id: 0,
        }
    }
}

impl Api {
    /// One page of either list, and the token of the next.
    pub(crate) async fn list(
        &self,
        side: Side,
        request: ListFollowingRequest,
    ) -> Result<(Vec<ListedUser>, String), Status> {
        if side == Side::Following {
            let page = self.social().list_following(request).await?.into_inner();
            return Ok((page.users, page.next_page_token));
        }
        let request = ListFollowersRequest {
            user_id: request.user_id,
            order: request.order,
            followed_from: request.followed_from,
            followed_before: request.followed_before,
            page_size: request.page_size,
            page_token: request.page_token,
            consistency: request.consistency,
            viewer_id: request.viewer_id,
        };
        let page = self.social().list_followers(request).await?.into_inner();
        Ok((page.users, page.next_page_token))
    }

    /// One page, which must succeed.
    pub(crate) async fn page(&self, query: &Query, token: &str) -> (Vec<Listed>, String) {
        let (users, next) = self.list(query.side, query.request(token)).await.expect("a page");
        let most = if query.page_size == 0 { 50 } else { query.page_size as usize };
        assert!(users.len() <= most, "{} entries for a page of {most}", users.len());
        assert!(next.is_empty() || !users.is_empty(), "an empty page that is not the last");
        (users.into_iter().map(|user| (user.user_id, micros(user.followed_at))).collect(), next)
    }

    /// All pages.
    pub(crate) async fn walk(&self, query: &Query) -> Vec<Listed> {
        let (mut all, mut token) = self.page(query, "").await;
        while !token.is_empty() {
            let (page, next) = self.page(query, &token).await;
            all.extend(page);
            token = next;
        }
        all
    }

    /// Whom a user follows, newest first.
    pub(crate) async fn following(&self, user: i64) -> Vec<Listed> {
        self.walk(&Query::all(Side::Following, user)).await
    }

    /// Who follows a user, newest first.
    pub(crate) async fn followers(&self, user: i64) -> Vec<Listed> {
        self.walk(&Query::all(Side::Followers, user)).await
    }
}

/// Asserts that among these users each edge is in both lists with one time, that counts are the lengths of lists, that
/// lists are in order, and gives all edges: follower, followee, time. The users must have no neighbours but each other.
pub(crate) async fn assert_mirrored(api: &Api, users: impl IntoIterator<Item = i64>) -> BTreeSet<(i64, i64, i64)> {
    let (mut forward, mut backward) = (BTreeSet::new(), BTreeSet::new());
    for user in users {
        let (following, followers) = (api.following(user).await, api.followers(user).await);
        assert_eq!(api.count(user).await, (following.len() as i64, followers.len() as i64), "counts of {user}");
        for list in [&following, &followers] {
            assert!(list.is_sorted_by(|a, b| a.1 >= b.1), "out of order: {list:?}");
        }
        let targets: Vec<i64> = following.iter().map(|&(followee, _)| followee).collect();
        for chunk in targets.chunks(1_000) {
            assert!(api.batch_is_following(user, chunk).await.iter().all(Option::is_some));
        }
        forward.extend(following.into_iter().map(|(followee, at)| (user, followee, at)));
        backward.extend(followers.into_iter().map(|(follower, at)| (follower, user, at)));
    }
    let half: Vec<_> = forward.symmetric_difference(&backward).collect();
    assert!(half.is_empty(), "half edges: {half:?}");
    forward
}
