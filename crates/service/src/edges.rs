//! Single edges: commit in the follower's partition, apply in the followee's, settle later.

use std::time::Duration;

use keyspace::Partition;
use model::{Deadline, Edge, InvalidToken, Micros, UserId, Version};
use store::{
    StoreError, Traffic,
    ops::{Clock, Follow, FollowerChange, Probe, RowOutcome, Unfollow},
};

use crate::{Graph, ServiceError, graph::Inner, times::follow_times};

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

/// How fresh a read must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// As fresh as the last acknowledged write: what every read gives today, for all of them go to primaries.
    Latest,
    /// Not older than a write; fails if that write was lost.
    AtLeast(Write),
}

/// A write that a consistency token names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    partition: Partition,
    version: Version,
}

impl Graph {
    /// Makes `edge` exist. `source` tells where the follow comes from; empty if unknown.
    ///
    /// Two round trips. Once the first is answered the follow has happened, whatever becomes of the second.
    pub async fn follow(&self, edge: Edge, source: String, deadline: Deadline) -> Result<Followed, ServiceError> {
        let inner = &self.inner;
        let partition = inner.store.keys().partition(edge.follower());
        let max = inner.settings.max_following;
        let mut commit = Follow::one(edge, partition, source, max, inner.seen.get(partition));
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
                [RowOutcome::OverLimit] => return Err(ServiceError::FollowLimit { max }),
                ref other => return Err(ServiceError::Internal(format!("a follow became {other:?}"))),
            }
        };
        if !created {
            count_noop("follow", edge);
        }
        // An edge that was there is applied again, which heals a half edge.
        let change = FollowerChange::Present { followed_at, version: committed.version };
        let applied = inner.apply(edge, change, deadline).await.is_ok();
        if created && applied {
            inner.settler.settle(partition, committed.version);
        }
        let consistency_token = inner.consistency_token(partition, committed.version);
        Ok(Followed { created, followed_at, consistency_token, followers_pending: !applied })
    }

    /// Makes `edge` not exist.
    ///
    /// Two round trips. Once the first is answered the unfollow has happened, whatever becomes of the second.
    pub async fn unfollow(&self, edge: Edge, deadline: Deadline) -> Result<Unfollowed, ServiceError> {
        let inner = &self.inner;
        let partition = inner.store.keys().partition(edge.follower());
        let commit = Unfollow { edge, seen: inner.seen.get(partition) };
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
        if committed.removed.is_some() && committed.has_inbox {
            inner.purger.purge(edge.follower(), edge.followee());
        }
        let consistency_token = inner.consistency_token(partition, committed.version);
        Ok(Unfollowed { removed: committed.removed.is_some(), consistency_token, followers_pending: !applied })
    }

    /// The write that a consistency token names.
    pub fn write_of(&self, token: &str) -> Result<Write, InvalidToken> {
        let (number, version) = self.inner.tokens.open_consistency(token)?;
        let partition = self.inner.store.keys().partitions().get_partition(number).ok_or(InvalidToken)?;
        Ok(Write { partition, version })
    }

    /// Since when one user follows another; `None` if they do not. One round trip; two where the edge is in a segment.
    pub async fn is_following(
        &self,
        follower: UserId,
        followee: UserId,
        freshness: Freshness,
        deadline: Deadline,
    ) -> Result<Option<Micros>, ServiceError> {
        let inner = &self.inner;
        let read = inner.follow_time(follower, followee, deadline);
        let Freshness::AtLeast(Write { partition, version }) = freshness else { return Ok(read.await?) };

        inner.seen.raise(partition, version);
        if partition != inner.store.keys().partition(follower) {
            return Ok(read.await?);
        }
        let clock = Clock(partition);
        let (clock, read) = futures::join!(inner.store.run(&clock, Traffic::Interactive, deadline), read);
        if clock? < version {
            return Err(ServiceError::LostWrite);
        }
        Ok(read?)
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
    async fn follow_time(
        &self,
        follower: UserId,
        followee: UserId,
        deadline: Deadline,
    ) -> Result<Option<Micros>, StoreError> {
        let probe = [Probe { follower, followees: vec![followee] }];
        let times = follow_times(&self.store, &probe, Traffic::Interactive, deadline).await?;
        Ok(times.into_iter().flatten().next().flatten())
    }

    async fn apply(&self, edge: Edge, change: FollowerChange, deadline: Deadline) -> Result<(), StoreError> {
        self.apply_all(vec![(edge, change)], deadline).await
    }

    /// The second half of writes that somebody waits for.
    pub(crate) async fn apply_all(
        &self,
        changes: Vec<(Edge, FollowerChange)>,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let wait = APPLY_WAIT.min(deadline.remaining() / 2);
        let applied = self.followers.apply(changes, Traffic::Interactive, Deadline::after(wait)).await;
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
