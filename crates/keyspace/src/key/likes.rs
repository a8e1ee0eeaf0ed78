use std::fmt::Write;

use model::{PostId, UserId};

use super::{Key, Keyspace, UnfinishedKey};
use crate::partition::mix64;

/// Into how many parts those who like a post are divided who found its first set full.
pub const LIKES_PARTS: u16 = 4_096;
/// Into how many parts the posts that a user likes are divided.
pub const LIKED_PARTS: u8 = 16;

impl Keyspace {
    /// SET: who likes a post, as long as there is room.
    pub fn likes(&self, author: UserId, post: PostId) -> Key {
        self.unfinished_likes(author, post).finish()
    }

    /// SET: who likes a post and found no room in the first set, by a number below [`LIKES_PARTS`].
    pub fn likes_part(&self, author: UserId, post: PostId, number: u16) -> Key {
        let mut key = self.unfinished_likes(author, post);
        let _infallible = write!(key.0, ":{number}");
        key.finish()
    }

    /// The part of those who like a post in which a user is looked for.
    pub fn likes_part_of(&self, author: UserId, post: PostId, user: UserId) -> Key {
        let number = mix64(user.get().cast_unsigned()) >> 32;
        self.likes_part(author, post, (number % u64::from(LIKES_PARTS)) as u16)
    }

    /// STRING: which instance removes those who liked a deleted post. It expires by itself.
    pub fn likes_worker(&self, author: UserId, post: PostId) -> Key {
        let mut key = self.unfinished_likes(author, post);
        key.0.push_str(":worker");
        key.finish()
    }

    /// ZSET: post id and author id, each of 8 bytes, the highest first -> when it was noted, in microseconds, that the user likes the post; by
    /// a number below [`LIKED_PARTS`].
    pub fn liked(&self, user: UserId, number: u8) -> Key {
        let mut key = self.unfinished("liked", user);
        let _infallible = write!(key.0, ":{number}");
        key.finish()
    }

    /// The part of the posts that a user likes in which a post is.
    pub fn liked_part_of(&self, user: UserId, post: PostId) -> Key {
        let number = mix64(post.get().cast_unsigned()) >> 32;
        self.liked(user, (number % u64::from(LIKED_PARTS)) as u8)
    }

    fn unfinished_likes(&self, author: UserId, post: PostId) -> UnfinishedKey {
        let mut key = self.unfinished("likes", author);
        let _infallible = write!(key.0, ":{post}");
        key
    }
}
