//! Single edges: commit in the follower's partition, apply in the followee's, settle later.

use std::time::Duration;

use keyspace::Partition;
use model::{Deadline, Edge, Micros, UserId};
use store::{
    StoreError, Traffic,
    ops::{Follow, FollowRow, FollowerChange, FollowerRows, Probe, Refused, RowOutcome, Unfollow},
};

use crate::{Graph, GraphSettings, ServiceError, graph::Inner, times::follow_times};

/// The longest that a caller waits for the second half of a write, which the relay finishes otherwise.
const APPLY_WAIT: Duration = Duration::from_secs(1);

/// What became of a follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// Whether the edge is new.
    pub created: bool,
    /// Since when it is there.
    pub followed_at: Micros,
    /// Names the write.
    pub consistency_token: String,
    /// Whether the followee's list does not show it yet.
    pub followers_pending: bool,
}

/// What an unfollow does to posts that were delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FeedPolicy {
    /// They are hidden at once, and removed behind the call.
    #[default]
    Hide,
    /// They are hidden at once, and removed before the call is answered, if that does not take too long.
    Purge,
    /// What was published while the author was followed stays.
    Keep,
}

/// What became of an unfollow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfollowed {
    /// Whether there was an edge.
    pub removed: bool,
    /// Names the write.
    pub consistency_token: String,
    /// Whether the followee's list may still show it.
    pub followers_pending: bool,
}

impl Graph {
    /// Makes `edge` exist. `source` tells where the follow comes from; empty if unknown.
    ///
    /// Two round trips. Once the first is answered the follow has happened, unless the followee's partition refuses it in the second:
    /// then it is withdrawn, which takes two more.
    pub async fn follow(&self, edge: Edge, source: String, deadline: Deadline) -> Result<Followed, ServiceError> {
        let inner = &self.inner;
        let partition = inner.store.keys().partition(edge.follower());
        let rows = vec![FollowRow { followee: edge.followee(), followed_at: None }];
        let mut commit = inner.follow_commit(partition, FollowerRows { follower: edge.follower(), rows }, source);
        let (committed, created, followed_at) = loop {
            commit.seen = inner.seen.get(partition);
            let committed = inner.store.run(&commit, Traffic::Interactive, deadline).await?;
            inner.seen.raise(partition, committed.version);
            match committed.outcomes[..] {
                [RowOutcome::Created { followed_at, .. }] => break (committed, true, followed_at),
                [RowOutcome::Existing { followed_at: Some(followed_at) }] => break (committed, false, followed_at),
                // In a segment. If it is gone by the time of that look, the follow is a new one.
                [RowOutcome::Existing { followed_at: None }] => {
                    if let Some(followed_at) = inner.follow_time(edge.follower(), edge.followee(), deadline).await? {
                        break (committed, false, followed_at);
                    }
                }
                [refused] => return Err(inner.refusal(refused)),
                ref other => return Err(ServiceError::Internal(format!("a follow became {other:?}"))),
            }
        };
        if !created {
            count_noop("follow", edge);
        }
        // An edge that was there is applied again, which heals a half edge.
        let change = FollowerChange::Present { followed_at, version: committed.version };
        let applied = inner.apply(edge, change, deadline).await;
        if created && applied.is_ok() {
            inner.settler.settle(partition, committed.version);
        }
        if let Ok([refused, ..]) = applied.as_deref() {
            return Err(refused.refusal.into());
        }
        let consistency_token = inner.write_token(partition, committed.version, applied.is_ok());
        Ok(Followed { created, followed_at, consistency_token, followers_pending: applied.is_err() })
    }

    /// Makes `edge` not exist.
    ///
    /// Two round trips. Once the first is answered the unfollow has happened, whatever becomes of the second. With
    /// [`FeedPolicy::Purge`] one more for each 64 posts that are removed.
    pub async fn unfollow(
        &self,
        edge: Edge,
        policy: FeedPolicy,
        deadline: Deadline,
    ) -> Result<Unfollowed, ServiceError> {
        let inner = &self.inner;
        let partition = inner.store.keys().partition(edge.follower());
        let keeps_posts = policy == FeedPolicy::Keep;
        let commit = Unfollow { edge, keeps_posts, seen: inner.seen.get(partition) };
        let committed = inner.store.run(&commit, Traffic::Interactive, deadline).await?;
        inner.seen.raise(partition, committed.version);
        if committed.removed.is_none() {
            count_noop("unfollow", edge);
        }
        let change = FollowerChange::Absent { removed: committed.removed, version: committed.version };
        let applied = inner.apply(edge, change, deadline).await.is_ok();
        if applied {
            inner.settler.settle(partition, committed.version);
        }
        if committed.has_inbox {
            let (reader, author) = (edge.follower(), edge.followee());
            match policy {
                FeedPolicy::Hide if committed.removed.is_some() => inner.purger.purge(reader, author),
                FeedPolicy::Purge => inner.purger.purge_now(reader, author, inner.apply_limit(deadline)).await,
                FeedPolicy::Hide | FeedPolicy::Keep => {}
            }
        }
        let consistency_token = inner.write_token(partition, committed.version, applied);
        Ok(Unfollowed { removed: committed.removed.is_some(), consistency_token, followers_pending: !applied })
    }

    /// Since when one user follows another; `None` if they do not. One round trip; two where the edge is in a segment.
    pub async fn is_following(
        &self,
        follower: UserId,
        followee: UserId,
        deadline: Deadline,
    ) -> Result<Option<Micros>, ServiceError> {
        Ok(self.inner.follow_time(follower, followee, deadline).await?)
    }

    /// Since when one user follows each of 1 to 1,000 others, in the order given. One round trip; two where edges are in segments.
    pub async fn batch_is_following(
        &self,
        follower: UserId,
        followees: Vec<UserId>,
        deadline: Deadline,
    ) -> Result<Vec<Option<Micros>>, ServiceError> {
        let probe = [Probe { follower, followees }];
        let times = follow_times(&self.inner.store, &probe, Traffic::Interactive, deadline).await?;
        Ok(times.into_iter().flatten().collect())
    }
}

impl Inner {
    /// The first half of follows, from now.
    pub(crate) fn follow_commit(&self, partition: Partition, rows: FollowerRows, source: String) -> Follow {
        let GraphSettings { max_following, follows_per_hour, .. } = self.settings;
        let seen = self.seen.get(partition);
        Follow { partition, followers: vec![rows], source, max_following, per_hour: follows_per_hour, seen }
    }

    /// Why a follow from now was not committed.
    pub(crate) fn refusal(&self, outcome: RowOutcome) -> ServiceError {
        match outcome {
            RowOutcome::OverLimit => ServiceError::FollowLimit { max: self.settings.max_following },
            RowOutcome::Unavailable => ServiceError::UserUnavailable,
            RowOutcome::Blocked => ServiceError::Blocked,
            RowOutcome::TooMany { retry_after } => {
                ServiceError::RateLimited { max: self.settings.follows_per_hour, retry_after }
            }
            RowOutcome::Created { .. } | RowOutcome::Existing { .. } | RowOutcome::Superseded => {
                ServiceError::Internal(format!("a follow became {outcome:?}"))
            }
        }
    }

    pub(crate) async fn follow_time(
        &self,
        follower: UserId,
        followee: UserId,
        deadline: Deadline,
    ) -> Result<Option<Micros>, StoreError> {
        let probe = [Probe { follower, followees: vec![followee] }];
        let times = follow_times(&self.store, &probe, Traffic::Interactive, deadline).await?;
        Ok(times.into_iter().flatten().next().flatten())
    }

    async fn apply(&self, edge: Edge, change: FollowerChange, deadline: Deadline) -> Result<Vec<Refused>, StoreError> {
        self.apply_all(vec![(edge, change)], deadline).await
    }

    /// By when the second half of a write is left to the relay, of a call with that deadline.
    pub(crate) fn apply_limit(&self, deadline: Deadline) -> Deadline {
        Deadline::after(APPLY_WAIT.min(deadline.remaining() / 2))
    }

    /// The second half of writes that somebody waits for.
    pub(crate) async fn apply_all(
        &self,
        changes: Vec<(Edge, FollowerChange)>,
        deadline: Deadline,
    ) -> Result<Vec<Refused>, StoreError> {
        let applied = self.followers.apply(changes, Traffic::Interactive, self.apply_limit(deadline)).await;
        if let Err(error) = &applied {
            tracing::debug!(%error, "second half left to the relay");
        }
        applied
    }
}

/// A repeated follow or an unfollow of nothing means a client out of step. Logged for one in 64 of them.
pub(crate) fn count_noop(kind: &'static str, edge: Edge) {
    metrics::counter!("socialgraph_follow_noop_total", "kind" => kind).increment(1);
    if rand::random_ratio(1, 64) {
        tracing::warn!(kind, follower = %edge.follower(), followee = %edge.followee(), "call changed nothing (1 in 64 is logged)");
    }
}
