//! Compares what two partitions tell of a user's edges, and what is kept beside lists with the lists; and mends it.

mod drift;
mod edges;
mod ids;
mod lengths;
mod lookup;

use std::time::Instant;

use keyspace::List;
use model::{Deadline, Entry, Micros, Order, TokenKind, UserId, UserState, Window};
use store::{
    StoreError, Traffic,
    ops::{FindOperation, UserOperation},
};

use self::drift::Found;
pub(crate) use self::drift::show_metrics;
pub use self::drift::{Drift, DriftKind};
use crate::{
    Graph, ServiceError,
    graph::Inner,
    lists::{MOST_ENTRIES, Walk},
};

/// A question whether all is well with a user's edges.
#[derive(Clone, Debug)]
pub struct VerifyQuery {
    /// Whose.
    pub user: UserId,
    /// About how many edges to look at, 1 to 50,000.
    pub edges: usize,
    /// From the page before; empty for the first.
    pub page_token: String,
    /// Whether what is wrong is mended.
    pub repair: bool,
}

/// A part of a look at a user's edges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifiedPage {
    /// Edges that were looked at.
    pub edges: u64,
    /// Edges of those that were changing all the while, of which nothing can be told.
    pub in_flight: u64,
    /// Lists whose length could not be compared: it was changing, or the list is being spread.
    pub unknown_lengths: u64,
    /// The first 100 things that are wrong.
    pub drifts: Vec<Drift>,
    /// How many things are wrong in all.
    pub drift_count: u64,
    /// For the next page; empty on the last.
    pub next_page_token: String,
}

/// How far the look is: in which list, and after which entry of it.
#[derive(Clone, Copy, Debug)]
struct Progress {
    list: List,
    after: Option<Entry>,
}

/// Stands in tokens for the place before the newest entry: no entry has such a time.
const BEFORE_FIRST: Entry = Entry { at: Micros::MAX, user: UserId::MIN };

/// A look at one user's edges.
pub(crate) struct Check<'a> {
    inner: &'a Inner,
    user: UserId,
    repair: bool,
    deadline: Deadline,
    found: Found,
}

impl Graph {
    /// Looks at some of a user's edges: of both lists, newest first, each entry in both partitions. Ends in time for the deadline, with
    /// a token. What changes meanwhile is no drift.
    ///
    /// A list's length and sets are looked at before its first entry.
    pub async fn verify_user(&self, query: VerifyQuery, deadline: Deadline) -> Result<VerifiedPage, ServiceError> {
        let VerifyQuery { user, edges, ref page_token, repair } = query;
        let bound_to = [user.get(), i64::from(repair)];
        let mut progress = self.inner.open_progress(&bound_to, page_token)?;
        self.check_not_moving(user, deadline).await?;
        let mut check = Check { inner: &self.inner, user, repair, deadline, found: Found::default() };
        let (begun, patience) = (Instant::now(), deadline.remaining() / 2);
        let mut seen = 0;
        let next = loop {
            let Some(next) = check.advance(progress, edges - seen, &mut seen).await? else { break None };
            progress = next;
            if seen >= edges || begun.elapsed() > patience {
                break Some(next);
            }
        };
        let next_page_token = next.map_or_else(String::new, |next| self.inner.seal_progress(&bound_to, next));
        Ok(check.found.into_page(seen as u64, next_page_token))
    }
}

impl Graph {
    /// Fails while a user is not active, or becomes so: then the ends of the user's edges differ on purpose.
    async fn check_not_moving(&self, user: UserId, deadline: Deadline) -> Result<(), ServiceError> {
        match self.inner.store.run(&FindOperation(user), Traffic::Interactive, deadline).await? {
            Some(UserOperation { state: UserState::Deleted, .. }) | None => Ok(()),
            Some(UserOperation { state: UserState::Active, done_at: Some(_), .. }) => Ok(()),
            Some(_) => Err(ServiceError::UserUnavailable),
        }
    }
}

impl Check<'_> {
    /// Looks at the next entries, at most `most`. Gives how far the look is then; `None` at its end.
    async fn advance(
        &mut self,
        Progress { list, after }: Progress,
        most: usize,
        seen: &mut usize,
    ) -> Result<Option<Progress>, StoreError> {
        if after.is_none() {
            self.check_length(list).await?;
            if list == List::Following {
                self.check_ids().await?;
            }
        }
        let walk = Walk { list, user: self.user, order: Order::NewestFirst, window: Window::ALL };
        let slice = walk.slice(&self.inner.store, after, most.min(MOST_ENTRIES), self.deadline).await?;
        *seen += slice.entries.len();
        self.check_edges(list, &slice.entries).await?;
        Ok(match (slice.next, list) {
            (Some(last), _) => Some(Progress { list, after: Some(last) }),
            (None, List::Following) => Some(Progress { list: List::Followers, after: None }),
            (None, List::Followers) => None,
        })
    }
}

impl Inner {
    fn open_progress(&self, bound_to: &[i64], token: &str) -> Result<Progress, ServiceError> {
        let kinds = [(TokenKind::VerifyFollowing, List::Following), (TokenKind::VerifyFollowers, List::Followers)];
        let opened = kinds.map(|(kind, list)| {
            let after = self.open_page(kind, bound_to, token)?;
            Ok(Progress { list, after: after.filter(|after| *after != BEFORE_FIRST) })
        });
        let [following, followers] = opened;
        following.or(followers)
    }

    fn seal_progress(&self, bound_to: &[i64], Progress { list, after }: Progress) -> String {
        let kind = match list {
            List::Following => TokenKind::VerifyFollowing,
            List::Followers => TokenKind::VerifyFollowers,
        };
        self.seal_page(kind, bound_to, Some(after.unwrap_or(BEFORE_FIRST)))
    }
}
