//! Feeds that change between two pages, and tokens that outlive what they were made by.

use super::support::{
    BEGIN, MILLISECOND, becomes, expire_inbox, feed, page, post, post_at, publish, publish_all, rest,
};
use crate::{
    feeds::{By, Entry, How, Scroll},
    support::{Api, Place},
};

const ME: i64 = 1_000;
/// Whom [`ME`] follows.
const FOLLOWED: [i64; 3] = [1, 2, 3];
/// A small inbox, so that most of a feed lies below it.
const SMALL: [(&str, &str); 1] = [("feed.inbox-cap", "10")];

/// Posts of long ago, of [`ME`] and of those whom they follow, some of them of one time.
async fn old_posts(api: &Api, count: i64) -> Vec<Entry> {
    for author in FOLLOWED {
        api.follow(ME, author).await;
    }
    let authors = [1, 2, 3, ME];
    let requests = (0..count).map(|number| post_at(authors[number as usize % 4], BEGIN + number / 3 * MILLISECOND));
    let published = publish_all(api, requests).await;
    becomes(api, ME, &published).await;
    published
}

async fn field_f10_posts_between_pages_repeat_and_skip_nothing(place: Place) {
    for settings in [&[][..], &SMALL] {
        let place = place.another().await;
        let api = place.serve(settings).await;
        let mut expected = old_posts(&api, 48).await;
        for by in [By::Token, By::Cursor, By::Either] {
            let mut scroll = Scroll::new(ME, How { by, still: false, ..How::pages(7) });
            let mut arrived = Vec::new();
            while !scroll.ended {
                page(&api, &mut scroll).await;
                for author in [1, 3, ME] {
                    arrived.insert(0, publish(&api, post(author)).await);
                }
            }
            assert_eq!(scroll.entries(), expected, "{by:?}, {settings:?}");
            expected.splice(0..0, arrived);
            becomes(&api, ME, &expected).await;
        }
    }
}

/// A post with an older time than the pages so far comes in its place, one with a newer time in the next scroll.
async fn posts_of_the_past_between_pages_come_in_their_place(place: Place) {
    for settings in [&[][..], &SMALL] {
        let place = place.another().await;
        let api = place.serve(settings).await;
        let before = old_posts(&api, 40).await;
        let mut scroll = Scroll::new(ME, How { still: false, ..How::pages(10) });
        page(&api, &mut scroll).await;
        let (first, last) = (before[4], before[9]);
        let shown = publish_all(&api, [1, 2, ME].map(|author| post_at(author, last.at - 1))).await;
        let too_new = publish_all(&api, [1, 2, ME].map(|author| post_at(author, first.at + 1))).await;
        let mut all = [&before[..], &shown, &too_new].concat();
        all.sort_by(|a, b| b.cmp(a));
        becomes(&api, ME, &all).await;
        rest(&api, &mut scroll).await;
        all.retain(|entry| !too_new.contains(entry));
        assert_eq!(scroll.entries(), all, "{settings:?}");
    }
}

async fn an_unfollow_between_pages_hides_the_rest_of_the_author(place: Place) {
    for settings in [&[][..], &SMALL] {
        let place = place.another().await;
        let api = place.serve(settings).await;
        let before = old_posts(&api, 60).await;
        let mut scroll = Scroll::new(ME, How { still: false, ..How::pages(7) });
        page(&api, &mut scroll).await;
        page(&api, &mut scroll).await;
        api.unfollow(ME, 2).await;
        rest(&api, &mut scroll).await;
        let rest = before[14..].iter().filter(|entry| entry.author != 2);
        let expected: Vec<_> = before[..14].iter().chain(rest).copied().collect();
        assert_eq!(scroll.entries(), expected, "{settings:?}");
    }
}

async fn a_follow_between_pages_shows_the_older_posts_of_the_author(place: Place) {
    for settings in [&[][..], &SMALL] {
        let place = place.another().await;
        let api = place.serve(settings).await;
        let mut before = old_posts(&api, 60).await;
        let joining = publish_all(&api, (0..20).map(|number| post_at(4, BEGIN + number * MILLISECOND))).await;
        let mut scroll = Scroll::new(ME, How { still: false, ..How::pages(7) });
        page(&api, &mut scroll).await;
        page(&api, &mut scroll).await;
        api.follow(ME, 4).await;
        rest(&api, &mut scroll).await;
        let last = before[13];
        before.extend(joining.into_iter().filter(|entry| *entry < last));
        before.sort_by(|a, b| b.cmp(a));
        assert_eq!(scroll.entries(), before, "{settings:?}");
    }
}

/// Neither the server that made a token nor the inbox that it was made from need be there any more.
async fn field_f7_a_token_outlives_servers_and_inboxes(place: Place) {
    for settings in [&[][..], &SMALL] {
        let place = place.another().await;
        let first = place.serve(settings).await;
        let mut expected = old_posts(&first, 60).await;
        let mut scrolls = Vec::new();
        for (by, pages) in [(By::Token, 1), (By::Token, 3), (By::Cursor, 1), (By::Cursor, 3)] {
            let mut scroll = Scroll::new(ME, How { by, still: false, ..How::pages(8) });
            for _ in 0..pages {
                page(&first, &mut scroll).await;
            }
            scrolls.push(scroll);
        }
        first.stop().await;
        expire_inbox(&place, ME).await;
        let second = place.serve(settings).await;
        for scroll in &mut scrolls {
            page(&second, scroll).await;
        }
        let arrived = publish_all(&second, (0..30).map(|_| post(1))).await;
        for scroll in &mut scrolls {
            rest(&second, scroll).await;
            assert_eq!(scroll.entries(), expected, "{settings:?}");
        }
        expected.splice(0..0, arrived);
        becomes(&second, ME, &expected).await;
        assert_eq!(feed(&second, ME).await, expected);
    }
}

on_each_backend!(
    field_f10_posts_between_pages_repeat_and_skip_nothing,
    posts_of_the_past_between_pages_come_in_their_place,
    an_unfollow_between_pages_hides_the_rest_of_the_author,
    a_follow_between_pages_shows_the_older_posts_of_the_author,
    field_f7_a_token_outlives_servers_and_inboxes,
);
