//! Tells the followers of an author that the author's posts are not pushed to them any more, or are again.
//!
//! Posts of an author with very many followers are not pushed: readers pull them from the author's timeline. A turn is committed with the post
//! that finds the audience grown too large, or small enough again. Until all readers are told, posts go on being pushed, so that a reader
//! may see one twice, which merges drop, and none of them is missed.

use keyspace::{List, by_partition};
use model::{Entry, Order, UserId, Window};
use store::{
    Store, StoreError, Traffic,
    ops::{FindTurn, MOST_ROWS, MarkPulled, Mode, SaveTurn, Turn},
};

use crate::{
    lists::{MOST_ENTRIES, Walk},
    operations::{Chunk, limit},
};

const TURNS: &str = "socialgraph_delivery_turns_total";

/// Tells followers.
pub(crate) struct Turner {
    store: Store,
}

impl Turner {
    pub(crate) fn new(store: Store) -> Self {
        // Shown from the start.
        for to in ["pull", "push"] {
            metrics::counter!(TURNS, "to" => to).increment(0);
        }
        Self { store }
    }

    /// Tells some more followers of an author.
    pub(crate) async fn chunk(&self, author: UserId) -> Result<Chunk, StoreError> {
        let turn = self.store.run(&FindTurn(author), Traffic::Bulk, limit()).await?;
        // Where there is no turn, what is said of one is taken back.
        let (version, place, pulled) = match turn {
            Some(Turn { mode: Mode::Turning, version, place }) => (version, place, true),
            Some(Turn { mode: Mode::Returning, version, place }) => (version, place, false),
            Some(Turn { mode: Mode::Pull, version, .. }) => return self.end(author, version).await,
            None => return self.end(author, model::Version(0)).await,
        };
        let walk = Walk { list: List::Followers, user: author, order: Order::NewestFirst, window: Window::ALL };
        let slice = walk.slice(&self.store, place, MOST_ENTRIES, limit()).await?;
        self.tell(author, pulled, slice.entries).await?;
        let save = SaveTurn { author, version, place: slice.next };
        let goes_on = self.store.run(&save, Traffic::Bulk, limit()).await?;
        if !goes_on || slice.next.is_some() {
            return Ok(if goes_on { Chunk::Done } else { Chunk::Last });
        }
        let to = if pulled { "pull" } else { "push" };
        metrics::counter!(TURNS, "to" => to).increment(1);
        tracing::info!(%author, to, "followers told how posts reach them");
        Ok(Chunk::Last)
    }

    async fn end(&self, author: UserId, version: model::Version) -> Result<Chunk, StoreError> {
        self.store.run(&SaveTurn { author, version, place: None }, Traffic::Bulk, limit()).await?;
        Ok(Chunk::Last)
    }

    async fn tell(&self, author: UserId, pulled: bool, readers: Vec<Entry>) -> Result<(), StoreError> {
        let keys = self.store.keys();
        let batches = by_partition(keys.partitions(), readers, MOST_ROWS, |reader| keys.partition(reader.user));
        let marks: Vec<_> =
            batches.into_iter().map(|batch| MarkPulled { author, pulled, readers: batch.items }).collect();
        self.store.run_all(&marks, Traffic::Bulk, limit()).await.into_iter().collect()
    }
}
