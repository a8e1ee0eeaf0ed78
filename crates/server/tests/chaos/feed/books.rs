use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use socialgraph::v1::Post;

use crate::feeds::{Entry, Oracle, Scroll};

/// What happened, and between which ticks of a clock that all share. Gives what a scroll beside writes must and may show.
#[derive(Default)]
pub(super) struct Books {
    ticks: AtomicU64,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    oracle: Oracle,
    /// Of each edge, the times that it was there.
    spans: BTreeMap<(i64, i64), Vec<Span>>,
    /// By author and id.
    posts: BTreeMap<(i64, i64), Written>,
    /// What was written by then is in all feeds.
    settled: u64,
}

/// When an edge was there: for sure and perhaps.
#[derive(Clone, Copy, Debug)]
struct Span {
    perhaps_from: u64,
    from: u64,
    to: u64,
    perhaps_to: u64,
}

#[derive(Clone, Copy, Debug)]
struct Written {
    entry: Entry,
    begun: u64,
    done: u64,
}

/// What a scroll showed, and when.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) reader: i64,
    pub(super) begun: u64,
    pub(super) done: u64,
    pub(super) entries: Vec<Entry>,
    /// Whether it went on to the end of the feed.
    pub(super) ended: bool,
}

impl Books {
    pub(super) fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// What feeds are once writes in flight are done.
    pub(super) fn oracle(&self) -> Oracle {
        self.inner.lock().unwrap().oracle.clone()
    }

    /// A follow that was sent at a tick and has been answered.
    pub(super) fn followed(&self, edge: (i64, i64), begun: u64) {
        let done = self.tick();
        let mut inner = self.inner.lock().unwrap();
        inner.oracle.follow(edge.0, edge.1);
        let spans = inner.spans.entry(edge).or_default();
        if spans.last().is_none_or(|span| span.to < u64::MAX) {
            spans.push(Span { perhaps_from: begun, from: done, to: u64::MAX, perhaps_to: u64::MAX });
        }
    }

    /// An unfollow that was sent at a tick and has been answered.
    pub(super) fn unfollowed(&self, edge: (i64, i64), begun: u64) {
        let done = self.tick();
        let mut inner = self.inner.lock().unwrap();
        inner.oracle.unfollow(edge.0, edge.1);
        let last = inner.spans.get_mut(&edge).and_then(|spans| spans.last_mut());
        if let Some(span) = last.filter(|span| span.to == u64::MAX) {
            (span.to, span.perhaps_to) = (begun, done);
        }
    }

    /// A post whose request was sent at a tick and has been answered.
    pub(super) fn published(&self, post: Post, begun: u64) {
        let written = Written { entry: Entry::of_post(&post), begun, done: self.tick() };
        let mut inner = self.inner.lock().unwrap();
        inner.posts.entry((post.author_id, post.post_id)).or_insert(written);
        inner.oracle.publish(post);
    }

    /// Everything that was written by a tick is in all feeds now.
    pub(super) fn settle(&self, tick: u64) {
        self.inner.lock().unwrap().settled = tick;
    }

    pub(super) fn seen(&self, reader: i64, begun: u64, scroll: &Scroll) -> Seen {
        Seen { reader, begun, done: self.tick(), entries: scroll.entries(), ended: scroll.ended }
    }

    /// Asserts that a scroll showed what was there all along, and nothing that was not there at all. Scrolls check by
    /// themselves that nothing comes twice.
    pub(super) fn check(&self, seen: &Seen) {
        let inner = self.inner.lock().unwrap();
        let shown: BTreeSet<_> = seen.entries.iter().copied().collect();
        for entry in &shown {
            let written = inner.posts.get(&(entry.author, entry.post));
            let written = written.unwrap_or_else(|| panic!("never published: {entry:?}, shown to {}", seen.reader));
            assert_eq!(written.entry, *entry);
            let visible = inner.spans(seen.reader, entry.author).any(|span| span.touches(seen));
            let times = (seen.begun, seen.done);
            assert!(visible && written.begun <= seen.done, "shown to {} at {times:?}: {written:?}", seen.reader);
        }
        let missing: Vec<_> = inner.surely_shown(seen).filter(|written| !shown.contains(&written.entry)).collect();
        let spans: Vec<_> =
            missing.first().into_iter().flat_map(|first| inner.spans(seen.reader, first.entry.author)).collect();
        let (reader, begun, done) = (seen.reader, seen.begun, seen.done);
        assert!(missing.is_empty(), "not shown to {reader} from {begun} to {done}: {missing:?}; follows: {spans:?}");
    }
}

impl Inner {
    fn spans(&self, reader: i64, author: i64) -> impl Iterator<Item = Span> {
        let own = Span { perhaps_from: 0, from: 0, to: u64::MAX, perhaps_to: u64::MAX };
        let own = (reader == author).then_some(own);
        own.into_iter().chain(self.spans.get(&(reader, author)).into_iter().flatten().copied())
    }

    /// The posts that were in the feed when a scroll began, and until it ended. A follow shows what was published before at
    /// once, and so does the feed of the author; else a post that is new takes its time.
    fn surely_shown(&self, seen: &Seen) -> impl Iterator<Item = Written> {
        let followed = self.spans.range((seen.reader, 0)..=(seen.reader, i64::MAX));
        let covering = followed.filter_map(|(edge, spans)| {
            let span = spans.iter().find(|span| span.from <= seen.begun && seen.done < span.to)?;
            Some((edge.1, span.perhaps_from.max(self.settled)))
        });
        covering.chain([(seen.reader, seen.begun)]).flat_map(move |(author, written_by)| {
            let posts = self.posts.range((author, 0)..=(author, i64::MAX)).map(|(_, written)| *written);
            posts.filter(move |written| written.done <= written_by && seen.reached(written.entry))
        })
    }
}

impl Seen {
    /// Whether it went on as far as the place of a post.
    fn reached(&self, entry: Entry) -> bool {
        self.ended || self.entries.last().is_some_and(|last| *last <= entry)
    }
}

impl Span {
    fn touches(&self, seen: &Seen) -> bool {
        self.perhaps_from <= seen.done && seen.begun <= self.perhaps_to
    }
}
