//! A follow of which only the first half is done: the author's primary did not answer.

use std::time::Duration;

use futures::future::join_all;
use localcluster::LocalCluster;
use socialgraph::v1::{FollowRequest, PublishPostRequest, ScrollFeedRequest};

use crate::{
    feeds::{By, Entry, How, Scroll},
    support::{LIMIT, caller::Caller, process::Process, redis, turn},
    takeover::users_at,
};

/// The relay leaves the second half to be done.
const SLOW: [&str; 2] = ["--relay-min-age", "5m"];
const QUICK: [&str; 4] = ["--relay-min-age", "100ms", "--relay-interval", "100ms"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pending_follow_shows_what_was_posted_before_and_what_is_posted_meanwhile() {
    let _turn = turn().await;
    let cluster = redis::cluster().await;
    let server = Process::serve(&cluster.addresses(), &SLOW).await;
    let caller = Caller::new(server.grpc, Duration::from_secs(20));
    let node = |index: usize| cluster.nodes()[index].address().to_string();
    let [warm, cold] = users_at(server.admin_grpc, &node(0), 2).await.try_into().expect("two");
    let author = users_at(server.admin_grpc, &node(1), 1).await[0];
    let mut expected = Vec::new();
    for _ in 0..5 {
        expected.insert(0, publish(&caller, author).await);
    }
    assert_eq!(feed(&caller, warm).await, []);

    cluster.pause(1).await.expect("pause");
    let follows = join_all([warm, cold].map(|reader| follow(&caller, reader, author))).await;
    assert_eq!(follows, [true; 2], "the second half cannot be done");
    join_all([warm, cold].map(|reader| assert_not_complete(&caller, reader))).await;
    restart(&cluster).await;
    // The author does not know that they are followed.
    for round in 0..3 {
        for reader in [warm, cold] {
            assert_eq!(feed(&caller, reader).await, expected, "{round}, while the follow is pending");
        }
        expected.insert(0, publish(&caller, author).await);
    }
    server.stop().await;

    let server = Process::serve(&cluster.addresses(), &QUICK).await;
    let caller = Caller::new(server.grpc, Duration::from_secs(20));
    for round in 0..2 {
        redis::quiescent(&cluster.addresses()).await;
        for reader in [warm, cold] {
            assert_eq!(feed(&caller, reader).await, expected, "{round}, afterwards");
        }
        expected.insert(0, publish(&caller, author).await);
    }
    server.stop().await;
    cluster.stop().await;
}

/// What was sent to the paused primary waits there, and would be done if it went on.
async fn restart(cluster: &LocalCluster) {
    cluster.kill(1).await.expect("kill");
    cluster.restart(1).await.expect("restart");
    cluster.settle(LIMIT).await.expect("healthy again");
}

/// Follows, and tells whether the second half is pending.
async fn follow(caller: &Caller, follower_id: i64, followee_id: i64) -> bool {
    let request = FollowRequest { follower_id, followee_id, ..Default::default() };
    caller.call(request, |mut c, r| async move { c.follow(r).await }).await.message.followers_pending
}

async fn publish(caller: &Caller, author_id: i64) -> Entry {
    let request = PublishPostRequest { author_id, ..Default::default() };
    let answer = caller.call(request, |mut c, r| async move { c.publish_post(r).await }).await;
    Entry::of_post(&answer.message.post.expect("a post"))
}

async fn feed(caller: &Caller, reader: i64) -> Vec<Entry> {
    let mut scroll = Scroll::new(reader, How { by: By::Either, ..How::pages(3) });
    while !scroll.ended {
        let request = scroll.request();
        scroll.take(caller.call(request, |mut c, r| async move { c.scroll_feed(r).await }).await.message);
    }
    scroll.entries()
}

/// The author's posts cannot be read: a scroll may fail, or give what it has, but not claim that this is all.
async fn assert_not_complete(caller: &Caller, user_id: i64) {
    let mut request = tonic::Request::new(ScrollFeedRequest { user_id, ..Default::default() });
    request.set_timeout(Duration::from_secs(2));
    if let Ok(answer) = caller.client.clone().scroll_feed(request).await {
        let page = answer.into_inner();
        assert!(!page.end_of_feed, "posts cannot be read, and yet there are none: {page:?}");
    }
}
