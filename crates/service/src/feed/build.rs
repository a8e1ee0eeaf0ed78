//! Fills inboxes from timelines, so that they are exact from the newest post down to their floor.
//!
//! Every post of an author is either in the timeline when it is read, or pushed to the inbox, which is there before: the read
//! looks at the author's list of followers in the same moment. An author whose list did not have the reader yet is marked as
//! being merged, and scrolls fetch what the inbox may lack until a read finds the reader on the list.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use model::{Deadline, FeedEntry, Micros, UserId};
use store::{
    Store, StoreError, Traffic,
    ops::{Kept, Lack, Merge, Merging},
};
use tasks::Tasks;
use tokio::sync::{Semaphore, oneshot};

use super::{
    followed::{Author, authors_of},
    timelines::{Question, Reach},
};

/// For how long a new inbox is its maker's to fill. One that died is given up then.
pub(super) const LEASE: Duration = Duration::from_secs(5);
/// Inboxes that are filled side by side.
const SIDE_BY_SIDE: usize = 16;
/// Entries and authors of one script.
const MOST_ROWS: usize = 64;

/// Fills inboxes. Clones share the same bounds.
#[derive(Clone)]
pub(crate) struct Builder {
    store: Store,
    tasks: Tasks,
    places: Arc<Semaphore>,
    pub(super) cap: u32,
}

/// An inbox that is to be filled.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub(super) reader: UserId,
    pub(super) name: u64,
}

impl Builder {
    pub(crate) fn new(store: Store, tasks: Tasks, cap: u32) -> Self {
        Self { store, tasks, places: Arc::new(Semaphore::new(SIDE_BY_SIDE)), cap }
    }

    /// Fills a new inbox, even if the caller stops waiting. Gives nothing back: the inbox tells.
    pub(super) async fn fill(&self, target: Target) {
        let (done, wait) = oneshot::channel();
        let this = self.clone();
        self.tasks.spawn_once("feed-build", async move {
            let deadline = Deadline::after(LEASE);
            let filled = this.tasks.token().run_until_cancelled(this.fill_now(target, deadline)).await;
            let outcome = if matches!(filled, Some(Ok(true))) { "built" } else { "failed" };
            metrics::counter!("socialgraph_feed_builds_total", "outcome" => outcome).increment(1);
            if let Some(Err(error)) = filled {
                tracing::debug!(reader = %target.reader, %error, "inbox not filled");
            }
            let _nobody_waits = done.send(());
        });
        let _ended = wait.await;
    }

    async fn fill_now(&self, target: Target, deadline: Deadline) -> Result<bool, StoreError> {
        let Ok(_place) = self.places.acquire().await else { return Ok(false) };
        let authors = authors_of(&self.store, target.reader, deadline).await?;
        let question = self.question(target.reader, authors, None, deadline);
        let mut found = question.ask(&self.store, deadline).await?;
        let floor = if found.reach == Reach::End { None } else { found.entries.pop() };
        let (merging, pulled) = (found.unlisted, found.pulled);
        let completes = Merging { fills: true, floor, merging, pulled, merged: Vec::new() };
        self.merge(target, found.entries, completes, deadline).await
    }

    /// Merges the posts of authors that are marked as being merged, down to the floor, and takes the mark off those whose list
    /// of followers has the reader. Likewise what is kept of others, once.
    pub(super) async fn heal(
        &self,
        target: Target,
        floor: Option<FeedEntry>,
        merging: Vec<(UserId, Micros)>,
        unkept: Vec<Kept>,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let followed = merging.iter().copied().map(Author::followed);
        let authors = followed.chain(unkept.iter().copied().map(Author::kept)).collect();
        let question = self.question(target.reader, authors, floor, deadline);
        let mut found = question.ask(&self.store, deadline).await?;
        let floor = if found.reach == Reach::End { None } else { found.entries.pop() };
        let is_left = |author: &_| found.unlisted.contains(author) || found.pulled.contains(author);
        let merged = merging.into_iter().filter(|author| !is_left(author));
        let merged = merged.map(|(author, since)| (author, Lack::Followed(since)));
        let kept = unkept.into_iter().map(|kept| (kept.author, Lack::Kept(kept.window)));
        let merged = merged.chain(kept).collect();
        let completes = Merging { fills: false, floor, merging: Vec::new(), pulled: found.pulled, merged };
        self.merge(target, found.entries, completes, deadline).await?;
        Ok(())
    }

    /// Marks authors as being merged whose posts were not pushed to an inbox before, and are now.
    pub(super) async fn merge_again(
        &self,
        target: Target,
        merging: Vec<(UserId, Micros)>,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        for authors in merging.chunks(MOST_ROWS) {
            let completes = Merging { merging: authors.to_vec(), ..Merging::default() };
            self.merge(target, Vec::new(), completes, deadline).await?;
        }
        Ok(())
    }

    /// The newest posts that an inbox holds, and one more, which becomes the floor.
    fn question(&self, reader: UserId, authors: Vec<Author>, floor: Option<FeedEntry>, deadline: Deadline) -> Question {
        let until = Instant::now() + deadline.remaining() / 2;
        Question { reader, authors, from: None, floor, limit: self.cap as usize + 1, until }
    }

    /// Merges in three steps: all entries and new marks; then what they complete; then the marks that are left.
    async fn merge(
        &self,
        target: Target,
        entries: Vec<FeedEntry>,
        completes: Merging,
        deadline: Deadline,
    ) -> Result<bool, StoreError> {
        let Merging { fills, floor, merging, pulled, mut merged } = completes;
        let piece = |entries: &[FeedEntry], completes| Merge {
            reader: target.reader,
            name: target.name,
            cap: self.cap,
            entries: entries.to_vec(),
            completes,
        };
        let (entries, last_entries) = entries.split_at(entries.len().saturating_sub(MOST_ROWS));
        let (merging, last_merging) = merging.split_at(merging.len().saturating_sub(MOST_ROWS));
        let (pulled, last_pulled) = pulled.split_at(pulled.len().saturating_sub(MOST_ROWS));
        let marks = merging.chunks(MOST_ROWS).map(|chunk| Merging { merging: chunk.to_vec(), ..Merging::default() });
        let pulls = pulled.chunks(MOST_ROWS).map(|chunk| Merging { pulled: chunk.to_vec(), ..Merging::default() });
        let mut first: Vec<_> = entries.chunks(MOST_ROWS).map(|chunk| piece(chunk, Merging::default())).collect();
        first.extend(marks.chain(pulls).map(|marks| piece(&[], marks)));
        let rest = merged.split_off(merged.len().min(MOST_ROWS));
        let (merging, pulled) = (last_merging.to_vec(), last_pulled.to_vec());
        let second = Merging { fills, floor, merging, pulled, merged };
        let third = rest.chunks(MOST_ROWS).map(|chunk| Merging { merged: chunk.to_vec(), ..Merging::default() });
        let third: Vec<_> = third.map(|marks| piece(&[], marks)).collect();
        for pieces in [first, vec![piece(last_entries, second)], third] {
            let done = self.store.run_all(&pieces, Traffic::Interactive, deadline).await;
            if done.into_iter().collect::<Result<Vec<_>, _>>()?.contains(&false) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
