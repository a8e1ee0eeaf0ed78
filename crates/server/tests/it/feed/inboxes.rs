//! Inboxes are a cache of the top of feeds: bounded, and nobody notices where they end.

use rand::{Rng, seq::IndexedRandom};
use socialgraph::v1::{FeedCursor, FeedView, ScrollFeedRequest};

use super::support::{
    BEGIN, MILLISECOND, SECOND, becomes, expire_inbox, feed, inbox_keys, inbox_len, lose, newest_first, page, post,
    post_at, publish, publish_all, rest, scrolled,
};
use crate::{
    feeds::{By, Entry, How, Scroll},
    support::{Api, Place, row, seeded},
};

const ME: i64 = 1_000;
const AUTHORS: [i64; 4] = [1, 2, 3, ME];
const CAP: usize = 10;
const SMALL: [(&str, &str); 1] = [("feed.inbox-cap", "10")];

/// Follows of [`ME`], whose inbox is live.
async fn live(api: &Api) {
    for author in &AUTHORS[..3] {
        api.follow(ME, *author).await;
    }
    assert_eq!(feed(api, ME).await, []);
}

fn by_turns(count: i64) -> impl Iterator<Item = socialgraph::v1::PublishPostRequest> {
    (0..count).map(|number| post_at(AUTHORS[number as usize % 4], BEGIN + number / 2 * MILLISECOND))
}

/// Its sentinel is beside the entries.
async fn assert_bounded(place: &Place, cap: usize) {
    let len = inbox_len(place, ME).await;
    assert!((1..=cap + 1).contains(&len), "{len} entries of at most {cap}");
}

async fn field_f37_trims_keep_bounds_and_lose_nothing(place: Place) {
    let mut random = seeded();
    for (cap, posts) in [(10, 150), (30, 200)] {
        let place = place.another().await;
        let api = place.serve(&[("feed.inbox-cap", &cap.to_string())]).await;
        live(&api).await;
        let mut expected = Vec::new();
        while expected.len() < posts {
            let burst = random.random_range(1..25);
            let requests: Vec<_> = (0..burst)
                .map(|_| {
                    let author = *AUTHORS.choose(&mut random).unwrap();
                    // All at random, so that most of the later ones belong below the floor.
                    post_at(author, BEGIN + random.random_range(0..200) * MILLISECOND / 10)
                })
                .collect();
            expected.extend(publish_all(&api, requests).await);
            expected = newest_first(expected);
            becomes(&api, ME, &expected).await;
            assert_bounded(&place, cap).await;
        }
        let how = How { by: By::Cursor, view: FeedView::Full, ..How::pages(7) };
        assert_eq!(scrolled(&api, ME, how).await.entries(), expected);
    }
}

/// One entry more did erase the whole of the others' list.
async fn field_f37_one_post_at_a_time_erases_nothing(place: Place) {
    let api = place.serve(&SMALL).await;
    live(&api).await;
    let mut expected = Vec::new();
    for number in 0..40 {
        expected.insert(0, publish(&api, post(AUTHORS[number % 4])).await);
        becomes(&api, ME, &expected).await;
        assert_bounded(&place, CAP).await;
    }
}

/// The server was given a smaller cap than the inbox has entries.
async fn a_smaller_cap_takes_effect_and_loses_nothing(place: Place) {
    let large = place.serve(&[("feed.inbox-cap", "60")]).await;
    live(&large).await;
    let expected = publish_all(&large, by_turns(60)).await;
    becomes(&large, ME, &expected).await;
    large.stop().await;
    let small = place.serve(&SMALL).await;
    assert_eq!(feed(&small, ME).await, expected);
    let mut expected = [publish_all(&small, [post(1)]).await, expected].concat();
    becomes(&small, ME, &expected).await;
    expected.splice(0..0, publish_all(&small, [post(2), post(ME)]).await);
    becomes(&small, ME, &expected).await;
    assert_bounded(&place, CAP).await;
}

/// A page from below the inbox has the neighbours of its cursor, not the newest posts.
async fn field_f12_below_the_inbox_come_the_neighbours(place: Place) {
    let api = place.serve(&SMALL).await;
    live(&api).await;
    let mut expected = publish_all(&api, by_turns(50)).await;
    becomes(&api, ME, &expected).await;
    for (by, pages) in [(By::Token, 1), (By::Token, 4), (By::Cursor, 1), (By::Cursor, 4)] {
        let mut scroll = Scroll::new(ME, How { by, still: false, ..How::pages(5) });
        for _ in 0..pages {
            page(&api, &mut scroll).await;
        }
        // What lay in the inbox when the pages were made does so no more.
        let arrived = publish_all(&api, (0..2 * CAP).map(|number| post(AUTHORS[number % 4]))).await;
        rest(&api, &mut scroll).await;
        assert_eq!(scroll.entries(), expected, "{by:?} after {pages} pages");
        expected.splice(0..0, arrived);
        becomes(&api, ME, &expected).await;
    }
}

/// Far below the inbox, through timelines of several segments, whose posts came in no order.
async fn field_f20_a_feed_goes_on_to_the_oldest_post_of_long_timelines(place: Place) {
    let api = place.serve(&SMALL).await;
    live(&api).await;
    let times = (0..640).map(|number| BEGIN + number * 7_919 % 640 / 3 * MILLISECOND);
    let requests = times.zip(0_usize..).map(|(at, number)| post_at(AUTHORS[number % 4], at));
    let expected = publish_all(&api, requests).await;
    becomes(&api, ME, &expected).await;
    for (by, size) in [(By::Token, 7), (By::Cursor, 50), (By::Token, 500)] {
        let mut scroll = Scroll::new(ME, How { by, still: true, ..How::pages(size) });
        rest(&api, &mut scroll).await;
        assert_eq!(scroll.entries(), expected, "{by:?}, pages of {size}");
    }
}

/// Where the inbox ends need not be where a page ends, a time ends, or the posts of one author end.
async fn cursors_on_both_sides_of_the_floor_agree(place: Place) {
    let api = place.serve(&SMALL).await;
    live(&api).await;
    // Times of which the floor splits one, whatever its exact place.
    let requests = (0..60).map(|number| post_at(AUTHORS[number as usize % 4], BEGIN + number / 20 * MILLISECOND));
    let expected = publish_all(&api, requests).await;
    becomes(&api, ME, &expected).await;
    for skipped in 0..expected.len() {
        let last = expected[skipped];
        let same = expected[..=skipped].iter().filter(|entry| entry.at == last.at).count();
        let cursor = FeedCursor { max_time_ms: last.at / MILLISECOND, offset: same as i32 };
        let request = ScrollFeedRequest { user_id: ME, page_size: 4, cursor: Some(cursor), ..Default::default() };
        let page = api.scroll(request).await;
        let shown: Vec<_> = page.items.iter().map(Entry::of_item).collect();
        assert_eq!(shown, expected[skipped + 1..].iter().copied().take(4).collect::<Vec<_>>(), "{cursor:?}");
    }
}

/// Posts of which only the ids are left, in the inbox and below it.
async fn field_f22_a_dangling_id_is_skipped_and_the_page_refilled(place: Place) {
    for settings in [&[][..], &SMALL] {
        let place = place.another().await;
        let api = place.serve(settings).await;
        live(&api).await;
        let mut expected = publish_all(&api, by_turns(60)).await;
        becomes(&api, ME, &expected).await;
        // One alone, one on a page's border, a whole page and more, the last.
        for position in [59, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 20, 9, 5, 4, 3, 2, 0] {
            lose(&place, expected.remove(position)).await;
        }
        for by in [By::Token, By::Cursor, By::Either] {
            for page_size in [1, 5, 41, 42, 100] {
                let how = How { by, view: FeedView::Full, ..How::pages(page_size) };
                assert_eq!(scrolled(&api, ME, how).await.entries(), expected, "{how:?}, {settings:?}");
            }
        }
        becomes(&api, ME, &expected).await;
    }
}

async fn field_f22_a_feed_of_dangling_ids_only_is_empty(place: Place) {
    for settings in [&[][..], &SMALL] {
        let place = place.another().await;
        let api = place.serve(settings).await;
        live(&api).await;
        let all = publish_all(&api, by_turns(40)).await;
        becomes(&api, ME, &all).await;
        for entry in all {
            lose(&place, entry).await;
        }
        let how = How { view: FeedView::Full, ..How::pages(5) };
        assert_eq!(scrolled(&api, ME, how).await.entries(), []);
        let next = publish(&api, post(1)).await;
        becomes(&api, ME, &[next]).await;
    }
}

/// Whoever does not read costs nothing.
async fn field_f34_a_post_makes_no_inbox(place: Place) {
    let api = place.serve(&[]).await;
    for reader in [ME, ME + 1] {
        api.follow(reader, 1).await;
    }
    let mut expected = publish_all(&api, (0..20).map(|_| post(1))).await;
    place.settled().await;
    assert_eq!(place.redis.scan(&format!("{}:*:inbox:*", place.name)).await, []);
    assert_eq!(feed(&api, ME).await, expected);
    expire_inbox(&place, ME).await;
    expected.insert(0, publish(&api, post(1)).await);
    place.settled().await;
    assert_eq!(inbox_len(&place, ME).await, 0);
    becomes(&api, ME, &expected).await;
    assert!(inbox_len(&place, ME).await > 20);
    assert_eq!(inbox_len(&place, ME + 1).await, 0);
}

/// Whatever part of an inbox Redis lost, the feed is whole, and what arrives is not missed either.
async fn field_f21_a_lost_inbox_is_made_anew(place: Place) {
    for settings in [&[][..], &SMALL] {
        let place = place.another().await;
        let api = place.serve(settings).await;
        live(&api).await;
        let mut expected = publish_all(&api, by_turns(40)).await;
        becomes(&api, ME, &expected).await;
        let [inbox, facts] = &inbox_keys(&place, ME);
        for lost in [&[inbox, facts][..], &[inbox], &[facts]] {
            for arrives_before_the_scroll in [true, false] {
                for key in lost {
                    place.redis.command(&["DEL", key]).await;
                }
                if arrives_before_the_scroll {
                    expected.splice(0..0, publish_all(&api, AUTHORS.map(post)).await);
                    becomes(&api, ME, &expected).await;
                } else {
                    assert_eq!(feed(&api, ME).await, expected, "{lost:?}");
                }
                expected.splice(0..0, publish_all(&api, AUTHORS.map(post)).await);
                becomes(&api, ME, &expected).await;
            }
        }
    }
}

/// The first scrolls of a reader, several at once, beside posts: none is missed. The inbox takes its time to be filled, for
/// the reader follows many.
async fn first_scrolls_beside_posts_miss_nothing(place: Place) {
    let servers = [place.serve(&SMALL).await, place.serve(&[("feed.inbox-cap", "40")]).await];
    let api = &servers[0];
    api.import((0..900).map(|number| row(ME, 10_000 + number)).collect()).await;
    live(api).await;
    let mut expected = publish_all(api, by_turns(30)).await;
    becomes(api, ME, &expected).await;
    for round in 0..12 {
        expire_inbox(&place, ME).await;
        let reading = async {
            for number in 0..4 {
                let shown = feed(&servers[(round + number) % 2], ME).await;
                let kept: Vec<_> = shown.into_iter().filter(|entry| expected.contains(entry)).collect();
                assert_eq!(kept, expected, "round {round}");
            }
        };
        let requests = (0..40).map(|number| match number % 10 {
            0 => post_at(1, BEGIN + round as i64 * SECOND + 7),
            _ => post(AUTHORS[number % 4]),
        });
        let ((), arrived) = tokio::join!(reading, publish_all(&servers[1], requests));
        expected = newest_first([arrived, expected].concat());
        becomes(&servers[round % 2], ME, &expected).await;
        assert_bounded(&place, 40).await;
    }
}

on_each_backend!(
    field_f37_trims_keep_bounds_and_lose_nothing,
    field_f37_one_post_at_a_time_erases_nothing,
    a_smaller_cap_takes_effect_and_loses_nothing,
    field_f12_below_the_inbox_come_the_neighbours,
    field_f20_a_feed_goes_on_to_the_oldest_post_of_long_timelines,
    cursors_on_both_sides_of_the_floor_agree,
    field_f22_a_dangling_id_is_skipped_and_the_page_refilled,
    field_f22_a_feed_of_dangling_ids_only_is_empty,
    field_f34_a_post_makes_no_inbox,
    field_f21_a_lost_inbox_is_made_anew,
    first_scrolls_beside_posts_miss_nothing,
);
