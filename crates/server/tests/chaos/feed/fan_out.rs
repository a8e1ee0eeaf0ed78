//! FIELD F38: the server that publishes is killed, or told to stop, while posts go out to thousands of inboxes.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
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
use tokio::time::sleep;
use tonic::Request;

use super::{fleet::Fleet, inboxes};
use crate::{
    feeds::{Entry, How},
    support::{redis, seed, turn, until},
};

const AUTHOR: i64 = 1;
const READERS: Range<i64> = 1_000..3_000;
/// Who publish side by side, one post after another.
const PUBLISHERS: i64 = 4;
const SIDE_BY_SIDE: usize = 32;
/// After a call that failed.
const PAUSE: Duration = Duration::from_millis(20);
/// Ids of one round.
const IDS: i64 = 1_000_000;
const PATIENCE: Duration = Duration::from_secs(30);

/// Posts by their ids: where they are, if they were acknowledged.
type Told = Mutex<BTreeMap<i64, Option<Entry>>>;

/// How the server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    InOrder,
    Killed,
}

const ENDS: [End; 3] = [End::InOrder, End::Killed, End::Killed];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn field_f38_killed_in_mid_fan_out_and_everyone_has_every_post_once() {
    let _turn = turn().await;
    let mut random = StdRng::seed_from_u64(seed());
    let cluster = redis::cluster().await;
    let fleet = Fleet::start(cluster.addresses(), 1, &[]).await;
    follow_and_scroll(&fleet).await;

    let run = Run { cluster: &cluster, fleet: &fleet, told: Told::default() };
    // A first post, which tells the node of the author.
    publish(&fleet, &run.told, 1..2, &AtomicBool::new(false)).await;
    for (round, end) in (1..).zip(ENDS) {
        let acknowledgements = random.random_range(3..12);
        let unfinished = run.round(round, end, acknowledgements).await;
        let begun: Vec<_> = unfinished.iter().filter(|reached| **reached > 0).collect();
        println!(
            "{end:?}: {} acknowledged posts had not reached all; some had reached so many: {begun:?}",
            unfinished.len()
        );
        assert!(end == End::InOrder || !unfinished.is_empty(), "not in the middle");
        fleet.restart(0).await;
    }

    redis::quiescent(&cluster.addresses()).await;
    let feed = everywhere_the_same(&fleet, &run.told).await;
    for entry in &feed {
        let holding = inboxes::holding(&cluster, entry.post, entry.author).await;
        assert_eq!(holding, READERS.count() + 1, "inboxes with {entry:?}, the author's among them");
    }
    fleet.stop().await;
    cluster.stop().await;
}

async fn follow_and_scroll(fleet: &Fleet<'_>) {
    let row = |follower_id| ImportEdgesRequest {
        follower_id,
        followee_id: AUTHOR,
        followed_at: None,
        import_id: String::new(),
    };
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
    round * IDS..(round + 1) * IDS
}

struct Run<'a> {
    cluster: &'a LocalCluster,
    fleet: &'a Fleet<'a>,
    told: Told,
}

impl Run<'_> {
    /// Publishes until the server ends. Gives the acknowledged posts that have not reached all: how many inboxes know each.
    async fn round(&self, round: i64, end: End, acknowledgements: usize) -> Vec<usize> {
        // An author may have only so many posts on the way.
        redis::quiescent(&self.cluster.addresses()).await;
        let node = inboxes::node_of(self.cluster, AUTHOR).await;
        self.publish_until_the_end(round, end, acknowledgements, node).await;
        self.unfinished(round).await
    }

    /// Publishes from several sides, and ends the server when so many posts were acknowledged, and one has reached a node.
    async fn publish_until_the_end(&self, round: i64, end: End, acknowledgements: usize, node: usize) {
        let ids = |publisher| ids(round).skip(publisher as usize).step_by(PUBLISHERS as usize);
        let stop = AtomicBool::new(false);
        let publishers = (0..PUBLISHERS).map(|publisher| publish(self.fleet, &self.told, ids(publisher), &stop));
        let target = acknowledged(&self.told).len() + acknowledgements;
        let ending = async {
            until("posts are acknowledged", async || acknowledged(&self.told).len() >= target).await;
            // Not the first one: they have their turns in the order of their commits.
            until("one goes out", async || {
                let first = self.acknowledged_in(round).into_iter().take(8);
                let holding = first.map(|post| inboxes::holding_at(self.cluster, node, post, AUTHOR));
                join_all(holding).await.into_iter().any(|inboxes| inboxes > 1)
            })
            .await;
            match end {
                End::Killed => self.fleet.kill(0).await,
                End::InOrder => self.fleet.terminate(0).await,
            }
            stop.store(true, Ordering::Relaxed);
        };
        join(join_all(publishers), ending).await;
    }

    fn acknowledged_in(&self, round: i64) -> Vec<i64> {
        let told = self.told.lock().unwrap();
        told.range(ids(round)).filter(|(_, place)| place.is_some()).map(|(post, _)| *post).collect()
    }

    async fn unfinished(&self, round: i64) -> Vec<usize> {
        let mut unfinished = Vec::new();
        for post in self.acknowledged_in(round) {
            let reached = inboxes::holding(self.cluster, post, AUTHOR).await;
            unfinished.extend((reached < READERS.count()).then_some(reached));
        }
        unfinished
    }
}

/// Publishes until told to stop.
async fn publish(fleet: &Fleet<'_>, told: &Told, ids: impl Iterator<Item = i64>, stop: &AtomicBool) {
    for post_id in ids.take_while(|_| !stop.load(Ordering::Relaxed)) {
        let content = post_id.to_string().into();
        let request = PublishPostRequest { author_id: AUTHOR, post_id, content, ..Default::default() };
        told.lock().unwrap().insert(post_id, None);
        let answer = fleet.attempt(request, |mut c, r| async move { c.publish_post(r).await }).await;
        let Some(answer) = answer else {
            // Perhaps it was made. The server may be dead; there is no hurry.
            sleep(PAUSE).await;
            continue;
        };
        let post = answer.expect("publish").post.expect("a post");
        told.lock().unwrap().insert(post_id, Some(Entry::of_post(&post)));
    }
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
