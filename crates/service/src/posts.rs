//! Posts.

use std::collections::BTreeMap;

use bytes::Bytes;
use model::{Deadline, Micros, PostId, UserId};

use crate::{Graph, ServiceError};

/// A post to be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPost {
    /// Who publishes it.
    pub author: UserId,
    /// What. With the attributes at most [`model::limits::MAX_POST_BYTES`].
    pub content: Bytes,
    /// What goes with it. At most [`model::limits::MAX_ATTRIBUTES`].
    pub attributes: BTreeMap<String, String>,
    /// When; `None` for now.
    pub published_at: Option<Micros>,
    /// Names the request for 24 hours, printable ASCII without blanks; empty for none.
    pub request_id: String,
    /// The post's id; `None`: one is made.
    pub post_id: Option<PostId>,
}

/// A post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// Who published it.
    pub author: UserId,
    /// Its id among the author's posts.
    pub id: PostId,
    /// What was published.
    pub content: Bytes,
    /// What goes with it.
    pub attributes: BTreeMap<String, String>,
    /// When.
    pub published_at: Micros,
}

/// What became of a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The post as it is stored.
    pub post: Post,
    /// Whether it is new.
    pub created: bool,
    /// How many followers the author had.
    pub audience: u64,
    /// Names the write.
    pub consistency_token: String,
}

impl Graph {
    /// Publishes a post.
    pub async fn publish(&self, post: NewPost, deadline: Deadline) -> Result<Published, ServiceError> {
        todo!("{post:?} {deadline:?}")
    }
}
