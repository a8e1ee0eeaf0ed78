//! Mutes, and lists of whom users block and mute.

use model::{Deadline, Edge, Micros, TokenKind, UserId, limits::MAX_RELATIONS};
pub use store::ops::{Mark, Marked};
use store::{
    Traffic,
    ops::{MarkOutcome, Marks, Mute, Unmark},
};

use crate::{Graph, ServiceError};

/// What became of a block or a mute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedNow {
    /// Whether it is new.
    pub created: bool,
    /// Since when it is there.
    pub since: Micros,
    /// Names the write.
    pub consistency_token: String,
    /// Whether lists may still show what it ended.
    pub followers_pending: bool,
}

/// What became of the end of a block or a mute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmarked {
    /// Whether there was one.
    pub removed: bool,
    /// Names the write.
    pub consistency_token: String,
}

/// A question for a page of whom a user blocks or mutes.
#[derive(Clone, Debug)]
pub struct MarksQuery {
    /// Which of the two.
    pub mark: Mark,
    /// Whose.
    pub user: UserId,
    /// Entries a page, 1 to 500.
    pub page_size: usize,
    /// From the page before; empty for the first.
    pub page_token: String,
}

/// A page of whom a user blocks or mutes, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarksPage {
    /// The entries. May be short, or none, before the last page.
    pub users: Vec<Marked>,
    /// For the next page; empty on the last.
    pub next_page_token: String,
}

impl Graph {
    /// Makes `edge.follower()` mute `edge.followee()` until a time, or for good. One round trip.
    pub async fn mute(&self, edge: Edge, until: Option<Micros>, deadline: Deadline) -> Result<MarkedNow, ServiceError> {
        let inner = &self.inner;
        let user = edge.follower();
        let partition = inner.store.keys().partition(user);
        let seen = inner.seen.get(partition);
        let commit = Mute { user, muted: edge.followee(), until, most: MAX_RELATIONS, seen };
        let (outcome, version) = inner.store.run(&commit, Traffic::Interactive, deadline).await?;
        inner.seen.raise(partition, version);
        let (created, since) = marked(outcome, "mute")?;
        let consistency_token = inner.write_token(partition, version, true);
        Ok(MarkedNow { created, since, consistency_token, followers_pending: false })
    }

    /// Ends a block or a mute. The follows that a block ended do not come back. One round trip.
    pub async fn unmark(&self, mark: Mark, edge: Edge, deadline: Deadline) -> Result<Unmarked, ServiceError> {
        let inner = &self.inner;
        let user = edge.follower();
        let partition = inner.store.keys().partition(user);
        let commit = Unmark { mark, user, other: edge.followee(), seen: inner.seen.get(partition) };
        let (removed, version) = inner.store.run(&commit, Traffic::Interactive, deadline).await?;
        inner.seen.raise(partition, version);
        Ok(Unmarked { removed, consistency_token: inner.write_token(partition, version, true) })
    }

    /// A page of whom a user blocks or mutes. One round trip.
    pub async fn marks(&self, query: MarksQuery, deadline: Deadline) -> Result<MarksPage, ServiceError> {
        let MarksQuery { mark, user, page_size, page_token } = query;
        let kind = match mark {
            Mark::Block => TokenKind::ListBlocked,
            Mark::Mute => TokenKind::ListMuted,
        };
        let bound_to = [user.get()];
        let after = self.inner.open_page(kind, &bound_to, &page_token)?;
        // One more, to see whether there is more.
        let read = Marks { mark, user, after, limit: page_size + 1 };
        let (mut users, mut last) = self.inner.store.run(&read, Traffic::Interactive, deadline).await?;
        if users.len() > page_size {
            users.truncate(page_size);
            last = users.last().map(|marked| marked.entry);
        }
        Ok(MarksPage { users, next_page_token: self.inner.seal_page(kind, &bound_to, last) })
    }
}

/// Whether a block or a mute is new, and since when it is there; or why there is none.
pub(crate) fn marked(outcome: MarkOutcome, verb: &'static str) -> Result<(bool, Micros), ServiceError> {
    match outcome {
        MarkOutcome::Marked { created, since } => Ok((created, since)),
        MarkOutcome::OverLimit => Err(ServiceError::RelationLimit { verb, max: MAX_RELATIONS }),
        MarkOutcome::Unavailable => Err(ServiceError::UserUnavailable),
        MarkOutcome::Past => Err(ServiceError::PastEnd),
    }
}
