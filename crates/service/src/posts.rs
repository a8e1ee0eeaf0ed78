//! Posts.

use std::{collections::BTreeMap, hash::Hasher, time::Duration};

use bytes::Bytes;
use keyspace::Partition;
use model::{Deadline, FeedEntry, Micros, PostId, UserId};
use siphasher::sip128::{Hasher128, SipHasher24};
use store::{
    Traffic,
    ops::{DeletePost, FindDelivery, Publish, PublishOutcome, StoredPost},
};
use tokio::{sync::oneshot, time::timeout};

use crate::{Graph, ServiceError, fan_out::Outgoing, lanes::Ticket};

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
    /// How many like it; of a post that is being published, 0.
    pub likes: u64,
    /// Whether the viewer does.
    pub is_liked: bool,
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
    /// Whether readers pull it, and it is not pushed to them.
    pub is_pulled: bool,
    /// Names the write.
    pub consistency_token: String,
}

/// What became of a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletedPost {
    /// Whether the post was there.
    pub deleted: bool,
    /// Names the write.
    pub consistency_token: String,
}

/// How far a post is on its way to the followers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryProgress {
    /// Whether readers pull it.
    pub is_pulled: bool,
    /// How many followers the author had when it was published.
    pub total: u64,
    /// How many of them it has reached.
    pub done: u64,
    /// Whether it has reached all.
    pub complete: bool,
    /// How long that took, or has taken so far.
    pub lag: Duration,
}

/// How long a call waits until its author has few enough posts on their way.
const ADMISSION_WAIT: Duration = Duration::from_secs(1);
/// How long a call waits for a small audience, and what that is. The fan-out goes on behind otherwise.
const FAN_OUT_WAIT: Duration = Duration::from_millis(250);
const SMALL_AUDIENCE: u64 = 1_000;
/// How often an id is made anew because the author has a post with the same.
const MADE_ID_ATTEMPTS: usize = 8;

impl Graph {
    /// Publishes a post. One round trip until it has happened, and two more until it has reached a small audience.
    ///
    /// What has begun goes on if the caller stops waiting: a post that was committed is delivered at once.
    pub async fn publish(&self, post: NewPost, deadline: Deadline) -> Result<Published, ServiceError> {
        let wait = ADMISSION_WAIT.min(deadline.remaining() / 2);
        let ticket = self.inner.fan_out.admit(post.author, wait).await.ok_or(ServiceError::Overloaded)?;
        let (done, answer) = oneshot::channel();
        let this = self.clone();
        self.inner.tasks.spawn_once("publish", async move {
            let _nobody_waits = done.send(this.publish_admitted(post, ticket, deadline).await);
        });
        answer.await.unwrap_or_else(|_| Err(ServiceError::Internal("publishing ended".to_owned())))
    }

    async fn publish_admitted(
        &self,
        post: NewPost,
        ticket: Ticket,
        deadline: Deadline,
    ) -> Result<Published, ServiceError> {
        let inner = &self.inner;
        let partition = inner.store.keys().partition(post.author);
        let (fingerprint, call) = (fingerprint(&post), rand::random());
        for _ in 0..MADE_ID_ATTEMPTS {
            let id = post.post_id.unwrap_or_else(|| {
                let at = inner.proposed.take(partition, Micros::now().get().max(inner.seen.get(partition).0 + 1));
                PostId::made_at(at, partition.get())
            });
            let commit = Publish {
                author: post.author,
                post: id,
                is_given: post.post_id.is_some(),
                call,
                request_id: post.request_id.clone(),
                published_at: post.published_at,
                fingerprint,
                content: post.content.clone(),
                attributes: post.attributes.clone(),
                inbox_cap: inner.settings.inbox_cap,
                patience: inner.settings.fan_out_patience(),
                pull_above: inner.settings.pull_above(),
                push_below: inner.settings.push_below(),
                seen: inner.seen.get(partition),
            };
            let (stored, created) = match inner.store.run(&commit, Traffic::Interactive, deadline).await? {
                PublishOutcome::Created(stored) => (stored, true),
                // The post of this very call: the commit was sent again after a lost answer.
                PublishOutcome::Existing(stored) => (stored, post.post_id.is_none() && stored.post == id),
                PublishOutcome::PostIdReused if post.post_id.is_none() => continue,
                PublishOutcome::PostIdReused => return Err(ServiceError::IdReused("post_id")),
                PublishOutcome::RequestIdReused => return Err(ServiceError::IdReused("request_id")),
                PublishOutcome::Unavailable => return Err(ServiceError::UserUnavailable),
                PublishOutcome::Future => return Err(ServiceError::FuturePost),
            };
            inner.seen.raise(partition, stored.version);
            if stored.is_pending {
                self.fan_out(ticket, partition, &stored, post.author, created).await;
            }
            return Ok(self.published(post, stored, created, partition));
        }
        Err(ServiceError::Internal("no id for a post".to_owned()))
    }

    /// Deletes a post. One round trip.
    pub async fn delete_post(
        &self,
        author: UserId,
        post: PostId,
        deadline: Deadline,
    ) -> Result<DeletedPost, ServiceError> {
        let inner = &self.inner;
        let partition = inner.store.keys().partition(author);
        let commit = DeletePost { author, post, seen: inner.seen.get(partition) };
        let (deleted, version) = inner.store.run(&commit, Traffic::Interactive, deadline).await?;
        inner.seen.raise(partition, version);
        Ok(DeletedPost { deleted, consistency_token: inner.write_token(partition, version, true) })
    }

    /// How far a post is on its way. One round trip.
    pub async fn delivery(
        &self,
        author: UserId,
        post: PostId,
        deadline: Deadline,
    ) -> Result<DeliveryProgress, ServiceError> {
        let find = FindDelivery { author, post };
        let found = self.inner.store.run(&find, Traffic::Interactive, deadline).await?;
        let found = found.ok_or(ServiceError::PostNotFound)?;
        let (total, begin) = (found.audience, found.version.0);
        let complete = total == 0 || found.is_pulled || found.delivered_at.is_some();
        let until = match found.delivered_at {
            Some(at) => at.get(),
            None if complete => begin,
            None => Micros::now().get(),
        };
        let done = if complete { total } else { found.passed.min(total) };
        let is_pulled = found.is_pulled;
        Ok(DeliveryProgress {
            is_pulled,
            total,
            done,
            complete,
            lag: Duration::from_micros(until.saturating_sub(begin)),
        })
    }

    /// Brings a post to the followers' inboxes, and waits a little for that if they are few.
    async fn fan_out(
        &self,
        ticket: Ticket,
        partition: Partition,
        stored: &store::ops::Published,
        author: UserId,
        is_new: bool,
    ) {
        let entry = FeedEntry { at: stored.published_at, post: stored.post, author };
        let (committed, audience) = (stored.version, stored.audience);
        let outgoing = Outgoing { partition, committed, entry, audience, is_new };
        let ended = self.inner.fan_out.start(ticket, outgoing);
        if stored.audience <= SMALL_AUDIENCE {
            let _goes_on_behind = timeout(FAN_OUT_WAIT, ended).await;
        }
    }

    fn published(
        &self,
        post: NewPost,
        stored: store::ops::Published,
        created: bool,
        partition: Partition,
    ) -> Published {
        Published {
            post: Post {
                author: post.author,
                id: stored.post,
                content: post.content,
                attributes: post.attributes,
                published_at: stored.published_at,
                likes: 0,
                is_liked: false,
            },
            created,
            audience: stored.audience,
            is_pulled: stored.is_pulled,
            consistency_token: self.inner.consistency_token(partition, stored.version),
        }
    }
}

impl Post {
    pub(crate) fn stored(author: UserId, id: PostId, stored: StoredPost) -> Self {
        let StoredPost { content, attributes, published_at, likes, is_liked } = stored;
        Self { author, id, content, attributes, published_at, likes, is_liked }
    }

    /// About how many bytes it has in an answer.
    pub(crate) fn bytes(&self) -> usize {
        let attributes: usize = self.attributes.iter().map(|(name, text)| name.len() + text.len() + 8).sum();
        self.content.len() + attributes + 64
    }
}

/// Tells this content and these attributes from others.
fn fingerprint(post: &NewPost) -> u128 {
    let mut hasher = SipHasher24::new();
    let mut part = |bytes: &[u8]| {
        hasher.write(&(bytes.len() as u64).to_be_bytes());
        hasher.write(bytes);
    };
    part(&post.content);
    for (name, text) in &post.attributes {
        part(name.as_bytes());
        part(text.as_bytes());
    }
    hasher.finish128().as_u128()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(content: &'static [u8], attributes: &[(&str, &str)]) -> NewPost {
        NewPost {
            author: UserId::MIN,
            content: Bytes::from_static(content),
            attributes: attributes.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect(),
            published_at: None,
            request_id: String::new(),
            post_id: None,
        }
    }

    #[test]
    fn fingerprints_tell_contents_apart() {
        let posts = [
            post(b"", &[]),
            post(b"a", &[]),
            post(b"ab", &[]),
            post(b"a", &[("b", "")]),
            post(b"a", &[("", "b")]),
            post(b"a", &[("b", "c"), ("d", "")]),
            post(b"a", &[("b", ""), ("c", "d")]),
        ];
        let prints: std::collections::BTreeSet<_> = posts.iter().map(fingerprint).collect();
        assert_eq!(prints.len(), posts.len());
        assert_eq!(fingerprint(&posts[1]), fingerprint(&NewPost { request_id: "r".to_owned(), ..posts[1].clone() }));
        // Kept in Redis, so that it must stay the same.
        assert_eq!(format!("{:x}", fingerprint(&posts[5])), "22f127b962f0fe020c399e4f6a6faf9d");
    }
}
