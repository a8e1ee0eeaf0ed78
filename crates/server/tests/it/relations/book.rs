//! What the calls must answer, by brute force, and walks through their pages.

use std::{cmp::Reverse, collections::BTreeMap};

use prost_types::Duration;
use socialgraph::v1::{
    CommonFollowersRequest, GetRelationshipsRequest, KnownFollowersRequest, ListMutualsRequest, ListOrder, Relationship,
};

use crate::support::{Api, micros, row_at, stamp};

pub(super) const BEGIN: i64 = 1_600_000_000_000_000;
/// Enough for any machine.
pub(super) const AMPLE: Option<Duration> = Some(Duration { seconds: 10, nanos: 0 });

/// A user and two times.
pub(super) type Row = (i64, i64, i64);

/// All edges, follower and followee, each with its time.
#[derive(Clone, Default)]
pub(super) struct Book {
    pub(super) edges: BTreeMap<(i64, i64), i64>,
}

impl Book {
    pub(super) fn since(&self, follower: i64, followee: i64) -> Option<i64> {
        self.edges.get(&(follower, followee)).copied()
    }

    /// Adds what must be new, here and in the service.
    pub(super) async fn import(&mut self, api: &Api, edges: impl IntoIterator<Item = (i64, i64, i64)>) {
        let rows: Vec<_> = edges.into_iter().collect();
        self.edges.extend(rows.iter().map(|&(follower, followee, at)| ((follower, followee), at)));
        let sent = rows.len() as i64;
        let rows = rows.into_iter().map(|(follower, followee, at)| row_at(follower, followee, at)).collect();
        assert_eq!(api.import(rows).await.created, sent);
    }

    fn following(&self, user: i64) -> impl Iterator<Item = (i64, i64)> {
        self.edges.range((user, 0)..=(user, i64::MAX)).map(|(&(_, followee), &at)| (followee, at))
    }

    fn followers(&self, user: i64) -> impl Iterator<Item = (i64, i64)> {
        self.edges
            .iter()
            .filter(move |((_, followee), _)| *followee == user)
            .map(|(&(follower, _), &at)| (follower, at))
    }

    /// Newest first by the first time.
    fn newest_first(rows: impl Iterator<Item = Row>) -> Vec<Row> {
        let mut rows: Vec<Row> = rows.collect();
        rows.sort_by_key(|&(user, at, _)| Reverse((at, user.to_string())));
        rows
    }

    pub(super) fn mutuals(&self, user: i64) -> Vec<Row> {
        Self::newest_first(self.following(user).filter_map(|(other, at)| Some((other, at, self.since(other, user)?))))
    }

    pub(super) fn known_followers(&self, viewer: i64, user: i64) -> Vec<Row> {
        Self::newest_first(self.following(viewer).filter_map(|(other, at)| Some((other, at, self.since(other, user)?))))
    }

    pub(super) fn common_followers(&self, user: i64, other: i64) -> Vec<Row> {
        Self::newest_first(self.followers(user).filter_map(|(fan, at)| Some((fan, at, self.since(fan, other)?))))
    }

    /// Asks the service about targets and compares.
    pub(super) async fn check_relationships(&self, api: &Api, viewer: i64, targets: &[i64]) {
        let request = GetRelationshipsRequest { viewer_id: viewer, target_ids: targets.to_vec(), ..Default::default() };
        let answer = api.social().get_relationships(request).await.unwrap().into_inner().relationships;
        let expected: Vec<Relationship> = targets
            .iter()
            .map(|&target| {
                let (at, by) = (self.since(viewer, target), self.since(target, viewer));
                Relationship {
                    target_id: target,
                    following: at.is_some(),
                    followed_by: by.is_some(),
                    mutual: at.is_some() && by.is_some(),
                    followed_at: at.map(stamp),
                    followed_by_at: by.map(stamp),
                    ..Default::default()
                }
            })
            .collect();
        assert_eq!(answer, expected, "viewer {viewer}");
    }
}

pub(super) fn mutuals_of(user_id: i64) -> ListMutualsRequest {
    ListMutualsRequest { user_id, ..Default::default() }
}

pub(super) fn known(viewer_id: i64, user_id: i64) -> KnownFollowersRequest {
    KnownFollowersRequest { viewer_id, user_id, time_budget: AMPLE, ..Default::default() }
}

pub(super) fn both(user_id: i64, other_id: i64) -> CommonFollowersRequest {
    CommonFollowersRequest { user_id, other_id, time_budget: AMPLE, ..Default::default() }
}

/// A page, and the token of the next.
pub(super) async fn mutuals_page(api: &Api, request: &ListMutualsRequest) -> (Vec<Row>, String) {
    let answer = api.social().list_mutuals(request.clone()).await.unwrap().into_inner();
    let rows = answer.users.iter().map(|user| (user.user_id, micros(user.followed_at), micros(user.followed_by_at)));
    let most = if request.page_size == 0 { 50 } else { request.page_size as usize };
    assert!(answer.users.len() <= most);
    (rows.collect(), answer.next_page_token)
}

pub(super) async fn walk_mutuals(api: &Api, mut request: ListMutualsRequest) -> Vec<Row> {
    let mut all = Vec::new();
    loop {
        let (rows, next) = mutuals_page(api, &request).await;
        all.extend(rows);
        if next.is_empty() {
            return all;
        }
        request.page_token = next;
    }
}

/// All pages; every one must be complete and tell the total.
pub(super) async fn walk_known(api: &Api, mut request: KnownFollowersRequest, total: usize) -> Vec<Row> {
    let mut all = Vec::new();
    loop {
        let answer = api.social().known_followers(request.clone()).await.unwrap().into_inner();
        assert!(answer.complete);
        assert_eq!(answer.total_count, total as i64);
        all.extend(answer.users.iter().map(|u| (u.user_id, micros(u.followed_at), micros(u.follower_since))));
        if answer.next_page_token.is_empty() {
            return all;
        }
        assert!(!answer.users.is_empty());
        request.page_token = answer.next_page_token;
    }
}

/// The same of common followers.
pub(super) async fn walk_both(api: &Api, mut request: CommonFollowersRequest, total: usize) -> Vec<Row> {
    let mut all = Vec::new();
    loop {
        let answer = api.social().common_followers(request.clone()).await.unwrap().into_inner();
        assert!(answer.complete);
        assert_eq!(answer.total_count, total as i64);
        all.extend(answer.users.iter().map(|u| (u.user_id, micros(u.followed_at), micros(u.other_followed_at))));
        if answer.next_page_token.is_empty() {
            return all;
        }
        assert!(!answer.users.is_empty());
        request.page_token = answer.next_page_token;
    }
}

/// What a list is in the other order.
pub(super) fn in_order(mut rows: Vec<Row>, order: ListOrder) -> Vec<Row> {
    if order == ListOrder::OldestFirst {
        rows.reverse();
    }
    rows
}
