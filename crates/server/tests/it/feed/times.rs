//! Posts of one time, of the past and of the future.

use socialgraph::v1::FeedView;

use super::support::{
    BEGIN, MILLISECOND, SECOND, becomes, feed, newest_first, page, post, post_at, publish, publish_all, rest, scrolled,
};
use crate::{
    feeds::{By, How, Scroll},
    support::{Place, Refusal, eventually, now, refused},
};

const READER: i64 = 2;
const SMALL: [(&str, &str); 1] = [("feed.inbox-cap", "10")];

async fn field_f1_fifty_posts_of_one_time_are_all_there_once(place: Place) {
    for (step, settings) in [(0, &[][..]), (0, &SMALL), (MILLISECOND / 50, &[]), (MILLISECOND / 50, &SMALL)] {
        let place = place.another().await;
        let api = place.serve(settings).await;
        api.follow(READER, 1).await;
        assert_eq!(feed(&api, READER).await, []);
        let published = publish_all(&api, (0..50).map(|number| post_at(1, BEGIN + number * step))).await;
        for user in [1, READER] {
            becomes(&api, user, &published).await;
            for (page_size, by) in [(1, By::Token), (1, By::Cursor), (7, By::Either), (49, By::Cursor), (50, By::Token)]
            {
                let how = How { by, view: FeedView::Full, ..How::pages(page_size) };
                assert_eq!(scrolled(&api, user, how).await.entries(), published, "{how:?}, {settings:?}");
            }
        }
    }
}

/// A post from the future is above those of now until its time has come, and no longer.
async fn field_f15_a_post_from_the_future_does_not_stay_on_top(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(READER, 1).await;
    let old = publish_all(&api, (0..5).map(|number| post_at(1, BEGIN + number))).await;
    let too_far = api.social().publish_post(post_at(1, now() + 11 * SECOND)).await;
    refused(too_far, &Refusal::fields(&["published_at"]), "11 s ahead");
    let future = publish(&api, post_at(1, now() + 2 * SECOND)).await;
    let expected = [&[future], &old[..]].concat();
    becomes(&api, READER, &expected).await;

    // It does not keep others from whoever has seen it.
    let mut scroll = Scroll::new(READER, How { still: false, ..How::pages(1) });
    page(&api, &mut scroll).await;
    let present = publish(&api, post(1)).await;
    if present.at < future.at {
        let expected = [&[future, present], &old[..]].concat();
        becomes(&api, READER, &expected).await;
        rest(&api, &mut scroll).await;
        assert_eq!(scroll.entries(), expected);
    }

    eventually("its time has come", async || (now() > future.at).then_some(())).await;
    let newest = publish(&api, post(1)).await;
    let expected = newest_first([&[future, present, newest], &old[..]].concat());
    assert_eq!(expected[0], newest);
    becomes(&api, READER, &expected).await;
}

/// Hours late or years: whether its place is in the inbox, just below it, or at the very end.
async fn field_f16_a_late_post_sinks_to_its_place(place: Place) {
    let api = place.serve(&SMALL).await;
    for author in [1, 3] {
        api.follow(READER, author).await;
    }
    let mut expected =
        publish_all(&api, (0..60).map(|number| post_at([1, 3][number as usize % 2], BEGIN + number * 60 * SECOND)))
            .await;
    becomes(&api, READER, &expected).await;
    for place_in_feed in [0, 1, 5, 9, 10, 11, 12, 30, 58, 59] {
        let near = expected[place_in_feed];
        for (author, at) in [(1, near.at - 1), (3, near.at), (READER, near.at - 30 * SECOND)] {
            expected.push(publish(&api, post_at(author, at)).await);
        }
    }
    expected.push(publish(&api, post_at(1, 1_000)).await);
    let expected = newest_first(expected);
    becomes(&api, READER, &expected).await;
    let how = How { by: By::Cursor, ..How::pages(9) };
    assert_eq!(scrolled(&api, READER, how).await.entries(), expected);
}

/// The first posts that there can be, in the first milliseconds that cursors count.
async fn the_earliest_posts_are_reached(place: Place) {
    for settings in [&[][..], &SMALL] {
        let place = place.another().await;
        let api = place.serve(settings).await;
        api.follow(READER, 1).await;
        let published =
            publish_all(&api, [1_000, 1_000, 1_001, 1_500, 1_999, 2_000, 2_001].map(|at| post_at(1, at))).await;
        becomes(&api, READER, &published).await;
        for (page_size, by) in [(1, By::Token), (1, By::Cursor), (3, By::Token), (3, By::Cursor)] {
            let how = How { by, ..How::pages(page_size) };
            assert_eq!(scrolled(&api, READER, how).await.entries(), published, "{how:?}, {settings:?}");
        }
    }
}

on_each_backend!(
    the_earliest_posts_are_reached,
    field_f1_fifty_posts_of_one_time_are_all_there_once,
    field_f15_a_post_from_the_future_does_not_stay_on_top,
    field_f16_a_late_post_sinks_to_its_place,
);
