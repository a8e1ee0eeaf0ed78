//! Pages of feeds: cursors, posts, and when a page ends.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use model::{Deadline, FeedEntry, FeedPlace, Micros, PostId, TokenKind, UserId, limits::MAX_PAGE_BYTES};
use store::{
    StoreError, Traffic,
    ops::{FetchPost, HasPost, Place},
};

use super::{
    read::{Reading, Source, Stretch},
    timelines::Reach,
};
use crate::{Graph, Post, ServiceError};

/// How long a page may search in timelines before it ends as it is.
const SEARCH_BUDGET: Duration = Duration::from_secs(1);
/// Most entries of one stretch.
const MOST_ENTRIES: usize = 1_000;
/// Whole posts that are fetched at a time: 64 of the largest have 4 MiB.
const MOST_POSTS: usize = 64;

/// A place in a feed as clients of home-made feeds keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedCursor {
    /// The last item's time in whole milliseconds, greater than 0.
    pub max_time_ms: u64,
    /// How many items of this millisecond to pass over.
    pub offset: u32,
}

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedStart {
    /// At the newest post.
    Newest,
    /// After the page that gave the token.
    Token(String),
    /// After the page that gave the cursor.
    Cursor(FeedCursor),
}

/// A question for a page of a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedQuery {
    /// Whose.
    pub user: UserId,
    /// Items a page, 1 to 500.
    pub page_size: usize,
    /// Where the page begins.
    pub start: FeedStart,
    /// Whether to give whole posts.
    pub full: bool,
}

/// A page of a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedPage {
    /// The items, newest first.
    pub items: Vec<FeedItem>,
    /// For the next page; empty at the end.
    pub next_page_token: String,
    /// For the next page; `None` at the end, and as long as no item was shown.
    pub next_cursor: Option<FeedCursor>,
    /// Whether there is no older post.
    pub end_of_feed: bool,
    /// Whether the page is short because the search in old posts took too long.
    pub partial: bool,
}

/// An item of a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedItem {
    /// Which post.
    pub entry: FeedEntry,
    /// The post, if it was asked for.
    pub post: Option<Post>,
}

/// A page in the making.
pub(super) struct Page {
    size: usize,
    /// Where the next stretch begins.
    from: Option<Place>,
    /// The last millisecond of which items were shown, and how many.
    shown: Option<FeedCursor>,
    /// How many items of that millisecond to pass over.
    skip: u32,
    items: Vec<FeedItem>,
    bytes: usize,
    is_full: bool,
}

impl Graph {
    /// A page of a feed. Two round trips as long as the inbox reaches: the entries, and their posts.
    pub async fn scroll(&self, query: FeedQuery, deadline: Deadline) -> Result<FeedPage, ServiceError> {
        let inner = &self.inner;
        let bound_to = [query.user.get()];
        let mut page = self.begin(TokenKind::Feed, &bound_to, &query.start, query.page_size)?;
        let until = if page.skip > 0 { deadline.instant() } else { Instant::now() + SEARCH_BUDGET };
        let reading = Reading {
            store: &inner.store,
            builder: &inner.builder,
            reader: query.user,
            idle: inner.settings.inbox_idle,
            until,
            deadline,
        };
        let reach = self.fill(&mut page, &Source::Feed(reading), query.full, deadline).await?;
        Ok(self.finish(TokenKind::Feed, &bound_to, page, reach))
    }

    /// Fills a page, as far as its source reaches.
    pub(super) async fn fill(
        &self,
        page: &mut Page,
        source: &Source<'_>,
        full: bool,
        deadline: Deadline,
    ) -> Result<Reach, StoreError> {
        loop {
            let Stretch { entries, kept, reach } = source.stretch(page.from, page.wanted()).await?;
            let hidden = match source {
                Source::Feed(reading) => self.not_kept(reading.reader, &kept, &entries, deadline).await?,
                Source::Posts { .. } => HashSet::new(),
            };
            for entries in entries.chunks(if full { MOST_POSTS } else { MOST_ENTRIES }) {
                let found = self.posts(entries, full, source.viewer(), deadline).await?;
                self.forget_missing(source, entries, &found);
                let shown = found.into_iter().flatten().filter(|item| !hidden.contains(&item.entry));
                shown.for_each(|item| page.push(item));
                if page.is_full {
                    break;
                }
            }
            if page.is_full || reach != Reach::More {
                return Ok(reach);
            }
            page.from = entries.last().map(|&last| Place::After(last)).or(page.from);
        }
    }

    /// What an inbox has of posts that are not there goes, behind the call.
    fn forget_missing(&self, source: &Source<'_>, entries: &[FeedEntry], found: &[Option<FeedItem>]) {
        let Source::Feed(reading) = source else { return };
        let missing = entries.iter().zip(found).filter(|(_, item)| item.is_none()).map(|(&entry, _)| entry);
        let missing: Vec<_> = missing.collect();
        if !missing.is_empty() {
            metrics::counter!("socialgraph_feed_dangling_total").increment(missing.len() as u64);
            self.inner.purger.forget(reading.reader, &missing);
        }
    }

    pub(super) fn begin(
        &self,
        kind: TokenKind,
        bound_to: &[i64],
        start: &FeedStart,
        size: usize,
    ) -> Result<Page, ServiceError> {
        let (from, shown, skip) = match start {
            FeedStart::Newest => (None, None, 0),
            FeedStart::Cursor(cursor) => {
                let from = Micros::new((cursor.max_time_ms + 1).saturating_mul(1_000)).unwrap_or(Micros::MAX);
                let top = FeedEntry { at: from, post: PostId::MIN, author: UserId::MIN };
                (Some(Place::After(top)), Some(*cursor), cursor.offset)
            }
            FeedStart::Token(token) => {
                let place = self.inner.tokens.open_feed(kind, bound_to, token);
                let FeedPlace { last, shown } = place.map_err(|_| ServiceError::InvalidPageToken)?;
                let max_time_ms = last.at.get() / 1_000;
                (Some(Place::After(last)), (shown > 0).then_some(FeedCursor { max_time_ms, offset: shown }), 0)
            }
        };
        Ok(Page { size, from, shown, skip, items: Vec::new(), bytes: 0, is_full: false })
    }

    /// The posts of entries; `None` where one is not there: it was deleted, or lost.
    async fn posts(
        &self,
        entries: &[FeedEntry],
        full: bool,
        viewer: Option<UserId>,
        deadline: Deadline,
    ) -> Result<Vec<Option<FeedItem>>, StoreError> {
        let store = &self.inner.store;
        if !full {
            let reads: Vec<_> =
                entries.iter().map(|entry| HasPost { author: entry.author, post: entry.post }).collect();
            let found = store.run_all(&reads, Traffic::Interactive, deadline).await;
            let items = entries.iter().zip(found);
            return items.map(|(&entry, is_there)| Ok(is_there?.then_some(FeedItem { entry, post: None }))).collect();
        }
        let read = |entry: &FeedEntry| FetchPost { author: entry.author, post: entry.post, viewer };
        let reads: Vec<_> = entries.iter().map(read).collect();
        let stored = store.run_all(&reads, Traffic::Interactive, deadline).await;
        let items = entries.iter().zip(stored);
        items
            .map(|(&entry, stored)| {
                let post = stored?.map(|stored| Post::stored(entry.author, entry.post, stored));
                Ok(post.map(|post| FeedItem { entry, post: Some(post) }))
            })
            .collect()
    }

    pub(super) fn finish(&self, kind: TokenKind, bound_to: &[i64], page: Page, reach: Reach) -> FeedPage {
        let end_of_feed = !page.is_full && reach == Reach::End;
        let next_page_token = if end_of_feed {
            String::new()
        } else {
            let last = match (page.items.last(), page.from) {
                (Some(item), _) => item.entry,
                (None, Some(Place::After(last) | Place::At(last))) => last,
                (None, None) => FeedEntry { at: Micros::MAX, post: PostId::MAX, author: UserId::MAX },
            };
            let of_last = page.shown.filter(|shown| shown.max_time_ms == last.at.get() / 1_000);
            let shown = of_last.map_or(0, |shown| shown.offset);
            self.inner.tokens.seal_feed(kind, bound_to, FeedPlace { last, shown })
        };
        FeedPage {
            items: page.items,
            next_page_token,
            next_cursor: page.shown.filter(|_| !end_of_feed),
            end_of_feed,
            partial: !page.is_full && reach == Reach::OutOfTime,
        }
    }
}

impl Page {
    /// How many entries to ask for: those that are missing, those to pass over, and one to see whether there are more.
    fn wanted(&self) -> usize {
        (self.size - self.items.len() + self.skip as usize + 1).min(MOST_ENTRIES)
    }

    /// Takes the next item, or is full.
    fn push(&mut self, item: FeedItem) {
        if self.is_full {
            return;
        }
        let millis = item.entry.at.get() / 1_000;
        let of_shown = self.shown.filter(|shown| shown.max_time_ms == millis);
        if self.skip > 0 && of_shown.is_some() {
            self.skip -= 1;
            return;
        }
        self.skip = 0;
        let bytes = item.post.as_ref().map_or(0, Post::bytes);
        if self.items.len() == self.size || !self.items.is_empty() && self.bytes + bytes > MAX_PAGE_BYTES {
            self.is_full = true;
            return;
        }
        self.bytes += bytes;
        self.shown = Some(FeedCursor { max_time_ms: millis, offset: of_shown.map_or(0, |shown| shown.offset) + 1 });
        self.items.push(item);
    }
}
