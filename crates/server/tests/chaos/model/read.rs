use std::collections::BTreeMap;

use keyspace::List;
use prost_types::Duration;
use rand::Rng;
use socialgraph::v1::{
    BatchIsFollowingRequest, CommonFollowsRequest, Consistency, IsFollowingRequest, consistency::Requirement,
};

use super::Worker;
use crate::support::graph::{self, micros};

impl Worker {
    pub(super) async fn is_following(&mut self) {
        let edge = self.edge();
        let with_token = self.random.random_bool(0.5);
        let since = self.since(edge, with_token).await;
        assert_eq!(since, self.knows(edge).since(), "is following {edge:?}, {:?}", self.knows(edge));
    }

    /// Since when an edge is there, as the server says.
    pub(super) async fn since(&self, (follower_id, followee_id): (i64, i64), with_token: bool) -> Option<i64> {
        let token = (with_token && !self.token.is_empty()).then(|| self.token.clone());
        let consistency = token.map(|token| Consistency { requirement: Some(Requirement::AtLeastAsFresh(token)) });
        let request = IsFollowingRequest { follower_id, followee_id, consistency };
        let answer = self.caller.call(request, |mut c, r| async move { c.is_following(r).await }).await.message;
        answer.following.then(|| micros(answer.followed_at))
    }

    pub(super) async fn batch_is_following(&mut self) {
        let follower_id = self.follower();
        let followee_ids: Vec<_> = (0..self.random.random_range(1..60)).map(|_| self.followee()).collect();
        let request = BatchIsFollowingRequest { follower_id, followee_ids: followee_ids.clone(), consistency: None };
        let answer = self.caller.call(request, |mut c, r| async move { c.batch_is_following(r).await }).await.message;
        let told: Vec<_> = answer
            .states
            .iter()
            .map(|state| (state.followee_id, state.following.then(|| micros(state.followed_at))))
            .collect();
        let expected: Vec<_> =
            followee_ids.into_iter().map(|followee| (followee, self.knows((follower_id, followee)).since())).collect();
        assert_eq!(told, expected, "batch of {follower_id}");
    }

    pub(super) async fn list_following(&mut self) {
        let follower = self.follower();
        let page_size = self.random.random_range(1..20);
        let listed: BTreeMap<_, _> =
            graph::list(&self.caller, List::Following, follower, page_size).await.into_iter().collect();
        assert_eq!(listed, self.following(follower), "list of {follower}");
    }

    /// Of a list that others change meanwhile, what is this worker's must be right.
    pub(super) async fn list_followers(&mut self) {
        let followee = self.followee();
        let page_size = self.random.random_range(5..50);
        let listed: BTreeMap<_, _> =
            graph::list(&self.caller, List::Followers, followee, page_size).await.into_iter().collect();
        for follower in &self.followers {
            let known = self.knows((*follower, followee));
            if known.both_sides {
                assert_eq!(listed.get(follower).copied(), known.since(), "{follower} among followers of {followee}");
            }
        }
    }

    pub(super) async fn counts(&mut self) {
        let (follower, followee) = (self.follower(), self.followee());
        let counts = graph::counts(&self.caller, &[follower, followee, follower]).await;
        assert_eq!(counts[0].following, self.following(follower).len() as i64, "count of {follower}");
        assert_eq!(counts[2].following, counts[0].following);
        let sure = self.followers.iter().map(|follower| self.knows((*follower, followee)));
        let sure = sure.filter(|known| known.both_sides && known.since().is_some()).count() as i64;
        assert!(counts[1].followers >= sure, "followers of {followee}: {} < {sure}", counts[1].followers);
    }

    pub(super) async fn common_follows(&mut self) {
        let (user_id, other_id) = (self.follower(), self.follower());
        let other = self.following(other_id);
        let mine = self.following(user_id).into_iter();
        let expected: BTreeMap<_, _> =
            mine.filter_map(|(followee, at)| Some((followee, (at, *other.get(&followee)?)))).collect();
        let page_size = self.random.random_range(1..20);
        let time_budget = Some(Duration { seconds: 5, nanos: 0 });
        let mut request = CommonFollowsRequest { user_id, other_id, page_size, time_budget, ..Default::default() };
        let (mut told, mut complete) = (Vec::new(), true);
        loop {
            let answer = self.caller.call(request.clone(), |mut c, r| async move { c.common_follows(r).await });
            let answer = answer.await.message;
            assert!(!answer.complete || answer.total_count == expected.len() as i64, "total of {user_id}, {other_id}");
            complete &= answer.complete;
            let users = answer.users.into_iter();
            told.extend(users.map(|c| (c.user_id, (micros(c.followed_at), micros(c.other_followed_at)))));
            if answer.next_page_token.is_empty() {
                break;
            }
            request.page_token = answer.next_page_token;
        }
        assert!(told.is_sorted_by(|a, b| a.1.0 >= b.1.0), "order of common follows");
        let count = told.len();
        let told: BTreeMap<_, _> = told.into_iter().collect();
        assert_eq!(told.len(), count, "somebody twice");
        if complete {
            assert_eq!(told, expected, "common follows of {user_id}, {other_id}");
        } else {
            assert!(told.iter().all(|(user, times)| expected.get(user) == Some(times)));
        }
    }
}
