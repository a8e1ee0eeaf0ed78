use std::collections::HashSet;

use futures::join;
use keyspace::List;
use model::{Deadline, Micros, UserId, Window};
use store::{
    Store, StoreError, Traffic,
    ops::{Kept, ReadKept},
};

use crate::lists::whole_list;

/// An author whose posts are in a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Author {
    pub(super) id: UserId,
    /// Since when the reader follows; `None`: it is the reader, or an author who is not followed any more.
    pub(super) since: Option<Micros>,
    /// Which of the posts.
    pub(super) window: Window,
}

impl Author {
    fn reader(id: UserId) -> Self {
        Self { id, since: None, window: Window::ALL }
    }

    pub(super) fn followed((id, since): (UserId, Micros)) -> Self {
        Self { id, since: Some(since), window: Window::ALL }
    }

    pub(super) fn kept(kept: Kept) -> Self {
        Self { id: kept.author, since: None, window: kept.window }
    }

    /// What is kept of an author who is not followed any more.
    pub(super) fn as_kept(&self) -> Option<Kept> {
        (self.window != Window::ALL).then_some(Kept { author: self.id, window: self.window })
    }
}

/// Everyone whose posts are in a reader's feed: the reader, those followed, and those of whom posts are kept.
pub(super) async fn authors_of(store: &Store, reader: UserId, deadline: Deadline) -> Result<Vec<Author>, StoreError> {
    let read = ReadKept(reader);
    let (kept, following) =
        join!(store.run(&read, Traffic::Interactive, deadline), whole_list(store, List::Following, reader, deadline));
    following.outcome?;
    let followees = following.entries.into_iter().map(|entry| Author::followed((entry.user, entry.at)));
    let mut authors: Vec<_> = [Author::reader(reader)].into_iter().chain(followees).collect();
    let mut kept = kept?;
    if !kept.is_empty() {
        let followed: HashSet<_> = authors.iter().map(|author| author.id).collect();
        kept.retain(|kept| !followed.contains(&kept.author));
        authors.extend(kept.into_iter().map(Author::kept));
    }
    Ok(authors)
}
