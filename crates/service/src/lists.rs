use keyspace::List;
use model::{Deadline, Entry, Order, TokenKind, UserId, Window};
use store::{Store, StoreError, Traffic, ops::Range};

use crate::{Graph, ServiceError};

/// Pages longer than this do not share connections with small calls.
const SMALL_PAGE: usize = 100;
/// Most entries of a slice: with one more, no command reads more than 1,000.
pub(crate) const MOST_ENTRIES: usize = 999;

/// A question for a page of a list.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// Which list.
    pub list: List,
    /// Whose.
    pub user: UserId,
    /// Which end first.
    pub order: Order,
    /// Only entries of this span.
    pub window: Window,
    /// Entries a page, 1 to 500.
    pub page_size: usize,
    /// From the page before; empty for the first.
    pub page_token: String,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPage {
    /// The entries.
    pub entries: Vec<Entry>,
    /// For the next page; empty on the last.
    pub next_page_token: String,
}

impl Graph {
    /// A page of a list. One round trip; two where it is in segments of a long list.
    pub async fn list(&self, query: ListQuery, deadline: Deadline) -> Result<ListPage, ServiceError> {
        let kind = match query.list {
            List::Following => TokenKind::ListFollowing,
            List::Followers => TokenKind::ListFollowers,
        };
        let order = match query.order {
            Order::NewestFirst => 1,
            Order::OldestFirst => 2,
        };
        let [from, until] = [query.window.from, query.window.until].map(|time| time.get().cast_signed());
        let bound_to = [query.user.get(), order, from, until];
        let tokens = &self.inner.tokens;
        let after = match query.page_token.as_str() {
            "" => None,
            token => Some(tokens.open_page(kind, &bound_to, token).map_err(|_| ServiceError::InvalidPageToken)?),
        };
        let walk = Walk { list: query.list, user: query.user, order: query.order, window: query.window };
        let slice = walk.slice(&self.inner.store, after, query.page_size, deadline).await?;
        let next_page_token = slice.next.map_or_else(String::new, |last| tokens.seal_page(kind, &bound_to, last));
        Ok(ListPage { entries: slice.entries, next_page_token })
    }
}

/// A way through a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    pub(crate) list: List,
    pub(crate) user: UserId,
    pub(crate) order: Order,
    pub(crate) window: Window,
}

/// A stretch of a walk.
#[derive(Debug)]
pub(crate) struct Slice {
    pub(crate) entries: Vec<Entry>,
    /// After which entry the walk goes on; `None` at its end.
    pub(crate) next: Option<Entry>,
}

impl Walk {
    /// The next entries after `after`, at most `limit` (1 to 999) of them. What is there all along is met exactly once,
    /// whatever comes and goes meanwhile, `after` itself included.
    pub(crate) async fn slice(
        &self,
        store: &Store,
        after: Option<Entry>,
        limit: usize,
        deadline: Deadline,
    ) -> Result<Slice, StoreError> {
        let traffic = if limit > SMALL_PAGE { Traffic::Bulk } else { Traffic::Interactive };
        let Self { list, user, order, window } = *self;
        // One more, to see whether there is more.
        let range = Range { list, user, order, window, after, limit: limit + 1 };
        let mut entries = store.run(&range, traffic, deadline).await?;
        entries.retain(|entry| (window.from..=window.until).contains(&entry.at));
        let has_more = entries.len() > limit;
        entries.truncate(limit);
        let next = entries.last().copied().filter(|_| has_more);
        Ok(Slice { entries, next })
    }

    /// All entries, in slices; `take` says whether to go on.
    pub(crate) async fn each_slice(
        &self,
        store: &Store,
        deadline: Deadline,
        mut take: impl FnMut(Vec<Entry>) -> bool,
    ) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let Slice { entries, next } = self.slice(store, after, MOST_ENTRIES, deadline).await?;
            if !take(entries) || next.is_none() {
                return Ok(());
            }
            after = next;
        }
    }
}
