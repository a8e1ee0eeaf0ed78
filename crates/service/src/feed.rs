//! Feeds.

use model::{Deadline, FeedEntry, UserId};

use crate::{Graph, Post, ServiceError};

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

impl Graph {
    /// A page of a feed.
    pub async fn scroll(&self, query: FeedQuery, deadline: Deadline) -> Result<FeedPage, ServiceError> {
        todo!("{query:?} {deadline:?}")
    }
}
