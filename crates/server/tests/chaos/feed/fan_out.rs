//! FIELD F38: the server that publishes is killed while posts go out to thousands of inboxes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
    time::{Duration, Instant},
};

use futures::{
    StreamExt,
    future::{join, join_all},
    stream,
};
use localcluster::LocalCluster;
use rand::{Rng, SeedableRng, rngs::StdRng};
use socialgraph::v1::{ImportEdgesRequest, PublishPostRequest};
use tonic::Request;

use super::{fleet::Fleet, inboxes};
use crate::{
    feeds::{Entry, How},
    support::{redis, seed, turn, until},
};

const AUTHOR: i64 = 1;
const READERS: std::ops::Range<i64> = 1_000..3_000;
/// Who publish side by side, one post after another.
const PUBLISHERS: usize = 4;
const SIDE_BY_SIDE: usize = 32;
/// At least; and more until a kill has hit a fan-out in its middle.
const KILLS: usize = 2;
const MOST_KILLS: usize = 10;
const SETTINGS: [&str; 4] = ["--relay-lease", "1s", "--relay-min-age", "300ms"];
const PATIENCE: Duration = Duration::from_secs(30);

/// Posts by their request ids: where they are, if they were acknowledged.
type Told = Mutex<BTreeMap<String, Option<Entry>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn field_f38_killed_in_mid_fan_out_and_everyone_has_every_post_once() {
    let _turn = turn().await;
    let mut random = StdRng::seed_from_u64(seed());
    let cluster = redis::cluster().await;
    let fleet = Fleet::start(cluster.addresses(), 1, &SETTINGS).await;
    follow_and_scroll(&fleet).await;

    let told = Told::default();
    let (mut kills, mut halves) = (0, 0);
    while kills < KILLS || halves == 0 {
        assert!(kills < MOST_KILLS, "no kill hit a fan-out in its middle");
        let before: BTreeSet<_> = acknowledged(&told);
        publish_and_kill(&fleet, &told, before.len() + random.random_range(2..10), kills).await;
        kills += 1;
        let new: Vec<_> = acknowledged(&told).difference(&before).copied().collect();
        halves += in_the_middle(&cluster, &new).await;
        fleet.restart(0).await;
    }

    redis::quiescent(&cluster.addresses()).await;
    let feed = everywhere_the_same(&fleet, &told).await;
    for entry in &feed {
        let holding = inboxes::holding(&cluster, entry.post, entry.author).await;
        assert_eq!(holding, READERS.count(), "inboxes with {entry:?}");
    }
    fleet.stop().await;
    cluster.stop().await;
}

async fn follow_and_scroll(fleet: &Fleet) {
    let row = |follower_id| ImportEdgesRequest { follower_id, followee_id: AUTHOR, followed_at: None };
    let rows: Vec<_> = READERS.map(row).collect();
    let answer = fleet.call(rows, |mut c, r| async move {
        let (metadata, extensions, rows) = r.into_parts();
        c.import_edges(Request::from_parts(metadata, extensions, stream::iter(rows))).await
    });
    assert_eq!(answer.await.expect("import").message.created, READERS.count() as i64);
    stream::iter(READERS)
        .for_each_concurrent(SIDE_BY_SIDE, async |reader| {
            assert!(fleet.scroll(reader, How::pages(50)).await.is_empty());
        })
        .await;
}

fn acknowledged(told: &Told) -> BTreeSet<Entry> {
    told.lock().unwrap().values().copied().flatten().collect()
}

/// Publishes from several sides, and kills the server when so many posts were acknowledged in all.
async fn publish_and_kill(fleet: &Fleet, told: &Told, acknowledgements: usize, round: usize) {
    let publishing = join_all((0..PUBLISHERS).map(|publisher| publish(fleet, told, format!("{round}-{publisher}"))));
    let killing = async {
        until("posts are acknowledged", async || acknowledged(told).len() >= acknowledgements).await;
        fleet.kill(0).await;
    };
    join(publishing, killing).await;
}

/// Publishes until a call fails.
async fn publish(fleet: &Fleet, told: &Told, name: String) {
    for number in 0.. {
        let request_id = format!("{name}-{number}");
        let content = request_id.clone().into();
        let request =
            PublishPostRequest { author_id: AUTHOR, request_id: request_id.clone(), content, ..Default::default() };
        told.lock().unwrap().insert(request_id.clone(), None);
        let answer = fleet.attempt(request, |mut c, r| async move { c.publish_post(r).await }).await;
        let Some(answer) = answer else { return };
        let post = answer.expect("publish").post.expect("a post");
        told.lock().unwrap().insert(request_id, Some(Entry::of_post(&post)));
    }
}

/// How many acknowledged posts have reached some inboxes and not all.
async fn in_the_middle(cluster: &LocalCluster, posts: &[Entry]) -> usize {
    let mut reached = Vec::new();
    for post in posts {
        reached.push(inboxes::holding(cluster, post.post, post.author).await);
    }
    println!("when the server was killed, its posts had reached {reached:?} of {} inboxes", READERS.count());
    reached.into_iter().filter(|reached| (1..READERS.count()).contains(reached)).count()
}

/// Asserts that all feeds are that of the author, with all that was acknowledged and nothing that was not sent; and gives it.
async fn everywhere_the_same(fleet: &Fleet, told: &Told) -> Vec<Entry> {
    let shown = fleet.scroll(AUTHOR, How { view: socialgraph::v1::FeedView::Full, ..How::pages(100) }).await;
    let feed: Vec<_> = shown.iter().map(Entry::of_item).collect();
    let missing: Vec<_> = acknowledged(told).into_iter().filter(|entry| !feed.contains(entry)).collect();
    assert!(missing.is_empty(), "acknowledged and lost: {missing:?}");
    let mut names: Vec<_> = shown.iter().map(|item| item.post.as_ref().expect("a post").content.clone()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), shown.len(), "a request made two posts");
    let sent = told.lock().unwrap().clone();
    assert!(names.iter().all(|name| sent.contains_key(str::from_utf8(name).expect("a text"))));
    println!("{} posts sent, {} acknowledged, {} made", sent.len(), acknowledged(told).len(), feed.len());

    stream::iter(READERS).for_each_concurrent(SIDE_BY_SIDE, async |reader| becomes(fleet, reader, &feed).await).await;
    feed
}

async fn becomes(fleet: &Fleet, reader: i64, expected: &[Entry]) {
    let begun = Instant::now();
    let mut entries = Vec::new();
    until("a look at a feed", async || {
        let shown = fleet.scroll(reader, How::pages(100).beside_writes()).await;
        entries = shown.iter().map(Entry::of_item).collect();
        entries == expected || begun.elapsed() > PATIENCE
    })
    .await;
    assert_eq!(entries, expected, "feed of {reader}");
}
