//! What feeds must be, and what must hold of every page of one. No part of it does any I/O.

mod oracle;
mod scroll;

use prost_types::Timestamp;
use socialgraph::v1::{FeedItem, Post};

pub(crate) use oracle::Oracle;
pub(crate) use scroll::{By, How, Scroll};

/// A place in a feed. The order is that of feeds, the other way round: the newest is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// When it was published, in microseconds.
    pub(crate) at: i64,
    pub(crate) post: i64,
    pub(crate) author: i64,
}

impl Entry {
    pub(crate) fn of_post(post: &Post) -> Self {
        Self { at: micros(post.published_at), post: post.post_id, author: post.author_id }
    }

    pub(crate) fn of_item(item: &FeedItem) -> Self {
        Self { at: micros(item.published_at), post: item.post_id, author: item.author_id }
    }
}

fn micros(at: Option<Timestamp>) -> i64 {
    let at = at.expect("a time");
    assert_eq!(at.nanos % 1_000, 0, "{at:?}");
    at.seconds * 1_000_000 + i64::from(at.nanos) / 1_000
}
