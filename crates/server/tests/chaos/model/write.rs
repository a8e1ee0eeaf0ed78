use socialgraph::v1::{FollowRequest, UnfollowRequest};

use super::{Known, State, Worker};
use crate::support::graph::micros;

impl Worker {
    pub(super) async fn follow(&mut self) {
        let edge = self.edge();
        let known = self.knows(edge);
        let request = FollowRequest { follower_id: edge.0, followee_id: edge.1, ..Default::default() };
        let answer = self.caller.call(request, |mut c, r| async move { c.follow(r).await }).await;
        let at = micros(answer.message.followed_at);
        match known.state {
            State::Present(since) => {
                assert_eq!((answer.message.created, at), (false, since), "follow again {edge:?}, {known:?}");
            }
            State::Never | State::Left => {
                assert!(at > known.last, "follow {edge:?} at {at}, {known:?}");
                self.check_change(answer.message.created, answer.attempts);
            }
        }
        self.token = answer.message.consistency_token;
        self.learn(edge, known.present(at, !answer.message.followers_pending));
    }

    pub(super) async fn unfollow(&mut self) {
        let edge = self.edge();
        let known = self.knows(edge);
        let request = UnfollowRequest { follower_id: edge.0, followee_id: edge.1, ..Default::default() };
        let answer = self.caller.call(request, |mut c, r| async move { c.unfollow(r).await }).await;
        match known.state {
            State::Present(_) => self.check_change(answer.message.removed, answer.attempts),
            State::Never | State::Left => assert!(!answer.message.removed, "unfollow nothing {edge:?}, {known:?}"),
        }
        self.token = answer.message.consistency_token;
        self.learn(edge, known.left(!answer.message.followers_pending));
    }

    /// A change that must have happened may be denied only if an attempt before made it.
    pub(super) fn check_change(&mut self, changed: bool, attempts: u64) {
        self.denials += u64::from(!changed && attempts == 1);
    }

    pub(super) fn learn(&mut self, edge: (i64, i64), known: Known) {
        self.known.insert(edge, known);
    }
}
