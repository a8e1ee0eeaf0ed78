//! The calls of the feed in short, and a look at inboxes past the service.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{StreamExt, stream};
use model::{PostId, UserId};
use socialgraph::v1::PublishPostRequest;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::{
    feeds::{Entry, How, Scroll},
    support::{Api, Place, eventually, stamp},
};

/// Long ago, in microseconds: on the border of a millisecond.
pub(crate) const BEGIN: i64 = 1_600_000_000_000_000;
pub(crate) const MILLISECOND: i64 = 1_000;
pub(crate) const SECOND: i64 = 1_000_000;

/// How long a post may take to reach a few followers on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A post of now.
pub(crate) fn post(author_id: i64) -> PublishPostRequest {
    PublishPostRequest { author_id, content: Bytes::from_static(b"hello"), ..Default::default() }
}

/// A post with its time in microseconds.
pub(crate) fn post_at(author_id: i64, at: i64) -> PublishPostRequest {
    PublishPostRequest { published_at: Some(stamp(at)), ..post(author_id) }
}

/// Publishes a new post and gives its place.
pub(crate) async fn publish(api: &Api, request: PublishPostRequest) -> Entry {
    let answer = api.publish_with(request).await;
    assert!(answer.created, "{answer:?}");
    Entry::of_post(&answer.post.expect("a post"))
}

/// Publishes new posts, several at a time, and gives their places, newest first.
pub(crate) async fn publish_all(api: &Api, requests: impl IntoIterator<Item = PublishPostRequest>) -> Vec<Entry> {
    let published = stream::iter(requests).map(|request| publish(api, request)).buffer_unordered(16);
    newest_first(published.collect::<Vec<_>>().await)
}

pub(crate) fn newest_first(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_unstable_by(|a, b| b.cmp(a));
    entries
}

/// Reads the next page.
pub(crate) async fn page(api: &Api, scroll: &mut Scroll) {
    let request = scroll.request();
    let answer = api.social().scroll_feed(request.clone()).await;
    scroll.take(answer.unwrap_or_else(|status| panic!("{request:?}: {status:?}")).into_inner());
}

/// Reads to the end.
pub(crate) async fn rest(api: &Api, scroll: &mut Scroll) {
    while !scroll.ended {
        page(api, scroll).await;
    }
}

/// Reads a whole feed.
pub(crate) async fn scrolled(api: &Api, user: i64, how: How) -> Scroll {
    let mut scroll = Scroll::new(user, how);
    rest(api, &mut scroll).await;
    scroll
}

/// A whole feed, as it is now.
pub(crate) async fn feed(api: &Api, user: i64) -> Vec<Entry> {
    scrolled(api, user, How::pages(100).beside_writes()).await.entries()
}

/// Waits until the posts in flight have arrived; then the feed must be this one.
pub(crate) async fn becomes(api: &Api, user: i64, expected: &[Entry]) {
    let begin = Instant::now();
    eventually("the feed is as it must be", async || {
        (begin.elapsed() > PATIENCE || feed(api, user).await == expected).then_some(())
    })
    .await;
    assert_eq!(scrolled(api, user, How::pages(50)).await.entries(), expected, "feed of {user}");
}

/// Asserts that an id was used for another post.
#[track_caller]
pub(crate) fn assert_reused<T: std::fmt::Debug>(answer: Result<T, Status>) {
    let status = answer.expect_err("must be refused");
    let reason = status.get_details_error_info().map(|info| info.reason);
    assert_eq!((status.code(), reason.as_deref()), (Code::AlreadyExists, Some("REQUEST_ID_REUSED")), "{status:?}");
}

fn id(user: i64) -> UserId {
    UserId::new(user).expect("an id")
}

/// The two keys of a user's inbox: its entries, and the facts of it.
pub(crate) fn inbox_keys(place: &Place, user: i64) -> [String; 2] {
    let keys = place.keys();
    [keys.inbox(id(user)), keys.feed(id(user))].map(|key| key.to_string())
}

/// How many entries a user's inbox holds in Redis, its sentinel among them; 0 if there is none.
pub(crate) async fn inbox_len(place: &Place, user: i64) -> usize {
    place.redis.command(&["ZCARD", &inbox_keys(place, user)[0]]).await.parse().expect("a number")
}

/// Removes a user's inbox, as its time to live does.
pub(crate) async fn expire_inbox(place: &Place, user: i64) {
    let [inbox, feed] = inbox_keys(place, user);
    place.redis.command(&["DEL", &inbox, &feed]).await;
}

/// Removes a post past the service, so that its id dangles in timelines and inboxes.
pub(crate) async fn lose(place: &Place, post: Entry) {
    let key = place.keys().post(id(post.author), PostId::new(post.post).expect("an id")).to_string();
    assert_eq!(place.redis.command(&["DEL", &key]).await, "1", "{key}");
}
