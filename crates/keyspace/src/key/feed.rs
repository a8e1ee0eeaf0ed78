//! Keys of posts and feeds.

use std::fmt::Write;

use model::{PostId, UserId};

use super::{Key, Keyspace};

impl Keyspace {
    /// The parts of a timeline: see [`Keyspace::list_parts`].
    pub fn posts_parts(&self, author: UserId) -> Key {
        self.beside("posts", author, ":parts")
    }

    /// ZSET: post id of 8 bytes, the highest first -> time of publication in microseconds.
    pub fn posts(&self, author: UserId) -> Key {
        self.of_user("posts", author)
    }

    /// HASH: a post, and what is to be known about it.
    pub fn post(&self, author: UserId, post: PostId) -> Key {
        let mut key = self.unfinished("post", author);
        let _infallible = write!(key.0, ":{post}");
        key.finish()
    }

    /// HASH: which post a request made. Kept for 24 hours.
    pub fn request(&self, author: UserId, request_id: &str) -> Key {
        let mut key = self.unfinished("request", author);
        let _infallible = write!(key.0, ":{request_id}");
        key.finish()
    }

    /// ZSET, the head of an inbox: post id and author id, each of 8 bytes, the highest first -> time of publication in
    /// microseconds.
    pub fn inbox(&self, reader: UserId) -> Key {
        self.of_user("inbox", reader)
    }

    /// ZSET, an older part of an inbox, by its number from 1.
    pub fn inbox_segment(&self, reader: UserId, number: u32) -> Key {
        let mut key = self.unfinished("inbox", reader);
        let _infallible = write!(key.0, ":{number}");
        key.finish()
    }

    /// HASH: the facts of an inbox. It lives and dies with it.
    pub fn feed(&self, reader: UserId) -> Key {
        self.of_user("feed", reader)
    }

    /// ZSET: author whom the reader does not follow any more, but keeps what they published until then -> until when in microseconds. At
    /// most 1,000.
    pub fn kept(&self, reader: UserId) -> Key {
        self.of_user("kept", reader)
    }

    /// ZSET: the same author -> since when.
    pub fn kept_since(&self, reader: UserId) -> Key {
        self.of_user("kept_since", reader)
    }

    /// HASH: how the posts of an author reach the followers, if they are not simply pushed.
    pub fn delivery(&self, author: UserId) -> Key {
        self.of_user("delivery", author)
    }

    /// STRING: which instance tells the followers of an author how the posts reach them. It expires by itself.
    pub fn delivery_worker(&self, author: UserId) -> Key {
        self.beside("delivery", author, ":worker")
    }

    /// ZSET: deleted post -> version of the deletion. Kept for 24 hours.
    pub fn erased(&self, author: UserId) -> Key {
        self.of_user("erased", author)
    }
}
