//! ScrollFeed of feeds that stay as they are.

use bytes::Bytes;
use socialgraph::v1::{FeedCursor, FeedView, PublishPostRequest, ScrollFeedRequest, ScrollFeedResponse};

use super::support::{BEGIN, MILLISECOND, SECOND, becomes, feed, page, post_at, publish_all, scrolled};
use crate::{
    feeds::{By, Entry, How, Scroll},
    support::{Api, Place},
};

const ME: i64 = 1_000;
const FOLLOWED: [i64; 3] = [1, 2, 3];

/// Posts of [`ME`] and of those whom they follow: several in each microsecond, and many in each millisecond.
async fn posts(api: &Api, count: i64) -> Vec<Entry> {
    for author in FOLLOWED {
        api.follow(ME, author).await;
    }
    let authors = [1, ME, 3, 2];
    let requests = (0..count).map(|number| post_at(authors[number as usize % 4], BEGIN + number / 4 * 300));
    let published = publish_all(api, requests).await;
    becomes(api, ME, &published).await;
    published
}

async fn a_user_never_seen_has_an_empty_feed(place: Place) {
    let api = place.serve(&[]).await;
    for user_id in [7, i64::MAX] {
        for view in [FeedView::Unspecified, FeedView::Ids, FeedView::Full] {
            let request = ScrollFeedRequest { user_id, view: view.into(), ..Default::default() };
            let expected = ScrollFeedResponse { end_of_feed: true, ..Default::default() };
            assert_eq!(api.scroll(request).await, expected);
        }
    }
    // Nor is there anything to see of those who have not posted.
    api.follow(7, 8).await;
    assert_eq!(feed(&api, 7).await, []);
}

async fn own_posts_are_in_the_feed(place: Place) {
    let api = place.serve(&[]).await;
    let published = posts(&api, 40).await;
    let of = |authors: &[i64]| published.iter().copied().filter(|entry| authors.contains(&entry.author)).collect();
    let own: Vec<Entry> = of(&[ME]);
    assert_eq!(own.len(), 10);
    for author in FOLLOWED {
        api.unfollow(ME, author).await;
        let alone: Vec<Entry> = of(&[author]);
        assert_eq!(feed(&api, author).await, alone);
    }
    assert_eq!(feed(&api, ME).await, own);
}

async fn pages_of_every_size_show_the_same(place: Place) {
    let api = place.serve(&[]).await;
    let published = posts(&api, 60).await;
    for page_size in (1..=100).chain([500]) {
        for by in [By::Token, By::Cursor, By::Either] {
            let view = [FeedView::Ids, FeedView::Full][page_size as usize % 2];
            let how = How { by, view, seed: page_size as u64, ..How::pages(page_size) };
            let scroll = scrolled(&api, ME, how).await;
            assert_eq!(scroll.entries(), published, "{how:?}");
            assert_eq!(scroll.pages, published.len().div_ceil(page_size as usize), "{how:?}");
        }
    }
}

async fn without_a_size_a_page_has_fifty_items(place: Place) {
    let api = place.serve(&[]).await;
    let published = posts(&api, 120).await;
    let mut shown = Vec::new();
    let mut request = ScrollFeedRequest { user_id: ME, ..Default::default() };
    for expected in [50, 50, 20] {
        let page = api.scroll(request.clone()).await;
        assert_eq!(page.items.len(), expected);
        assert!(page.items.iter().all(|item| item.post.is_none()));
        shown.extend(page.items.iter().map(Entry::of_item));
        request.page_token = page.next_page_token;
    }
    assert!(request.page_token.is_empty());
    assert_eq!(shown, published);
}

/// The offset counts over page borders: over 300 posts of one millisecond, half of them of one microsecond.
async fn a_cursor_counts_all_posts_of_its_millisecond(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(ME, 1).await;
    let amid = (0..300).map(|number| post_at([1, ME][number as usize % 2], BEGIN + (number - 150).max(0) * 5));
    let around = [post_at(1, BEGIN - 1), post_at(ME, BEGIN + MILLISECOND)];
    let published = publish_all(&api, amid.chain(around)).await;
    becomes(&api, ME, &published).await;
    for page_size in [1, 7, 50, 100, 299, 300, 301] {
        for by in [By::Cursor, By::Either] {
            let how = How { by, seed: page_size as u64, ..How::pages(page_size) };
            assert_eq!(scrolled(&api, ME, how).await.entries(), published, "{how:?}");
        }
    }
}

/// The items after a cursor of a client's own making.
async fn after(api: &Api, cursor: FeedCursor) -> Vec<Entry> {
    let request = ScrollFeedRequest { user_id: ME, page_size: 500, cursor: Some(cursor), ..Default::default() };
    api.scroll(request).await.items.iter().map(Entry::of_item).collect()
}

async fn a_cursor_may_be_of_a_clients_own_making(place: Place) {
    let api = place.serve(&[]).await;
    let published = posts(&api, 60).await;
    let millisecond = |entry: &Entry| entry.at / MILLISECOND;
    for (index, entry) in published.iter().enumerate() {
        let same = published[..=index].iter().filter(|other| millisecond(other) == millisecond(entry)).count();
        let cursor = FeedCursor { max_time_ms: millisecond(entry), offset: same as i32 };
        assert_eq!(after(&api, cursor).await, published[index + 1..], "{cursor:?}");
        // Without an offset: all of the millisecond and what is older. With too large a one: only what is older.
        let cursor = FeedCursor { offset: 0, ..cursor };
        let older = |entry: &&Entry| millisecond(entry) < cursor.max_time_ms;
        let not_newer = |entry: &&Entry| millisecond(entry) <= cursor.max_time_ms;
        let expected: Vec<_> = published.iter().filter(not_newer).copied().collect();
        assert_eq!(after(&api, cursor).await, expected, "{cursor:?}");
        for offset in [60, i32::MAX] {
            let cursor = FeedCursor { offset, ..cursor };
            let expected: Vec<_> = published.iter().filter(older).copied().collect();
            assert_eq!(after(&api, cursor).await, expected, "{cursor:?}");
        }
    }
    for offset in [0, 5] {
        let newest = FeedCursor { max_time_ms: (BEGIN + SECOND) / MILLISECOND, offset };
        assert_eq!(after(&api, newest).await, published, "{newest:?}");
        let oldest = FeedCursor { max_time_ms: 1, offset };
        assert_eq!(after(&api, oldest).await, [], "{oldest:?}");
    }
}

/// A page has at most 3 MiB, so that clients can receive it.
async fn a_page_of_large_posts_ends_early_and_the_next_goes_on(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(ME, 1).await;
    let content = Bytes::from(vec![7; 60 << 10]);
    let large = |number: usize| PublishPostRequest { content: content.clone(), ..post_at([1, ME][number % 2], BEGIN) };
    let published = publish_all(&api, (0..120_usize).map(large)).await;
    becomes(&api, ME, &published).await;
    for by in [By::Token, By::Cursor] {
        let how = How { by, view: FeedView::Full, ..How::pages(500) };
        let scroll = scrolled(&api, ME, how).await;
        assert_eq!(scroll.entries(), published);
        assert!(scroll.shown.iter().all(|item| item.post.as_ref().unwrap().content == content));
        assert!((3..=4).contains(&scroll.pages), "{} pages", scroll.pages);
    }
    assert_eq!(scrolled(&api, ME, How::pages(500)).await.pages, 1);
}

async fn size_and_view_may_change_between_pages(place: Place) {
    let api = place.serve(&[]).await;
    let published = posts(&api, 40).await;
    let views = [FeedView::Full, FeedView::Ids, FeedView::Unspecified];
    for by_cursor in [true, false] {
        let (mut shown, mut request) = (Vec::new(), ScrollFeedRequest { user_id: ME, ..Default::default() });
        for number in 0.. {
            let view = views[number % 3];
            (request.view, request.page_size) = (view.into(), number as i32 + 3);
            let page = api.scroll(request.clone()).await;
            assert!(page.items.iter().all(|item| item.post.is_some() == (view == FeedView::Full)));
            shown.extend(page.items.iter().map(Entry::of_item));
            if page.end_of_feed {
                break;
            }
            request.cursor = page.next_cursor.filter(|_| by_cursor);
            request.page_token = if by_cursor { String::new() } else { page.next_page_token };
        }
        assert_eq!(shown, published, "by cursor: {by_cursor}");
    }
}

/// Several scrolls of one feed at once are strangers to each other.
async fn scrolls_side_by_side_do_not_disturb_each_other(place: Place) {
    let servers = [place.serve(&[]).await, place.serve(&[]).await];
    let published = posts(&servers[0], 80).await;
    let mut scrolls: Vec<_> = (1..=20).map(|page_size| Scroll::new(ME, How::pages(page_size))).collect();
    for round in 0.. {
        if scrolls.iter().all(|scroll| scroll.ended) {
            break;
        }
        for scroll in scrolls.iter_mut().filter(|scroll| !scroll.ended) {
            page(&servers[round % 2], scroll).await;
        }
    }
    assert!(scrolls.iter().all(|scroll| scroll.entries() == published));
}

on_each_backend!(
    a_user_never_seen_has_an_empty_feed,
    own_posts_are_in_the_feed,
    pages_of_every_size_show_the_same,
    without_a_size_a_page_has_fifty_items,
    a_cursor_counts_all_posts_of_its_millisecond,
    a_cursor_may_be_of_a_clients_own_making,
    a_page_of_large_posts_ends_early_and_the_next_goes_on,
    size_and_view_may_change_between_pages,
    scrolls_side_by_side_do_not_disturb_each_other,
);
