use keyspace::{List, Shard};
use model::{Deadline, Entry, Order, TokenKind, UserId, Window};
use store::{
    Operation, Store, StoreError, Traffic,
    ops::{MOST_SEGMENTS, Outline, Outlined, Place, Range, Segment, Span, SpanUsers, Stretch},
};

use crate::{Graph, ServiceError};

/// Pages longer than this do not share connections with small calls.
const SMALL_PAGE: usize = 100;
/// Most entries of a slice: with one more, no command reads more than 1,000.
pub(crate) const MOST_ENTRIES: usize = 999;

/// Segments that are read at once: with up to 128 entries each, and some that come meanwhile, at most 1,000 entries.
const SEGMENTS_OF_SPAN: usize = 7;

/// A question for a page of a list.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// Which list.
    pub list: List,
    /// Whose.
    pub user: UserId,
    /// Which end first.
    pub order: Order,
    /// Only entries of this span.
    pub window: Window,
    /// Who looks: nobody whom they blocked, or who blocked them, is shown.
    pub viewer: Option<UserId>,
    /// Entries a page, 1 to 500.
    pub page_size: usize,
    /// From the page before; empty for the first.
    pub page_token: String,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPage {
    /// The entries.
    pub entries: Vec<Entry>,
    /// How many entries of the page are not shown to the viewer.
    pub filtered: u64,
    /// For the next page; empty on the last.
    pub next_page_token: String,
}

impl Graph {
    /// A page of a list. One round trip; two where it is in segments of a long list, some more where it is in shards of a very long one;
    /// and one more for a viewer.
    pub async fn list(&self, query: ListQuery, deadline: Deadline) -> Result<ListPage, ServiceError> {
        let kind = match query.list {
            List::Following => TokenKind::ListFollowing,
            List::Followers => TokenKind::ListFollowers,
        };
        let walk = Walk { list: query.list, user: query.user, order: query.order, window: query.window };
        let bound_to = walk.parameters(query.viewer);
        let after = self.inner.open_page(kind, &bound_to, &query.page_token)?;
        let mut slice = walk.slice(&self.inner.store, after, query.page_size, deadline).await?;
        let filtered = self.hide(query.viewer, &[query.user], &mut slice.entries, |entry| entry.user, deadline).await?;
        let next_page_token = self.inner.seal_page(kind, &bound_to, slice.next);
        Ok(ListPage { entries: slice.entries, filtered, next_page_token })
    }
}

/// A way through a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    pub(crate) list: List,
    pub(crate) user: UserId,
    pub(crate) order: Order,
    pub(crate) window: Window,
}

/// A stretch of a walk.
#[derive(Debug)]
pub(crate) struct Slice {
    pub(crate) entries: Vec<Entry>,
    /// After which entry the walk goes on; `None` at its end.
    pub(crate) next: Option<Entry>,
}

impl Walk {
    /// What the tokens of its pages are bound to, besides the call.
    pub(crate) fn parameters(&self, viewer: Option<UserId>) -> [i64; 5] {
        let order = match self.order {
            Order::NewestFirst => 1,
            Order::OldestFirst => 2,
        };
        let [from, until] = [self.window.from, self.window.until].map(|time| time.get().cast_signed());
        [self.user.get(), order, from, until, viewer.map_or(0, UserId::get)]
    }

    /// The next entries after `after`, at most `limit` (1 to 999) of them. What is there all along is met exactly once,
    /// whatever comes and goes meanwhile, `after` itself included.
    pub(crate) async fn slice(
        &self,
        store: &Store,
        after: Option<Entry>,
        limit: usize,
        deadline: Deadline,
    ) -> Result<Slice, StoreError> {
        let traffic = if limit > SMALL_PAGE { Traffic::Bulk } else { Traffic::Interactive };
        let Self { list, user, order, window } = *self;
        // One more, to see whether there is more.
        let wanted = limit + 1;
        let mut range =
            Range { list, user, order, window, stretch: None, from: after.map(Place::After), limit: wanted };
        let mut entries: Vec<Entry> = Vec::new();
        while entries.len() < wanted {
            range.limit = wanted - entries.len();
            let part = store.run(&range, traffic, deadline).await?;
            entries.extend(part.entries);
            let Some(next) = next_part(&range, part.stretch) else { break };
            (range.from, range.stretch) = next;
        }
        entries.retain(|entry| (window.from..=window.until).contains(&entry.at));
        let has_more = entries.len() > limit;
        entries.truncate(limit);
        let next = entries.last().copied().filter(|_| has_more);
        Ok(Slice { entries, next })
    }
}

/// Where the list goes on after a part of which all was read, and whether that is in a shard; `None` at its end. A shard that was
/// told may begin before the place.
fn next_part(read: &Range, told: Option<Stretch>) -> Option<(Option<Place<Entry>>, Option<Stretch>)> {
    match (read.stretch, read.order) {
        (None, _) => told.map(|stretch| (read.from, Some(stretch))),
        (Some(Stretch { before, .. }), Order::NewestFirst) => before.map(|before| (Some(Place::At(before)), None)),
        (Some(Stretch { bound, .. }), Order::OldestFirst) => Some((Some(Place::After(bound)), None)),
    }
}

/// What was read of a list.
#[derive(Debug)]
pub(crate) struct WholeList<T = Entry> {
    /// Entries, in no order.
    pub(crate) entries: Vec<T>,
    /// Whether these are all.
    pub(crate) outcome: Result<(), StoreError>,
}

/// Reads a list, of any length, in parts side by side. Two round trips; one for a list that is one key, three for one that has shards.
/// What is there all along is among the entries once.
pub(crate) async fn whole_list(store: &Store, list: List, user: UserId, deadline: Deadline) -> WholeList {
    match outline(store, list, user, None, deadline).await {
        Ok(Outlined::Entries(entries)) => WholeList { entries, outcome: Ok(()) },
        Ok(Outlined::Segments(segments)) => read_segments(store, list, user, &segments, deadline).await,
        Err(error) => WholeList { entries: Vec::new(), outcome: Err(error) },
    }
}

/// Reads who is on a list as [`whole_list`] does, for about half of its cost in a long one. Somebody may be there twice.
pub(crate) async fn whole_list_of_users(
    store: &Store,
    list: List,
    user: UserId,
    deadline: Deadline,
) -> WholeList<UserId> {
    match outline(store, list, user, None, deadline).await {
        Ok(Outlined::Entries(entries)) => {
            WholeList { entries: entries.into_iter().map(|entry| entry.user).collect(), outcome: Ok(()) }
        }
        Ok(Outlined::Segments(segments)) => {
            let (spans, outcome) = all_spans(store, list, user, &segments, deadline).await;
            let reads: Vec<_> = spans.iter().map(SpanUsers).collect();
            let whole = WholeList { entries: Vec::new(), outcome };
            read_spans(store, &spans, &reads, |entry| entry.user, whole, deadline).await
        }
        Err(error) => WholeList { entries: Vec::new(), outcome: Err(error) },
    }
}

/// Reads all of a list whose segments are known.
pub(crate) async fn read_segments(
    store: &Store,
    list: List,
    user: UserId,
    segments: &[Segment],
    deadline: Deadline,
) -> WholeList {
    let (spans, outcome) = all_spans(store, list, user, segments, deadline).await;
    read_spans(store, &spans, &spans, |entry| entry, WholeList { entries: Vec::new(), outcome }, deadline).await
}

/// The spans that a list whose segments are known is made of, and whether these are all.
async fn all_spans(
    store: &Store,
    list: List,
    user: UserId,
    segments: &[Segment],
    deadline: Deadline,
) -> (Vec<Span>, Result<(), StoreError>) {
    // Shards come before all segments.
    let (shards, home) = segments.split_at(segments.partition_point(|segment| segment.shard().is_some()));
    let (mut spans, mut outcome) = (Vec::new(), Ok(()));
    let outlines: Vec<_> = shards.iter().map(|shard| Outline { list, user, shard: shard.shard(), first: 0 }).collect();
    let outlined = store.run_all(&outlines, Traffic::Bulk, deadline).await;
    let mut after = None;
    for (shard, mut outlined) in shards.iter().zip(outlined) {
        if matches!(&outlined, Ok(Outlined::Segments(segments)) if segments.len() == MOST_SEGMENTS) {
            outlined = outline(store, list, user, shard.shard(), deadline).await;
        }
        match outlined {
            Ok(outlined) => spans.extend(spans_of_shard(list, user, shard, after, outlined)),
            Err(error) => outcome = Err(error),
        }
        after = Some(shard.bound);
    }
    spans.extend(spans_of(list, user, None, home, after));
    let head =
        Span { list, user, shard: None, after: segments.last().map(|segment| segment.bound), segments: Vec::new() };
    spans.push(head);
    (spans, outcome)
}

/// Adds what is in spans to a list, by a read for each; what one does not give is read in slices.
async fn read_spans<T, O: Operation<Output = Option<Vec<T>>>>(
    store: &Store,
    spans: &[Span],
    reads: &[O],
    of: impl Fn(Entry) -> T,
    mut whole: WholeList<T>,
    deadline: Deadline,
) -> WholeList<T> {
    for (span, read) in spans.iter().zip(store.run_all(reads, Traffic::Bulk, deadline).await) {
        let read = match read {
            Ok(Some(entries)) => Ok(entries),
            Ok(None) => in_slices(store, span, deadline).await.map(|entries| entries.into_iter().map(&of).collect()),
            Err(error) => Err(error),
        };
        match read {
            Ok(entries) => whole.entries.extend(entries),
            Err(error) => whole.outcome = Err(error),
        }
    }
    whole
}

/// What of a shard belongs to the list: beyond the shard's bound may lie the copy of what is not given over yet.
fn spans_of_shard(list: List, user: UserId, shard: &Segment, after: Option<Entry>, outlined: Outlined) -> Vec<Span> {
    let Outlined::Segments(mut segments) = outlined else { return Vec::new() };
    segments.retain(|segment| segment.bound <= shard.bound);
    spans_of(list, user, shard.shard(), &segments, after)
}

/// Reads a span of more than 1,000 entries: a head of a list of the first format, or one that grew meanwhile.
async fn in_slices(store: &Store, span: &Span, deadline: Deadline) -> Result<Vec<Entry>, StoreError> {
    let walk = Walk { list: span.list, user: span.user, order: Order::OldestFirst, window: Window::ALL };
    let bound = span.segments.last().map(|segment| segment.bound);
    let (mut all, mut after) = (Vec::new(), span.after);
    loop {
        let Slice { entries, next } = walk.slice(store, after, MOST_ENTRIES, deadline).await?;
        all.extend(entries.into_iter().filter(|entry| bound.is_none_or(|bound| *entry <= bound)));
        match next {
            Some(next) if bound.is_none_or(|bound| next < bound) => after = Some(next),
            _ => return Ok(all),
        }
    }
}

/// How a list, or a shard of it, lies in its keys, however many these are.
pub(crate) async fn outline(
    store: &Store,
    list: List,
    user: UserId,
    shard: Option<Shard>,
    deadline: Deadline,
) -> Result<Outlined, StoreError> {
    let mut all = Vec::new();
    loop {
        let outline = Outline { list, user, shard, first: all.len() };
        match store.run(&outline, Traffic::Bulk, deadline).await? {
            Outlined::Entries(entries) => return Ok(Outlined::Entries(entries)),
            Outlined::Segments(segments) => {
                let is_last = segments.len() < MOST_SEGMENTS;
                all.extend(segments);
                if is_last {
                    // Numbers change when segments come or go meanwhile.
                    all.sort_unstable_by_key(|segment| segment.bound);
                    all.dedup_by_key(|segment| segment.bound);
                    return Ok(Outlined::Segments(all));
                }
            }
        }
    }
}

/// Segments in groups that are read at once. The first group begins after an entry.
fn spans_of(
    list: List,
    user: UserId,
    shard: Option<Shard>,
    segments: &[Segment],
    mut after: Option<Entry>,
) -> Vec<Span> {
    let spans = segments.chunks(SEGMENTS_OF_SPAN).map(|segments| {
        let bound = segments.last().map(|segment| segment.bound);
        Span { list, user, shard, after: std::mem::replace(&mut after, bound), segments: segments.to_vec() }
    });
    spans.collect()
}
