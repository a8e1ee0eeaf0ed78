use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use prost_types::Timestamp;
use socialgraph::v1::{FeedCursor, FeedView, PublishPostRequest, ScrollFeedRequest};

use super::{BAD_ENUMS, BAD_IDS, BAD_PAGE_SIZES, bad_times};
use crate::support::{Api, Instance, Place, Refusal, now, refused, stamp};

/// Most bytes of a post.
const MOST_BYTES: usize = 65_536;
/// The last millisecond that may be in a cursor.
const LAST_MILLI: i64 = 9_007_199_254_739;

/// A server with a follower and a post, and how the keyspace looks then.
async fn filled(place: &Place) -> (Instance, BTreeMap<String, String>) {
    let api = place.serve(&[]).await;
    api.follow(2, 1).await;
    api.publish(1, "a post").await;
    (api, place.snapshot().await)
}

async fn assert_untouched(place: &Place, api: &Api, before: BTreeMap<String, String>) {
    assert_eq!(place.snapshot().await, before, "something was written");
    assert_eq!((api.posts(1).await, api.posts(2).await), (1, 0));
}

fn attributes(pairs: impl IntoIterator<Item = (String, String)>) -> HashMap<String, String> {
    pairs.into_iter().collect()
}

fn one(key: &str, value: &str) -> HashMap<String, String> {
    attributes([(key.to_owned(), value.to_owned())])
}

fn numbered(attributes_in_all: usize) -> HashMap<String, String> {
    attributes((0..attributes_in_all).map(|number| (format!("key-{number}"), String::new())))
}

fn good_post() -> PublishPostRequest {
    PublishPostRequest { author_id: 1, content: "x".into(), ..PublishPostRequest::default() }
}

/// Posts of which one field is bad, and that field.
fn bad_posts() -> Vec<(&'static str, PublishPostRequest)> {
    let good = good_post();
    let mut bad = Vec::new();
    bad.extend(BAD_IDS.map(|author_id| ("author_id", PublishPostRequest { author_id, ..good.clone() })));
    for (content, attributes) in [
        (MOST_BYTES + 1, HashMap::new()),
        (MOST_BYTES - 5, one("key", "val")),
        (1, one("key", &"v".repeat(MOST_BYTES - 3))),
        (0, one("k", &"é".repeat(MOST_BYTES / 2))),
        (900_000, HashMap::new()),
    ] {
        let content = vec![b'x'; content].into();
        bad.push(("content", PublishPostRequest { content, attributes, ..good.clone() }));
    }
    for attributes in [numbered(65), numbered(1_000), one("", "x"), one(&"k".repeat(65), ""), one(&"é".repeat(33), "")]
    {
        bad.push(("attributes", PublishPostRequest { attributes, ..good.clone() }));
    }
    let ahead = stamp(now() + Duration::from_secs(70).as_micros() as i64);
    let early = stamp(999);
    let times =
        bad_times().chain([Some(early), Some(ahead), Some(Timestamp { seconds: 9_007_199_254, nanos: 740_992_000 })]);
    bad.extend(times.map(|published_at| ("published_at", PublishPostRequest { published_at, ..good.clone() })));
    for id in ["a b", " ", "a\n", "\0", "\x7f", "é", "\u{202e}", &"x".repeat(65), &"é".repeat(1_000)] {
        bad.push(("request_id", PublishPostRequest { request_id: id.to_owned(), ..good.clone() }));
    }
    bad.extend([-1, i64::MIN].map(|post_id| ("post_id", PublishPostRequest { post_id, ..good.clone() })));
    bad
}

async fn of_publish_post(place: Place) {
    let (api, before) = filled(&place).await;
    for (field, request) in bad_posts() {
        let size = request.content.len();
        let case = format!(
            "{field} {size} {:.200}",
            format!("{:?}", PublishPostRequest { content: "".into(), ..request.clone() })
        );
        refused(api.social().publish_post(request).await, &Refusal::fields(&[field]), case);
    }
    let all = PublishPostRequest {
        author_id: 0,
        content: vec![0; MOST_BYTES].into(),
        attributes: numbered(65),
        published_at: bad_times().next().flatten(),
        request_id: "a b".to_owned(),
        post_id: -1,
    };
    let fields = ["author_id", "content", "attributes", "published_at", "request_id", "post_id"];
    refused(api.social().publish_post(all).await, &Refusal::fields(&fields), "all");
    assert_untouched(&place, &api, before).await;
}

async fn the_largest_and_the_least_post_are_accepted(place: Place) {
    let api = place.serve(&[]).await;
    let pair = |number: usize| (format!("{number:064}"), "é".repeat(16));
    let largest = PublishPostRequest {
        content: vec![0xff; MOST_BYTES - 64 * (64 + 32)].into(),
        attributes: attributes((0..64).map(pair)),
        published_at: Some(Timestamp { seconds: 0, nanos: 1_000_000 }),
        request_id: "!~".repeat(32),
        post_id: i64::MAX,
        author_id: i64::MAX,
    };
    let post = api.publish_with(largest.clone()).await.post.unwrap();
    assert_eq!((post.content, post.attributes), (largest.content, largest.attributes));
    assert_eq!((post.post_id, post.author_id, post.published_at), (i64::MAX, i64::MAX, largest.published_at));
    let least = PublishPostRequest { author_id: 1, ..PublishPostRequest::default() };
    let post = api.publish_with(least).await.post.unwrap();
    assert!(post.content.is_empty() && post.attributes.is_empty() && post.post_id > 0);
    let soon = PublishPostRequest { published_at: Some(stamp(now() + 5_000_000)), ..good_post() };
    assert_eq!(api.publish_with(soon.clone()).await.post.unwrap().published_at, soon.published_at);
}

fn good_scroll() -> ScrollFeedRequest {
    ScrollFeedRequest { user_id: 2, ..ScrollFeedRequest::default() }
}

async fn of_scroll_feed(place: Place) {
    let (api, before) = filled(&place).await;
    let good = good_scroll();
    let ask = async |request: ScrollFeedRequest, expected: &[&str]| {
        refused(api.social().scroll_feed(request.clone()).await, &Refusal::fields(expected), request);
    };
    for user_id in BAD_IDS {
        ask(ScrollFeedRequest { user_id, ..good.clone() }, &["user_id"]).await;
    }
    for page_size in BAD_PAGE_SIZES {
        ask(ScrollFeedRequest { page_size, ..good.clone() }, &["page_size"]).await;
    }
    for view in BAD_ENUMS.into_iter().chain([3]) {
        ask(ScrollFeedRequest { view, ..good.clone() }, &["view"]).await;
    }
    let at = |max_time_ms, offset| Some(FeedCursor { max_time_ms, offset });
    for max_time_ms in [0, -1, i64::MIN, LAST_MILLI + 1, i64::MAX / 1_000, i64::MAX] {
        ask(ScrollFeedRequest { cursor: at(max_time_ms, 0), ..good.clone() }, &["cursor.max_time_ms"]).await;
    }
    for offset in [-1, i32::MIN] {
        ask(ScrollFeedRequest { cursor: at(1, offset), ..good.clone() }, &["cursor.offset"]).await;
    }
    for page_token in ["x", " "] {
        let both = ScrollFeedRequest { page_token: page_token.to_owned(), cursor: at(1, 0), ..good.clone() };
        ask(both, &["cursor"]).await;
    }
    let all = ScrollFeedRequest {
        user_id: 0,
        page_size: -1,
        page_token: "x".to_owned(),
        cursor: at(0, -1),
        view: 3,
        consistency: None,
    };
    ask(all, &["user_id", "page_size", "cursor", "cursor.max_time_ms", "cursor.offset", "view"]).await;
    assert_untouched(&place, &api, before).await;
}

async fn the_first_and_the_last_cursor_are_accepted(place: Place) {
    let (api, _) = filled(&place).await;
    let at = |max_time_ms, offset| Some(FeedCursor { max_time_ms, offset });
    for (cursor, items) in [(at(1, 0), 0), (at(LAST_MILLI, 0), 1), (at(LAST_MILLI, i32::MAX), 1)] {
        let page = api.scroll(ScrollFeedRequest { cursor, view: FeedView::Full.into(), ..good_scroll() }).await;
        assert_eq!((page.items.len(), page.end_of_feed), (items, true), "{cursor:?}");
    }
}

on_each_backend!(
    of_publish_post,
    of_scroll_feed,
    the_first_and_the_last_cursor_are_accepted,
    the_largest_and_the_least_post_are_accepted,
);
