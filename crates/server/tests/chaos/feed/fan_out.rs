//! FIELD F38: the server that publishes is killed while posts go out to thousands of inboxes.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
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
const READERS: Range<i64> = 1_000..3_000;
/// Who publish side by side, one post after another: so many that answers do not wait for the end of the fan-out.
const PUBLISHERS: i64 = 16;
const SIDE_BY_SIDE: usize = 32;
/// At least; and more until a kill has hit a fan-out in its middle.
const KILLS: usize = 2;
const MOST_KILLS: usize = 10;
const PATIENCE: Duration = Duration::from_secs(30);

/// Posts by their ids: where they are, if they were acknowledged.
type Told = Mutex<BTreeMap<i64, Option<Entry>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn field_f38_killed_in_mid_fan_out_and_everyone_has_every_post_once() {
    let _turn = turn().await;
    let mut random = StdRng::seed_from_u64(seed());
    let cluster = redis::cluster().await;
    let fleet = Fleet::start(cluster.addresses(), 1, &[]).await;
    follow_and_scroll(&fleet).await;

    let told = Told::default();
    let (mut kills, mut halves) = (0, 0);
    while kills < KILLS || halves == 0 {
        assert!(kills < MOST_KILLS, "no kill hit a fan-out in its middle");
        kills += 1;
        publish_and_kill(&fleet, &told, random.random_range(5..50), kills as i64).await;
        halves += in_the_middle(&cluster, &told, kills as i64).await;
        fleet.restart(0).await;
    }

    redis::quiescent(&cluster.addresses()).await;
    let feed = everywhere_the_same(&fleet, &told).await;
    for entry in &feed {
        let holding = inboxes::holding(&cluster, entry.post, entry.author).await;
        assert_eq!(holding, READERS.count() + 1, "inboxes with {entry:?}, the author's among them");
    }
    fleet.stop().await;
    cluster.stop().await;
}

async fn follow_and_scroll(fleet: &Fleet<'_>) {
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

/// The ids of posts of a round.
fn ids(round: i64) -> Range<i64> {
    round * 1_000_000..(round + 1) * 1_000_000
}

/// Publishes from several sides, and kills the server when so many posts were acknowledged.
async fn publish_and_kill(fleet: &Fleet<'_>, told: &Told, acknowledgements: usize, round: i64) {
    let ids = |publisher| ids(round).skip(publisher as usize).step_by(PUBLISHERS as usize);
    let publishing = join_all((0..PUBLISHERS).map(|publisher| publish(fleet, told, ids(publisher))));
    let target = acknowledged(told).len() + acknowledgements;
    let killing = async {
        until("posts are acknowledged", async || acknowledged(told).len() >= target).await;
        fleet.kill(0).await;
    };
    join(publishing, killing).await;
}

/// Publishes until a call fails.
async fn publish(fleet: &Fleet<'_>, told: &Told, ids: impl Iterator<Item = i64>) {
    for post_id in ids {
        let content = post_id.to_string().into();
        let request = PublishPostRequest { author_id: AUTHOR, post_id, content, ..Default::default() };
        told.lock().unwrap().insert(post_id, None);
        let answer = fleet.attempt(request, |mut c, r| async move { c.publish_post(r).await }).await;
        let Some(answer) = answer else { return };
        let post = answer.expect("publish").post.expect("a post");
        told.lock().unwrap().insert(post_id, Some(Entry::of_post(&post)));
    }
}

/// How many posts of a round have reached some inboxes and not all.
async fn in_the_middle(cluster: &LocalCluster, told: &Told, round: i64) -> usize {
    let sent = told.lock().unwrap().clone();
    let mut reached = Vec::new();
    for (post, acknowledged) in sent.range(ids(round)) {
        reached.push((inboxes::holding(cluster, *post, AUTHOR).await, acknowledged.is_some()));
    }
    let some = |reached: usize| (1..READERS.count()).contains(&reached);
    let halves: Vec<_> = reached.iter().filter(|(reached, _)| some(*reached)).collect();
    println!(
        "killed with {} posts sent; these had reached some of {} inboxes (and were acknowledged): {halves:?}",
        reached.len(),
        READERS.count()
    );
    halves.len()
}

/// Asserts that all feeds are that of the author, with all that was acknowledged and nothing that was not sent; and gives it.
async fn everywhere_the_same(fleet: &Fleet<'_>, told: &Told) -> Vec<Entry> {
    let shown = fleet.scroll(AUTHOR, How { view: socialgraph::v1::FeedView::Full, ..How::pages(100) }).await;
    let feed: Vec<_> = shown.iter().map(Entry::of_item).collect();
    let missing: Vec<_> = acknowledged(told).into_iter().filter(|entry| !feed.contains(entry)).collect();
    assert!(missing.is_empty(), "acknowledged and lost: {missing:?}");
    let sent = told.lock().unwrap().clone();
    for post in shown.into_iter().filter_map(|item| item.post) {
        assert!(sent.contains_key(&post.post_id) && post.content == post.post_id.to_string(), "{post:?}");
    }
    println!("{} posts sent, {} acknowledged, {} made", sent.len(), acknowledged(told).len(), feed.len());

    stream::iter(READERS).for_each_concurrent(SIDE_BY_SIDE, async |reader| becomes(fleet, reader, &feed).await).await;
    feed
}

async fn becomes(fleet: &Fleet<'_>, reader: i64, expected: &[Entry]) {
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
