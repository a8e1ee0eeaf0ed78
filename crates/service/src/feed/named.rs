//! Posts by their names, and the posts of one author.

use std::collections::{HashMap, HashSet};

use futures::join;
use model::{Deadline, PostId, TokenKind, UserId, UserState};
use store::{
    StoreError, Traffic,
    ops::{FetchPost, FindState},
};

use super::{FeedPage, FeedStart, read::Source};
use crate::{Graph, Post, ServiceError};

/// A question for a page of an author's posts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserPostsQuery {
    /// Whose posts.
    pub author: UserId,
    /// Who looks; `None`: nobody in particular.
    pub viewer: Option<UserId>,
    /// Posts a page, 1 to 500.
    pub page_size: usize,
    /// From the page before; empty for the first.
    pub page_token: String,
    /// Whether to give whole posts.
    pub full: bool,
}

impl Graph {
    /// Posts by author and id, at most [`model::limits::MAX_BATCH_POSTS`], in their order. `None` where a post is not there, or not shown: its
    /// author is not active, or there is a block between the author and the viewer. One round trip.
    pub async fn posts_by_name(
        &self,
        names: &[(UserId, PostId)],
        viewer: Option<UserId>,
        deadline: Deadline,
    ) -> Result<Vec<Option<Post>>, ServiceError> {
        let store = &self.inner.store;
        let reads: Vec<_> = names.iter().map(|&(author, post)| FetchPost { author, post, viewer }).collect();
        let authors: HashSet<_> = names.iter().map(|&(author, _)| author).collect();
        let authors: Vec<_> = authors.into_iter().collect();
        let (posts, shown) =
            join!(store.run_all(&reads, Traffic::Interactive, deadline), self.who_is_shown(&authors, viewer, deadline));
        let shown = shown?;
        let posts = names.iter().zip(posts).map(|(&(author, id), post)| {
            let is_shown = shown.get(&author) == Some(&Shown::Yes);
            Ok(post?.filter(|_| is_shown).map(|stored| Post::stored(author, id, stored)))
        });
        posts.collect()
    }

    /// A page of an author's posts, newest first. Two round trips, and one more in long timelines.
    pub async fn user_posts(&self, query: UserPostsQuery, deadline: Deadline) -> Result<FeedPage, ServiceError> {
        let UserPostsQuery { author, viewer, page_size, page_token, full } = query;
        let bound_to = [author.get(), viewer.map_or(0, UserId::get)];
        let start = if page_token.is_empty() { FeedStart::Newest } else { FeedStart::Token(page_token) };
        let mut page = self.begin(TokenKind::UserPosts, &bound_to, &start, page_size)?;
        let source = Source::Posts { store: &self.inner.store, author, viewer, deadline };
        let of = [author];
        let (reach, shown) =
            join!(self.fill(&mut page, &source, full, deadline), self.who_is_shown(&of, viewer, deadline));
        match shown?.get(&author) {
            Some(Shown::Yes) => Ok(self.finish(TokenKind::UserPosts, &bound_to, page, reach?)),
            Some(Shown::Blocked) => Err(ServiceError::Blocked),
            Some(Shown::Unavailable) | None => Err(ServiceError::UserUnavailable),
        }
    }

    /// Whether posts of some authors are shown to a viewer. One round trip.
    pub(super) async fn who_is_shown(
        &self,
        authors: &[UserId],
        viewer: Option<UserId>,
        deadline: Deadline,
    ) -> Result<HashMap<UserId, Shown>, StoreError> {
        let states: Vec<_> = authors.iter().copied().map(FindState).collect();
        let blocked = async {
            match viewer {
                Some(viewer) => self.hidden_from(viewer, authors, deadline).await,
                None => Ok(HashSet::new()),
            }
        };
        let (states, blocked) = join!(self.inner.store.run_all(&states, Traffic::Interactive, deadline), blocked);
        let blocked = blocked?;
        let shown = authors.iter().zip(states).map(|(&author, state)| {
            let shown = match state? {
                UserState::Active if blocked.contains(&author) => Shown::Blocked,
                UserState::Active => Shown::Yes,
                UserState::Suspended | UserState::Deactivated | UserState::Deleted => Shown::Unavailable,
            };
            Ok((author, shown))
        });
        shown.collect()
    }
}

/// Whether an author's posts are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Yes,
    /// There is a block between the author and the viewer.
    Blocked,
    /// The author is not active.
    Unavailable,
}
