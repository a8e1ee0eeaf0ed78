//! Who likes which post.

use keyspace::Partition;
use model::{Deadline, PostId, UserId};
use store::{
    Store, StoreError, Traffic,
    ops::{
        CommitLike, DropNote, Duty, EndDuty, FindNote, ForgetLikers, IsLiker, Like, LikeOutcome, Likes, NoteLike,
        NoteOutcome, SomeLiked, SomeLikers, Unlike,
    },
};
use tokio::sync::oneshot;

use crate::{
    Graph, ServiceError,
    operations::{Chunk, limit},
    versions::SeenVersions,
};

/// How often a like and its note are looked at until they agree: calls that cross are few.
const MOST_LOOKS: usize = 8;

/// What became of a like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LikeChange {
    /// Whether the like began, or ended, by the call.
    pub changed: bool,
    /// How many like the post now.
    pub likes: u64,
    /// Names the write.
    pub consistency_token: String,
}

impl Graph {
    /// A user likes a post. Two round trips: the user's note of it, and the like.
    pub async fn like(
        &self,
        user: UserId,
        author: UserId,
        post: PostId,
        deadline: Deadline,
    ) -> Result<LikeChange, ServiceError> {
        let (like, this) = (Like { user, author, post }, self.clone());
        self.change_like("like", like, async move { this.commit_like(like, deadline).await }).await
    }

    /// A user likes a post no more. One round trip.
    pub async fn unlike(
        &self,
        user: UserId,
        author: UserId,
        post: PostId,
        deadline: Deadline,
    ) -> Result<LikeChange, ServiceError> {
        let (like, this) = (Like { user, author, post }, self.clone());
        self.change_like("unlike", like, async move { this.commit_unlike(like, deadline).await }).await
    }

    /// Has a change made, and then the note of the like looked at, whatever became of the change and whether or not the caller waits.
    async fn change_like(
        &self,
        name: &'static str,
        like: Like,
        change: impl Future<Output = Result<LikeChange, ServiceError>> + Send + 'static,
    ) -> Result<LikeChange, ServiceError> {
        let (done, answer) = oneshot::channel();
        let this = self.clone();
        self.inner.tasks.spawn_once(name, async move {
            let _nobody_waits = done.send(change.await);
            this.tidy(like).await;
        });
        answer.await.unwrap_or_else(|_| Err(ServiceError::Internal("changing a like ended".to_owned())))
    }

    async fn commit_like(&self, like: Like, deadline: Deadline) -> Result<LikeChange, ServiceError> {
        let inner = &self.inner;
        let note = NoteLike { like, is_committed: false };
        match inner.store.run(&note, Traffic::Interactive, deadline).await? {
            NoteOutcome::Noted | NoteOutcome::Kept => {}
            NoteOutcome::Unavailable => return Err(ServiceError::UserUnavailable),
            NoteOutcome::Blocked => return Err(ServiceError::Blocked),
        }
        let partition = inner.store.keys().partition(like.author);
        let commit = CommitLike { like, seen: inner.seen.get(partition) };
        match inner.store.run(&commit, Traffic::Interactive, deadline).await? {
            LikeOutcome::Liked(is_new, likes) => Ok(self.changed_like(partition, is_new, likes)),
            LikeOutcome::NoPost => Err(ServiceError::PostNotFound),
            LikeOutcome::Unavailable => Err(ServiceError::UserUnavailable),
            LikeOutcome::Blocked => Err(ServiceError::Blocked),
        }
    }

    async fn commit_unlike(&self, like: Like, deadline: Deadline) -> Result<LikeChange, ServiceError> {
        let inner = &self.inner;
        let partition = inner.store.keys().partition(like.author);
        let unlike = Unlike { like, seen: inner.seen.get(partition) };
        let (has_ended, likes) = inner.store.run(&unlike, Traffic::Interactive, deadline).await?;
        Ok(self.changed_like(partition, has_ended, likes))
    }

    fn changed_like(&self, partition: Partition, changed: bool, Likes { count, version }: Likes) -> LikeChange {
        self.inner.seen.raise(partition, version);
        LikeChange { changed, likes: count, consistency_token: self.inner.write_token(partition, version, true) }
    }

    /// Sees to it that there is a note of a like if there is the like. Whoever changed one of the two looks at both after it, the note
    /// first, until they agree: then no call that crosses another one leaves a like without a note, or a note without a like.
    async fn tidy(&self, like: Like) {
        for _ in 0..MOST_LOOKS {
            match self.is_tidy(like).await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => {
                    let Like { user, author, post } = like;
                    tracing::debug!(%user, %author, %post, %error, "a like and its note may differ");
                    return;
                }
            }
        }
    }

    /// Looks at a like and its note, and mends the note if they differ.
    async fn is_tidy(&self, like: Like) -> Result<bool, ServiceError> {
        let store = &self.inner.store;
        let noted = store.run(&FindNote(like), Traffic::Bulk, limit()).await?;
        let sets = [false, true].map(|in_part| IsLiker { like, in_part });
        let is_liker = store.run_all(&sets, Traffic::Bulk, limit()).await;
        let is_liker = is_liker.into_iter().collect::<Result<Vec<_>, _>>()?.contains(&true);
        match noted {
            Some(noted) if !is_liker => {
                store.run(&DropNote { like, noted: Some(noted) }, Traffic::Bulk, limit()).await?;
                Ok(false)
            }
            None if is_liker => {
                let note = NoteLike { like, is_committed: true };
                if store.run(&note, Traffic::Bulk, limit()).await? == NoteOutcome::Unavailable {
                    // A deletion of the user has passed by.
                    self.commit_unlike(like, limit()).await?;
                }
                Ok(false)
            }
            Some(_) | None => Ok(true),
        }
    }
}

/// Ends some of the likes of a deleted user. Gives how many were noted: if none, all have ended.
pub(crate) async fn end_some_likes(store: &Store, seen: &SeenVersions, user: UserId) -> Result<usize, StoreError> {
    let some: Vec<_> = SomeLiked::of(user).collect();
    let some = store.run_all(&some, Traffic::Bulk, limit()).await.into_iter().collect::<Result<Vec<_>, _>>()?;
    let likes = some.concat();
    let partition = |like: &Like| store.keys().partition(like.author);
    let unlikes: Vec<_> = likes.iter().map(|&like| Unlike { like, seen: seen.get(partition(&like)) }).collect();
    for (like, ended) in likes.iter().zip(store.run_all(&unlikes, Traffic::Bulk, limit()).await) {
        seen.raise(partition(like), ended?.1.version);
    }
    drop_notes(store, &likes).await?;
    Ok(likes.len())
}

/// Those who liked a deleted post forget it, some at a time.
pub(crate) async fn forget_deleted(store: &Store, author: UserId, post: PostId) -> Result<Chunk, StoreError> {
    if forget_some_likers(store, author, post).await? {
        return Ok(Chunk::Done);
    }
    store.run(&EndDuty(Duty::Likes(author, post)), Traffic::Bulk, limit()).await?;
    Ok(Chunk::Last)
}

/// Some of those who like a post that is no more, or that nobody can like any more, forget it. Gives whether there were any.
pub(crate) async fn forget_some_likers(store: &Store, author: UserId, post: PostId) -> Result<bool, StoreError> {
    let some: Vec<_> = SomeLikers::of(author, post).collect();
    let mut forgotten = Vec::new();
    for found in store.run_all(&some, Traffic::Bulk, limit()).await {
        forgotten.extend(found?.map(|(set, users)| ForgetLikers { author, post, set, users }));
    }
    let users = forgotten.iter().flat_map(|forget| &forget.users);
    let likes: Vec<_> = users.map(|&user| Like { user, author, post }).collect();
    // The sets last: who is in one is found again.
    drop_notes(store, &likes).await?;
    store.run_all(&forgotten, Traffic::Bulk, limit()).await.into_iter().collect::<Result<(), _>>()?;
    Ok(!likes.is_empty())
}

async fn drop_notes(store: &Store, likes: &[Like]) -> Result<(), StoreError> {
    let notes: Vec<_> = likes.iter().map(|&like| DropNote { like, noted: None }).collect();
    store.run_all(&notes, Traffic::Bulk, limit()).await.into_iter().collect()
}
