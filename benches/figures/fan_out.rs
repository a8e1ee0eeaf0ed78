//! How fast a post comes to many inboxes, and what an entry of an inbox takes.

use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use keyspace::{Keyspace, PartitionCount};
use model::{FeedEntry, Micros, PostId};
use socialgraph::v1::{ImportEdgesRequest, PublishPostRequest, ScrollFeedRequest};

use crate::{
    Result, calls, slowlog,
    stage::{self, Stage},
};

const AUTHOR: i64 = 1;
const FIRST_READER: i64 = 1_000_000;
/// Followers of the author, each with an inbox.
const READERS: i64 = 20_000;
/// Posts of each kind.
const POSTS: u64 = 20;
/// Inboxes hold as many as the first posts, so that the next ones push entries out.
const CAP: &str = "20";
/// Commands of plain fred in flight.
const PIPELINE: usize = 512;
const DELIVERIES: &str = "socialgraph_fanout_deliveries_total{outcome=\"pushed\"}";

/// Publishes to many inboxes and prints what there is to tell.
pub(crate) async fn print() -> Result<()> {
    let (cluster, tasks) = (stage::start_cluster().await?, tasks::Tasks::new());
    let addresses = cluster.addresses();
    let stage = Stage::over(cluster, &addresses, tasks, &[("feed.inbox-cap", CAP)]).await?;
    prepare(&stage).await?;

    println!("\nFan-out: one author with {READERS} followers, each with an inbox of {CAP} entries at most.");
    println!(
        "Client, server and three Redis share the machine. Floor: plain fred with a ZADD an inbox, {PIPELINE} in flight.\n"
    );
    let empty = stage.nodes.used_memory().await?;
    let filling = publish(&stage).await?;
    let filled = stage.nodes.used_memory().await?;
    let full = publish(&stage).await?;
    let floor = floor(&stage).await?;
    for (name, rate) in [("inboxes that fill", filling), ("inboxes that are full", full)] {
        println!("  {name:<24}{rate:>9.0} deliveries/s; floor {floor:.0}/s; {:.0} % of it", 100.0 * rate / floor);
    }
    let entries = (READERS as u64 * POSTS) as f64;
    println!("  bytes an entry of an inbox in Redis: {:.1}, all keys counted", (filled - empty) as f64 / entries);
    slowlog::print(&stage.nodes).await?;
    stage.stop().await;
    Ok(())
}

async fn prepare(stage: &Stage) -> Result<()> {
    let readers = FIRST_READER..FIRST_READER + READERS;
    let rows = readers.clone().map(|reader| ImportEdgesRequest {
        follower_id: reader,
        followee_id: AUTHOR,
        followed_at: None,
    });
    let rows: Vec<_> = rows.collect();
    stage.graph.clone().import_edges(stream::iter(rows)).await?;
    let scrolls = readers.map(|user_id| {
        let mut graph = stage.graph.clone();
        async move { graph.scroll_feed(ScrollFeedRequest { user_id, ..Default::default() }).await.map(|_| ()) }
    });
    Ok(stream::iter(scrolls).buffer_unordered(64).try_collect::<()>().await?)
}

/// Publishes, one post after the other, and gives the deliveries a second until the last one.
async fn publish(stage: &Stage) -> Result<f64> {
    let started = Instant::now();
    let wanted = delivered() + POSTS * READERS as u64;
    for _ in 0..POSTS {
        let request = PublishPostRequest { author_id: AUTHOR, content: calls::content(), ..Default::default() };
        stage.graph.clone().publish_post(request).await?;
    }
    while delivered() < wanted {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok((POSTS * READERS as u64) as f64 / started.elapsed().as_secs_f64())
}

fn delivered() -> u64 {
    let text = stage::metrics();
    text.lines().find_map(|line| line.strip_prefix(DELIVERIES)?.trim().parse().ok()).unwrap_or(0)
}

/// As many bare ZADDs a second.
async fn floor(stage: &Stage) -> Result<f64> {
    let keys = Keyspace::new("raw", PartitionCount::DEFAULT)?;
    let author = calls::user(AUTHOR)?;
    let started = Instant::now();
    for post in 1..=POSTS as i64 {
        let member = FeedEntry { at: Micros::MIN, post: PostId::new(post)?, author }.member();
        let pushes = (FIRST_READER..FIRST_READER + READERS).map(|reader| {
            let keys = &keys;
            async move {
                let arguments = vec![post.into(), fred::types::Value::Bytes(member.to_vec().into())];
                stage.raw.command("ZADD", keys.inbox(calls::user(reader)?), arguments).await.map(|_| ())
            }
        });
        stream::iter(pushes).buffer_unordered(PIPELINE).try_collect::<()>().await?;
    }
    Ok((POSTS * READERS as u64) as f64 / started.elapsed().as_secs_f64())
}
