//! The newest posts of many authors, merged from their timelines.

use std::time::Instant;

use model::{Deadline, FeedEntry, Micros, PostId, UserId, Window};
use store::{
    Store, StoreError, Traffic,
    ops::{IsListed, Listed, Place, Timeline, TimelinePart},
};

use super::followed::Author;

/// Posts of one read.
const MOST_POSTS: usize = 1_000;
/// Posts that are read of each author at first, at least.
const FEWEST_POSTS: usize = 4;
/// With more authors than this the reads do not share connections with small calls.
const FEW_AUTHORS: usize = 64;

/// A question for the newest posts of some authors.
pub(super) struct Question {
    /// Who asks.
    pub(super) reader: UserId,
    /// Whose timelines.
    pub(super) authors: Vec<Author>,
    /// From where, newest first.
    pub(super) from: Option<Place>,
    /// Only posts above this one.
    pub(super) floor: Option<FeedEntry>,
    /// Most posts.
    pub(super) limit: usize,
    /// When to give up the search.
    pub(super) until: Instant,
}

/// The answer.
pub(super) struct Found {
    /// The posts, newest first, without a gap.
    pub(super) entries: Vec<FeedEntry>,
    /// What is beyond.
    pub(super) reach: Reach,
    /// The authors whose list of followers did not have the reader when their newest posts were read. What they publish from
    /// then on is not pushed to the reader.
    pub(super) unlisted: Vec<(UserId, Micros)>,
    /// The authors whose posts readers pull: what they publish from then on is not pushed to the reader either.
    pub(super) pulled: Vec<(UserId, Micros)>,
}

/// What is beyond the posts that were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Nothing.
    End,
    /// Perhaps more.
    More,
    /// Perhaps more: the time was up before as many were found as were asked for.
    OutOfTime,
}

/// A timeline as far as it was read.
struct Source {
    author: Author,
    entries: Vec<FeedEntry>,
    is_read_out: bool,
}

impl Question {
    /// Reads a little of each timeline, and then more of those that may hold what is missing, in growing parts.
    pub(super) async fn ask(&self, store: &Store, deadline: Deadline) -> Result<Found, StoreError> {
        let mut sources: Vec<_> =
            self.authors.iter().map(|&author| Source { author, entries: Vec::new(), is_read_out: false }).collect();
        let (mut unlisted, mut pulled) = (Vec::new(), Vec::new());
        let mut part = (2 * self.limit / sources.len().max(1)).clamp(FEWEST_POSTS, MOST_POSTS);
        let traffic = if sources.len() > FEW_AUTHORS { Traffic::Bulk } else { Traffic::Interactive };
        let mut is_out_of_time = false;
        loop {
            let mut wanted = self.wanted(&mut sources);
            if wanted.is_empty() {
                break;
            }
            is_out_of_time = wanted[0].has_begun() && Instant::now() >= self.until;
            if is_out_of_time {
                break;
            }
            let reads: Vec<_> = wanted.iter().map(|source| self.read(source, part)).collect();
            let parts = read_all(store, reads, traffic, deadline).await?;
            for (source, read) in wanted.iter_mut().zip(parts) {
                if let (false, Some(since)) = (source.has_begun(), source.author.since) {
                    match read.listed {
                        _ if read.is_pulled => pulled.push((source.author.id, since)),
                        Listed::No => unlisted.push((source.author.id, since)),
                        Listed::Yes | Listed::In(_) => {}
                    }
                }
                source.take(read.entries, part, self.floor);
            }
            part = (2 * part).min(MOST_POSTS);
        }
        let (entries, is_complete) = self.cut(sources);
        let reach = match (is_complete, is_out_of_time) {
            (true, _) => Reach::End,
            (false, true) => Reach::OutOfTime,
            (false, false) => Reach::More,
        };
        Ok(Found { entries, reach, unlisted, pulled })
    }

    /// The timelines whose next part may hold one of the newest posts.
    fn wanted<'a>(&self, sources: &'a mut [Source]) -> Vec<&'a mut Source> {
        let mut entries: Vec<_> = sources.iter().flat_map(|source| &source.entries).copied().collect();
        let last = (entries.len() >= self.limit)
            .then(|| *entries.select_nth_unstable_by(self.limit - 1, |one, other| other.cmp(one)).1);
        let may_hold = |source: &Source| match (source.entries.last(), last) {
            (Some(read), Some(last)) => *read > last,
            (Some(_), None) | (None, _) => true,
        };
        sources.iter_mut().filter(|source| !source.is_read_out && may_hold(source)).collect()
    }

    fn read(&self, source: &Source, limit: usize) -> Timeline {
        Timeline {
            author: source.author.id,
            from: source
                .entries
                .last()
                .map_or_else(|| self.begin(source.author.window), |&last| Some(Place::After(last))),
            limit,
            reader: source.author.since.filter(|_| !source.has_begun()).map(|since| (self.reader, since)),
        }
    }

    /// Where to begin to read posts of a span of time.
    fn begin(&self, window: Window) -> Option<Place> {
        let newest = FeedEntry { at: window.until, post: PostId::MAX, author: UserId::MAX };
        match self.from {
            from if window.until == Micros::MAX => from,
            Some(from) if !from.is_passed_by(newest) => Some(from),
            Some(_) | None => Some(Place::At(newest)),
        }
    }

    /// The newest posts, as far as nothing unread can be among them; and whether they are all there are.
    fn cut(&self, sources: Vec<Source>) -> (Vec<FeedEntry>, bool) {
        let unread = sources.iter().filter(|source| !source.is_read_out).filter_map(|source| source.entries.last());
        let bound = unread.max().copied();
        let mut entries: Vec<_> = sources.into_iter().flat_map(|source| source.entries).collect();
        entries.sort_unstable_by(|one, other| other.cmp(one));
        if let Some(bound) = bound {
            entries.retain(|&entry| entry >= bound);
        }
        let is_complete = bound.is_none() && entries.len() <= self.limit;
        entries.truncate(self.limit);
        (entries, is_complete)
    }
}

/// Reads timelines. Where a shard tells of a reader, it is asked first, and then the timeline is read: so that every post is either
/// read here or pushed to a reader who is found.
async fn read_all(
    store: &Store,
    reads: Vec<Timeline>,
    traffic: Traffic,
    deadline: Deadline,
) -> Result<Vec<TimelinePart>, StoreError> {
    let parts = store.run_all(&reads, traffic, deadline).await;
    let mut parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
    let (mut again, mut looks) = (Vec::new(), Vec::new());
    for (number, (read, part)) in reads.iter().zip(&parts).enumerate() {
        if let (Listed::In(shard), Some((follower, since)), false) = (part.listed, read.reader, part.is_pulled) {
            again.push((number, Timeline { reader: None, ..*read }));
            looks.push(IsListed { user: read.author, shard, follower, since });
        }
    }
    let listed = store.run_all(&looks, traffic, deadline).await;
    let (numbers, again): (Vec<_>, Vec<_>) = again.into_iter().unzip();
    let read = store.run_all(&again, traffic, deadline).await;
    for ((number, listed), read) in numbers.into_iter().zip(listed).zip(read) {
        let listed = if listed? { Listed::Yes } else { Listed::No };
        let is_pulled = parts[number].is_pulled;
        parts[number] = TimelinePart { listed, is_pulled, ..read? };
    }
    Ok(parts)
}

impl Source {
    fn has_begun(&self) -> bool {
        self.is_read_out || !self.entries.is_empty()
    }

    fn take(&mut self, read: Vec<FeedEntry>, asked: usize, floor: Option<FeedEntry>) {
        let from = self.author.window.from;
        let is_above = |entry: &FeedEntry| entry.at >= from && floor.is_none_or(|floor| *entry > floor);
        self.is_read_out = read.len() < asked || read.last().is_some_and(|last| !is_above(last));
        self.entries.extend(read.into_iter().filter(is_above));
    }
}
