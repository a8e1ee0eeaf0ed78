//! Feeds: the posts of oneself and of everyone followed now, and what is kept of others, newest first.
//!
//! The top of a feed is kept in an inbox, which is exact down to its floor; what is below is merged from the authors'
//! timelines.

mod build;
mod followed;
mod kept;
mod named;
mod page;
mod read;
mod timelines;

pub(crate) use build::Builder;
pub use named::UserPostsQuery;
pub use page::{FeedCursor, FeedItem, FeedPage, FeedQuery, FeedStart};
