//! Blocks: both follows end, and neither comes to be again.
//!
//! The blocker's partition holds the block, and nothing else does: it refuses follows of who is blocked when they are applied there, and
//! who applied them withdraws them. What is left to the second half is the follow that was there before the block.

use std::collections::HashSet;

use futures::join;
use model::{Deadline, Edge, Micros, UserId, limits::MAX_RELATIONS};
use store::{
    Store, StoreError, Traffic,
    ops::{Block, BlockedSince, FollowerChange, Held, HeldMarks, Probe},
};

use crate::{
    Graph, MarkedNow, ServiceError, followers::Followers, marks::marked, purge::Purger, settle::settle,
    times::follow_times,
};

/// What a viewer and a user hold against each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Between {
    /// What the viewer holds against the user.
    pub(crate) held: HeldMarks,
    /// Since when the user blocks the viewer; `None` if they do not.
    pub(crate) blocked_by_at: Option<Micros>,
}

impl Between {
    /// Whether one of the two blocks the other.
    pub(crate) fn is_block(self) -> bool {
        self.held.blocked_at.or(self.blocked_by_at).is_some()
    }
}

/// Ends what a block ends. Clones share the same work.
#[derive(Clone)]
pub(crate) struct Blocker {
    pub(crate) store: Store,
    pub(crate) followers: Followers,
    pub(crate) purger: Purger,
}

impl Graph {
    /// Makes `edge.follower()` block `edge.followee()`, which ends the follows of both.
    ///
    /// Two round trips, and three more if the blocked user followed the blocker. Once the first is answered the block holds, whatever
    /// becomes of the others.
    pub async fn block(&self, edge: Edge, deadline: Deadline) -> Result<MarkedNow, ServiceError> {
        let inner = &self.inner;
        let (user, blocked) = (edge.follower(), edge.followee());
        let partition = inner.store.keys().partition(user);
        let commit = Block { user, blocked, most: MAX_RELATIONS, seen: inner.seen.get(partition) };
        let committed = inner.store.run(&commit, Traffic::Interactive, deadline).await?;
        inner.seen.raise(partition, committed.version);
        let (created, since) = marked(committed.outcome, "block")?;
        let wait = inner.apply_limit(deadline);
        let own = committed
            .ended
            .map(|ended| (edge, FollowerChange::Absent { removed: Some(ended), version: committed.version }));
        let (own, other) = join!(
            async {
                match own {
                    Some(change) => {
                        inner.followers.apply(vec![change], Traffic::Interactive, wait).await.map(|_none| ())
                    }
                    None => Ok(()),
                }
            },
            inner.blocker.end_follow_of_blocked(user, blocked, since, Traffic::Interactive, wait),
        );
        if committed.ended.is_some() && committed.has_inbox {
            inner.purger.purge(user, blocked);
        }
        let outcome = own.and(other);
        if let Err(error) = &outcome {
            tracing::debug!(%error, "second half of a block left to the relay");
        } else if created {
            inner.settler.settle(partition, committed.version);
        }
        let consistency_token = inner.write_token(partition, committed.version, outcome.is_ok());
        Ok(MarkedNow { created, since, consistency_token, followers_pending: outcome.is_err() })
    }

    /// Takes out of the rows of a page whom a viewer blocked, or who blocked the viewer, and gives how many these were. Fails if one of the
    /// users whom the page is about is such a one. One round trip; none without a viewer.
    pub(crate) async fn hide<T>(
        &self,
        viewer: Option<UserId>,
        about: &[UserId],
        rows: &mut Vec<T>,
        user_of: impl Fn(&T) -> UserId,
        deadline: Deadline,
    ) -> Result<u64, ServiceError> {
        let Some(viewer) = viewer else { return Ok(0) };
        let users: Vec<_> = about.iter().copied().chain(rows.iter().map(&user_of)).collect();
        let hidden = self.hidden_from(viewer, &users, deadline).await?;
        if about.iter().any(|user| hidden.contains(user)) {
            return Err(ServiceError::Blocked);
        }
        let all = rows.len();
        rows.retain(|row| !hidden.contains(&user_of(row)));
        Ok((all - rows.len()) as u64)
    }

    /// Those of some users who have blocked a viewer, or whom the viewer has blocked. One round trip.
    pub(crate) async fn hidden_from(
        &self,
        viewer: UserId,
        users: &[UserId],
        deadline: Deadline,
    ) -> Result<HashSet<UserId>, StoreError> {
        let between = self.between(viewer, users, deadline).await?;
        Ok(users.iter().zip(between).filter(|(_, between)| between.is_block()).map(|(&user, _)| user).collect())
    }

    /// What a viewer and each of some users, at most 1,000, hold against each other, in their order. One round trip.
    pub(crate) async fn between(
        &self,
        viewer: UserId,
        users: &[UserId],
        deadline: Deadline,
    ) -> Result<Vec<Between>, StoreError> {
        if users.is_empty() {
            return Ok(Vec::new());
        }
        let store = &self.inner.store;
        let held = Held { user: viewer, others: users.to_vec() };
        let blocks: Vec<_> = users.iter().map(|&user| BlockedSince { user, blocked: viewer }).collect();
        let (held, blocks) = join!(
            store.run(&held, Traffic::Interactive, deadline),
            store.run_all(&blocks, Traffic::Interactive, deadline)
        );
        held?.into_iter().zip(blocks).map(|(held, blocked)| Ok(Between { held, blocked_by_at: blocked? })).collect()
    }
}

impl Blocker {
    /// Ends the follow that the blocked user had when the block began. May be done again, and late: a follow that came after the end of
    /// the block stays.
    pub(crate) async fn end_follow_of_blocked(
        &self,
        user: UserId,
        blocked: UserId,
        since: Micros,
        traffic: Traffic,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let Ok(edge) = Edge::new(blocked, user) else { return Ok(()) };
        let probe = [Probe { follower: blocked, followees: vec![user] }];
        let times = follow_times(&self.store, &probe, traffic, deadline).await?;
        let Some(followed_at) = times.into_iter().flatten().next().flatten() else { return Ok(()) };
        // The follow was there at a time when the block held, if it holds yet: the times of two blocks are never the same.
        if self.store.run(&BlockedSince { user, blocked }, traffic, deadline).await? != Some(since) {
            return Ok(());
        }
        let withdrawals = self.followers.withdraw_edges([(edge, followed_at)], traffic, deadline).await?;
        for row in withdrawals.rows.iter().filter(|row| row.has_inbox) {
            self.purger.purge(row.edge.follower(), row.edge.followee());
        }
        // Also where it was not there any more: the list may show it yet.
        let version = withdrawals.rows.iter().find_map(|row| row.version).unwrap_or_default();
        let change = FollowerChange::Absent { removed: Some(followed_at), version };
        self.followers.apply(vec![(edge, change)], traffic, deadline).await?;
        settle(&self.store, withdrawals.committed.into_iter()).await;
        Ok(())
    }
}
