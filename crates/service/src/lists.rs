use keyspace::List;
use model::{Deadline, Entry, Order, TokenKind, UserId, Window};
use store::{
    Store, StoreError, Traffic,
    ops::{Page, Rank, RankPage},
};

use crate::{Graph, ServiceError};

/// Pages longer than this do not share connections with small calls.
const SMALL_PAGE: usize = 100;
/// How many entries beyond the cursor a page by rank reads, so that it still meets the cursor if entries before it went.
const OVERLAP: u64 = 16;
/// How often a page by rank is read again before giving up.
const RANK_ATTEMPTS: usize = 8;

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
    /// A page of a list. One round trip; three where more entries than a page share the cursor's time.
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
    /// The next entries after `after`, at most `limit` (1 to 998) of them. What is there all along is met exactly once,
    /// whatever comes and goes meanwhile, `after` itself included.
    pub(crate) async fn slice(
        &self,
        store: &Store,
        after: Option<Entry>,
        limit: usize,
        deadline: Deadline,
    ) -> Result<Slice, StoreError> {
        let traffic = if limit > SMALL_PAGE { Traffic::Bulk } else { Traffic::Interactive };
        // One more for the cursor itself, and one to see whether there is more.
        let asked = limit + 1 + usize::from(after.is_some());
        let page = Page { list: self.list, user: self.user, order: self.order, window: self.rest(after), limit: asked };
        let read = store.run(&page, traffic, deadline).await?;
        let exhausted = read.len() < asked;
        let entries: Vec<_> = read.into_iter().filter(|&entry| self.is_after(entry, after)).collect();
        match after {
            Some(after) if entries.is_empty() && !exhausted => {
                self.slice_by_rank(store, after, limit, traffic, deadline).await
            }
            _ => Ok(cut(entries, limit, exhausted)),
        }
    }

    /// The same by rank, for a cursor amid more entries of one time than a page has.
    async fn slice_by_rank(
        &self,
        store: &Store,
        after: Entry,
        limit: usize,
        traffic: Traffic,
        deadline: Deadline,
    ) -> Result<Slice, StoreError> {
        let wanted = limit as u64 + 1;
        for _ in 0..RANK_ATTEMPTS {
            let rank = store.run(&Rank { list: self.list, user: self.user, entry: after }, traffic, deadline).await?;
            let start = match self.order {
                Order::OldestFirst => rank.saturating_sub(OVERLAP),
                Order::NewestFirst => rank.saturating_sub(wanted),
            };
            let asked = (wanted + OVERLAP) as usize;
            let page = RankPage { list: self.list, user: self.user, start, limit: asked };
            let mut read = store.run(&page, traffic, deadline).await?;
            let (meets_cursor, exhausted) = match self.order {
                Order::OldestFirst => {
                    (start == 0 || read.first().is_some_and(|&first| first <= after), read.len() < asked)
                }
                Order::NewestFirst => {
                    (read.len() < asked || read.last().is_some_and(|&last| last >= after), start == 0)
                }
            };
            if meets_cursor {
                if self.order == Order::NewestFirst {
                    read.reverse();
                }
                let beyond = read.iter().any(|&entry| self.is_after(entry, Some(after)) && !self.in_window(entry));
                read.retain(|&entry| self.is_after(entry, Some(after)) && self.in_window(entry));
                return Ok(cut(read, limit, exhausted || beyond));
            }
        }
        Err(StoreError::Unavailable("the list changes too fast".to_owned()))
    }

    fn is_after(&self, entry: Entry, after: Option<Entry>) -> bool {
        after.is_none_or(|after| self.order.is_after(entry, after))
    }

    fn in_window(&self, entry: Entry) -> bool {
        (self.window.from..=self.window.until).contains(&entry.at)
    }

    fn rest(&self, after: Option<Entry>) -> Window {
        let Some(after) = after else { return self.window };
        match self.order {
            Order::NewestFirst => Window { until: self.window.until.min(after.at), ..self.window },
            Order::OldestFirst => Window { from: self.window.from.max(after.at), ..self.window },
        }
    }
}

fn cut(mut entries: Vec<Entry>, limit: usize, exhausted: bool) -> Slice {
    let more = entries.len() > limit || !exhausted;
    entries.truncate(limit);
    let next = entries.last().copied().filter(|_| more);
    Slice { entries, next }
}
