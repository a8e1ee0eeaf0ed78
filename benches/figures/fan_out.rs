//! How fast a post comes to many inboxes, and what an entry of an inbox takes.

use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use keyspace::{Keyspace, PartitionCount};
use model::{FeedEntry, Micros, PostId};
use socialgraph::v1::{PublishPostRequest, ScrollFeedRequest, social_graph_client::SocialGraphClient};
use tonic::{Code, transport::Channel};

use crate::{
    Result, calls, slowlog,
    stage::{self, Stage},
};

const AUTHOR: i64 = 1;
const FIRST_READER: i64 = 1_000_000;
/// Commands of plain fred in flight.
const PIPELINE: usize = 512;
const DELIVERIES: &str = "socialgraph_fanout_deliveries_total{outcome=\"pushed\"}";

/// Posts that are published side by side.
const SIDE_BY_SIDE: usize = 4;

/// A large audience, and a smaller one with inboxes of several segments.
const MANY: Audience = Audience { readers: 20_000, posts: 20 };
const FEWER: Audience = Audience { readers: 2_000, posts: 256 };

/// An author's followers, each with an inbox that holds as many posts as are published at first. The same number again pushes
/// those out.
#[derive(Clone, Copy)]
struct Audience {
    readers: i64,
    posts: u64,
}

/// Publishes to inboxes and prints what there is to tell.
pub(crate) async fn print() -> Result<()> {
    println!(
        "\nFan-out: one author whose followers have an inbox each. Client, server and three Redis share the machine."
    );
    println!("Floor: plain fred with a ZADD an inbox, {PIPELINE} in flight.");
    for audience in [MANY, FEWER] {
        audience.print().await?;
    }
    Ok(())
}

impl Audience {
    async fn print(self) -> Result<()> {
        let (cluster, tasks) = (stage::start_cluster().await?, tasks::Tasks::new());
        let (addresses, cap) = (cluster.addresses(), self.posts.to_string());
        let stage = Stage::over(cluster, &addresses, tasks, &[("feed.inbox-cap", &cap), ("feed.pull-at", "0")]).await?;
        self.prepare(&stage).await?;

        println!("\n  {} followers, inboxes of {cap} posts at most:", self.readers);
        let empty = stage.nodes.used_memory().await?;
        let filling = self.publish(&stage).await?;
        let filled = stage.nodes.used_memory().await?;
        let full = self.publish(&stage).await?;
        slowlog::print(&stage.nodes).await?;
        let floor = self.floor(&stage).await?;
        for (name, rate) in [("inboxes that fill", filling), ("inboxes that are full", full)] {
            println!("  {name:<24}{rate:>9.0} deliveries/s; floor {floor:.0}/s; {:.0} % of it", 100.0 * rate / floor);
        }
        let bytes = (filled - empty) as f64 / self.deliveries() as f64;
        println!("  bytes an entry of an inbox in Redis: {bytes:.1}, all keys counted, the posts as well");
        stage.stop().await;
        Ok(())
    }

    fn deliveries(self) -> u64 {
        self.readers.unsigned_abs() * self.posts
    }

    fn readers(self) -> impl Iterator<Item = i64> {
        FIRST_READER..FIRST_READER + self.readers
    }

    async fn prepare(self, stage: &Stage) -> Result<()> {
        stage.import(self.readers().map(|reader| (reader, AUTHOR))).await?;
        let scrolls = self.readers().map(|user_id| {
            let mut graph = stage.graph.clone();
            async move { graph.scroll_feed(ScrollFeedRequest { user_id, ..Default::default() }).await.map(|_| ()) }
        });
        Ok(stream::iter(scrolls).buffer_unordered(64).try_collect::<()>().await?)
    }

    /// Publishes, and gives the deliveries a second until the last one.
    async fn publish(self, stage: &Stage) -> Result<f64> {
        let started = Instant::now();
        let wanted = stage::counter(DELIVERIES) + self.deliveries();
        let posts = (0..self.posts).map(|_| {
            let request = PublishPostRequest { author_id: AUTHOR, content: calls::content(), ..Default::default() };
            let mut graph = stage.graph.clone();
            async move { publish_until_taken(&mut graph, request).await }
        });
        stream::iter(posts).buffer_unordered(SIDE_BY_SIDE).try_collect::<()>().await?;
        while stage::counter(DELIVERIES) < wanted {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(self.deliveries() as f64 / started.elapsed().as_secs_f64())
    }

    /// As many bare ZADDs, a second.
    async fn floor(self, stage: &Stage) -> Result<f64> {
        let keys = Keyspace::new("raw", PartitionCount::DEFAULT)?;
        let author = calls::user(AUTHOR)?;
        let started = Instant::now();
        for post in 1..=self.posts.cast_signed() {
            let member = FeedEntry { at: Micros::MIN, post: PostId::new(post)?, author }.member();
            let pushes = self.readers().map(|reader| {
                let keys = &keys;
                async move {
                    let arguments = vec![post.into(), fred::types::Value::Bytes(member.to_vec().into())];
                    stage.raw.command("ZADD", keys.inbox(calls::user(reader)?), arguments).await.map(|_| ())
                }
            });
            stream::iter(pushes).buffer_unordered(PIPELINE).try_collect::<()>().await?;
        }
        Ok(self.deliveries() as f64 / started.elapsed().as_secs_f64())
    }
}

/// As long as too many posts are on the way, tries again.
async fn publish_until_taken(graph: &mut SocialGraphClient<Channel>, request: PublishPostRequest) -> Result<()> {
    loop {
        match graph.publish_post(request.clone()).await {
            Err(status) if status.code() == Code::ResourceExhausted => {}
            answer => return Ok(answer.map(|_| ())?),
        }
    }
}
