//! Reads stretches of a feed, from the inbox as far as it reaches and from timelines below.

use std::time::{Duration, Instant};

use futures::join;
use model::{Deadline, FeedEntry, UserId};
use store::{
    Store, StoreError, Traffic,
    ops::{Inbox, Kept, Muted, Place, Scroll, Timeline},
};

use super::{
    build::{Builder, LEASE, Target},
    followed::{Author, authors_of},
    timelines::{Question, Reach},
};

/// Where the entries of a page come from.
pub(super) enum Source<'a> {
    /// A feed.
    Feed(Reading<'a>),
    /// The timeline of one author.
    Posts {
        /// The store.
        store: &'a Store,
        /// Whose.
        author: UserId,
        /// Who looks.
        viewer: Option<UserId>,
        /// The caller's.
        deadline: Deadline,
    },
}

impl Source<'_> {
    /// Who looks, if it is somebody in particular.
    pub(super) fn viewer(&self) -> Option<UserId> {
        match *self {
            Self::Feed(ref reading) => Some(reading.reader),
            Self::Posts { viewer, .. } => viewer,
        }
    }

    /// The next entries from a place on, at most `limit` (1 to 1,000) of them.
    pub(super) async fn stretch(&self, from: Option<Place>, limit: usize) -> Result<Stretch, StoreError> {
        match *self {
            Self::Feed(ref reading) => reading.stretch(from, limit).await,
            Self::Posts { store, author, deadline, .. } => {
                let timeline = Timeline { author, from, limit, reader: None };
                let entries = store.run(&timeline, Traffic::Interactive, deadline).await?.entries;
                let reach = if entries.len() < limit { Reach::End } else { Reach::More };
                Ok(Stretch { entries, kept: Vec::new(), reach })
            }
        }
    }
}

/// Reads one reader's feed.
pub(super) struct Reading<'a> {
    pub(super) store: &'a Store,
    pub(super) builder: &'a Builder,
    pub(super) reader: UserId,
    /// How long an inbox is kept that nobody reads.
    pub(super) idle: Duration,
    /// When to give up a search in timelines.
    pub(super) until: Instant,
    pub(super) deadline: Deadline,
}

/// A stretch of a feed.
pub(super) struct Stretch {
    /// The entries, newest first.
    pub(super) entries: Vec<FeedEntry>,
    /// Authors, some of the entries' among them, who are not followed any more.
    pub(super) kept: Vec<Kept>,
    /// What is beyond.
    pub(super) reach: Reach,
}

impl Stretch {
    fn new() -> Self {
        Self { entries: Vec::new(), kept: Vec::new(), reach: Reach::More }
    }
}

impl Reading<'_> {
    /// The next entries from a place on, at most `limit` (1 to 1,000) of them.
    ///
    /// Where there is no inbox it is filled first. One round trip where there is one; two more as long as authors are being
    /// merged.
    pub(super) async fn stretch(&self, from: Option<Place>, limit: usize) -> Result<Stretch, StoreError> {
        let (mut filled, mut healed) = (false, false);
        loop {
            let scroll = Scroll {
                reader: self.reader,
                from,
                limit,
                name: rand::random(),
                lease: LEASE,
                idle: self.idle,
                cap: self.builder.cap,
            };
            match self.store.run(&scroll, Traffic::Interactive, self.deadline).await? {
                Inbox::New if !filled => {
                    filled = true;
                    let target = Target { reader: self.reader, name: scroll.name };
                    let in_time = tokio::time::timeout(self.deadline.remaining(), self.builder.fill(target)).await;
                    in_time.map_err(|_| StoreError::Deadline)?;
                }
                // Somebody else's, or given up: what the inbox does not have yet, timelines have.
                Inbox::New | Inbox::Building => {
                    return self.below(from, None, Stretch::new(), limit).await;
                }
                Inbox::Live { name, floor, merging, unkept, .. }
                    if !(healed || merging.is_empty() && unkept.is_empty()) =>
                {
                    healed = true;
                    let target = Target { reader: self.reader, name };
                    self.builder.heal(target, floor, merging, unkept, self.deadline).await?;
                }
                Inbox::Live { name, floor, merging, pulled, unkept, mut entries, mut kept } => {
                    let marked = merging.iter().chain(&pulled).copied().map(Author::followed);
                    let authors: Vec<_> = marked.chain(unkept.iter().copied().map(Author::kept)).collect();
                    kept.extend(unkept);
                    if !authors.is_empty() {
                        let found = self.ask(authors, from, floor, limit, None).await?;
                        let pushed_again = pulled.into_iter().filter(|author| !found.pulled.contains(author));
                        let pushed_again: Vec<_> = pushed_again.collect();
                        if !pushed_again.is_empty() {
                            let target = Target { reader: self.reader, name };
                            self.builder.merge_again(target, pushed_again, self.deadline).await?;
                        }
                        entries.extend(found.entries);
                        entries.sort_unstable_by(|one, other| other.cmp(one));
                        entries.dedup();
                        entries.truncate(limit);
                    }
                    metrics::counter!("socialgraph_feed_pages_total", "source" => "inbox").increment(1);
                    return match floor {
                        _ if entries.len() == limit => Ok(Stretch { entries, kept, reach: Reach::More }),
                        None => Ok(Stretch { entries, kept, reach: Reach::End }),
                        Some(floor) => {
                            let above = Stretch { entries, kept, reach: Reach::More };
                            self.below(from, Some(floor), above, limit).await
                        }
                    };
                }
            }
        }
    }

    /// Goes on below the floor, by the timelines of all who are in the feed.
    async fn below(
        &self,
        from: Option<Place>,
        floor: Option<FeedEntry>,
        mut stretch: Stretch,
        limit: usize,
    ) -> Result<Stretch, StoreError> {
        metrics::counter!("socialgraph_feed_pages_total", "source" => "timelines").increment(1);
        let from = match (from, floor) {
            (Some(from), Some(floor)) if from.is_passed_by(floor) => Some(Place::At(floor)),
            (None, Some(floor)) => Some(Place::At(floor)),
            (from, _) => from,
        };
        let muted = Muted(self.reader);
        let (authors, muted) = join!(
            authors_of(self.store, self.reader, self.deadline),
            self.store.run(&muted, Traffic::Interactive, self.deadline)
        );
        let (mut authors, muted) = (authors?, muted?);
        authors.retain(|author| !muted.contains(&author.id));
        stretch.kept.extend(authors.iter().filter_map(Author::as_kept));
        let found = self.ask(authors, from, None, limit - stretch.entries.len(), Some(self.until)).await?;
        stretch.entries.extend(found.entries);
        stretch.reach = found.reach;
        Ok(stretch)
    }

    async fn ask(
        &self,
        authors: Vec<Author>,
        from: Option<Place>,
        floor: Option<FeedEntry>,
        limit: usize,
        until: Option<Instant>,
    ) -> Result<super::timelines::Found, StoreError> {
        let until = until.unwrap_or_else(|| self.deadline.instant());
        let question = Question { reader: self.reader, authors, from, floor, limit, until };
        question.ask(self.store, self.deadline).await
    }
}
