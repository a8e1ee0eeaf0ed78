use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use socialgraph::v1::{FeedCursor, FeedItem, FeedView, ScrollFeedRequest, ScrollFeedResponse};

use super::Entry;

/// The most that the posts of a page have, and of one post.
const PAGE_BYTES: usize = 3 << 20;
const POST_BYTES: usize = 64 << 10;

/// What leads from page to page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Token,
    Cursor,
    /// Now the one, now the other.
    Either,
}

/// How to read a feed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) by: By,
    pub(crate) view: FeedView,
    /// The least and the greatest page size.
    pub(crate) sizes: (i32, i32),
    /// Whether nothing changes meanwhile, so that the service must be exact about the end and the cursor.
    pub(crate) still: bool,
    /// Of what is chosen at random.
    pub(crate) seed: u64,
}

impl How {
    /// Pages of one size, of a feed that does not change.
    pub(crate) fn pages(page_size: i32) -> Self {
        Self { by: By::Token, view: FeedView::Ids, sizes: (page_size, page_size), still: true, seed: 0 }
    }

    /// Pages of any size, of a feed that does not change.
    pub(crate) fn any(random: &mut StdRng) -> Self {
        Self {
            by: *[By::Token, By::Cursor, By::Either].choose(random).expect("not empty"),
            view: *[FeedView::Ids, FeedView::Full].choose(random).expect("not empty"),
            sizes: (1, 100),
            still: true,
            seed: random.random(),
        }
    }

    /// By token, of a feed that changes meanwhile.
    pub(crate) fn beside_writes(self) -> Self {
        Self { by: By::Token, still: false, ..self }
    }
}

/// Reads a feed page by page, and checks of each what must always hold.
#[derive(Debug)]
pub(crate) struct Scroll {
    how: How,
    random: StdRng,
    request: ScrollFeedRequest,
    /// The items so far.
    pub(crate) shown: Vec<FeedItem>,
    pub(crate) pages: usize,
    pub(crate) ended: bool,
}

impl Scroll {
    pub(crate) fn new(user_id: i64, how: How) -> Self {
        let request = ScrollFeedRequest { user_id, view: how.view.into(), ..Default::default() };
        let random = StdRng::seed_from_u64(how.seed);
        Self { how, random, request, shown: Vec::new(), pages: 0, ended: false }
    }

    /// The request of the next page.
    pub(crate) fn request(&mut self) -> ScrollFeedRequest {
        assert!(!self.ended, "nothing follows the end");
        self.request.page_size = self.random.random_range(self.how.sizes.0..=self.how.sizes.1);
        self.request.clone()
    }

    /// The answer to it.
    pub(crate) fn take(&mut self, page: ScrollFeedResponse) {
        self.check_items(&page);
        self.check_size(&page);
        let before = self.shown.len();
        self.shown.extend(page.items.iter().cloned());
        self.check_end(&page, before);
        if let Some(cursor) = page.next_cursor
            && self.how.still
        {
            assert_eq!(cursor, self.cursor(), "{self:?}");
        }
        self.pages += 1;
        self.ended = page.end_of_feed;
        self.go_on(page);
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.shown.iter().map(Entry::of_item).collect()
    }

    fn go_on(&mut self, page: ScrollFeedResponse) {
        let by_cursor = match self.how.by {
            By::Token => false,
            By::Cursor => true,
            By::Either => self.random.random_bool(0.5),
        };
        let cursor = page.next_cursor.filter(|_| by_cursor);
        self.request.page_token = if cursor.is_none() { page.next_page_token } else { String::new() };
        self.request.cursor = cursor;
    }

    /// Newest first, nothing twice, and posts if they were asked for.
    fn check_items(&self, page: &ScrollFeedResponse) {
        let shown = self.shown.last().into_iter().chain(&page.items).map(Entry::of_item).collect::<Vec<_>>();
        assert!(shown.is_sorted_by(|a, b| a > b), "out of order: {shown:?}, {:?}", self.request);
        for item in &page.items {
            let post = item.post.as_ref();
            assert_eq!(post.is_some(), self.how.view == FeedView::Full, "{item:?}");
            assert!(post.is_none_or(|post| Entry::of_post(post) == Entry::of_item(item)), "{item:?}");
        }
    }

    /// A page is full unless there is a reason.
    fn check_size(&self, page: &ScrollFeedResponse) {
        let (size, most) = (page.items.len(), self.request.page_size as usize);
        let bytes: usize = page.items.iter().filter_map(|item| item.post.as_ref()).map(bytes).sum();
        assert!(size <= most && bytes <= PAGE_BYTES, "{size} items, {bytes} bytes, {:?}", self.request);
        let excused = page.end_of_feed || page.partial || bytes + POST_BYTES > PAGE_BYTES;
        assert!(size == most || excused, "{size} items, {bytes} bytes, {:?}", self.request);
    }

    fn check_end(&self, page: &ScrollFeedResponse, before: usize) {
        let request = &self.request;
        assert_eq!(page.next_page_token.is_empty(), page.end_of_feed, "{request:?}");
        assert_eq!(page.next_cursor.is_some(), !page.end_of_feed && !self.shown.is_empty(), "{request:?}");
        assert!(!(page.partial && page.end_of_feed), "both partial and the end: {request:?}");
        if page.end_of_feed && self.how.still {
            let none_on_this_page = self.shown.len() == before;
            assert!(!none_on_this_page || before == 0, "the end was told a page too late: {request:?}");
        }
    }

    /// What the next cursor must be.
    fn cursor(&self) -> FeedCursor {
        let millisecond = |item: &FeedItem| Entry::of_item(item).at / 1_000;
        let max_time_ms = millisecond(self.shown.last().expect("an item was shown"));
        let offset = self.shown.iter().rev().take_while(|item| millisecond(item) == max_time_ms).count() as i32;
        FeedCursor { max_time_ms, offset }
    }
}

/// What the author gave.
fn bytes(post: &socialgraph::v1::Post) -> usize {
    post.content.len() + post.attributes.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>()
}
