//! Calls of accounts that have nothing special, one after another, beside something else.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use socialgraph::v1::{
    FollowRequest, IsFollowingRequest, PublishPostRequest, ScrollFeedRequest, UnfollowRequest,
    social_graph_client::SocialGraphClient,
};
use tasks::Tasks;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use crate::{
    Result, calls, ids, stage,
    times::{Times, time},
};

type Graph = SocialGraphClient<Channel>;

const CALLER: u32 = 100;
const CALLED: u32 = 101;
const AUTHOR: u32 = 102;
const READER: u32 = 103;
const CALLERS: u64 = 10_000;
const AUTHORS: u64 = 20;
/// Followers of each author, with inboxes.
const READERS: u64 = 10;

/// What is called.
#[derive(Clone, Copy)]
pub(crate) enum Load {
    /// Follow, IsFollowing, Unfollow.
    Edges,
    /// PublishPost of authors with 10 followers, which is answered when all have the post.
    Posts,
}

impl Load {
    pub(crate) fn names(self) -> &'static [&'static str] {
        match self {
            Self::Edges => &["Follow", "IsFollowing", "Unfollow"],
            Self::Posts => &["PublishPost to 10 inboxes"],
        }
    }

    /// Writes what the calls are about.
    pub(crate) async fn prepare(graph: &Graph) -> Result<()> {
        let row = |reader: u64, author| {
            stage::row(ids::of_group(READER, author * READERS + reader), ids::of_group(AUTHOR, author))
        };
        let rows: Vec<_> =
            (0..AUTHORS).flat_map(|author| (0..READERS).map(move |reader| row(reader, author))).collect();
        let scrolls = rows.iter().map(|row| {
            let request = ScrollFeedRequest { user_id: row.follower_id, ..Default::default() };
            let mut graph = graph.clone();
            async move { graph.scroll_feed(request).await.map(|_| ()) }
        });
        let scrolls: Vec<_> = scrolls.collect();
        graph.clone().import_edges(stream::iter(rows)).await?;
        Ok(stream::iter(scrolls).buffer_unordered(8).try_collect::<()>().await?)
    }

    /// Calls until told to stop, and gives the times of each call.
    async fn run(self, graph: Graph, until: CancellationToken) -> Result<Vec<Times>> {
        let mut times = vec![Times::default(); self.names().len()];
        for n in 0.. {
            match self {
                Self::Edges => {
                    times[0].push(time(follow(&graph, n)).await?.0);
                    times[1].push(time(is_following(&graph, n)).await?.0);
                    times[2].push(time(unfollow(&graph, n)).await?.0);
                }
                Self::Posts => times[0].push(time(publish(&graph, n)).await?.0),
            }
            if until.is_cancelled() {
                break;
            }
        }
        Ok(times)
    }

    /// Does some work, with the calls beside it in a task of their own.
    pub(crate) async fn beside<T>(
        self,
        graph: &Graph,
        work: impl Future<Output = Result<T>>,
    ) -> Result<(T, Vec<Times>)> {
        let (tasks, graph) = (Tasks::new(), graph.clone());
        let (sender, times) = oneshot::channel();
        let until = tasks.token().clone();
        tasks.spawn_once("load", async move {
            let _nobody_waits = sender.send(self.run(graph, until).await);
        });
        let done = work.await;
        tasks.token().cancel();
        Ok((done?, times.await??))
    }

    /// The calls with nothing beside them.
    pub(crate) async fn alone(self, graph: &Graph, duration: Duration) -> Result<Vec<Times>> {
        let pause = async {
            tokio::time::sleep(duration).await;
            Ok(())
        };
        Ok(self.beside(graph, pause).await?.1)
    }

    /// Prints the times beside some work and those without it.
    pub(crate) fn print(self, work: &str, beside: &[Times], alone: &[Times]) {
        println!("  {:<28}{:>25}{:>21}", format!("us beside {work}"), "beside  p50      p99", "alone  p50      p99");
        for ((name, beside), alone) in self.names().iter().zip(beside).zip(alone) {
            println!(
                "  {name:<28}{:>16.0}{:>9.0}{:>12.0}{:>9.0}   ratio {:.2}, {:.2}",
                beside.median(),
                beside.percentile(99),
                alone.median(),
                alone.percentile(99),
                beside.median() / alone.median(),
                beside.percentile(99) / alone.percentile(99),
            );
        }
    }
}

fn pair(n: u64) -> (i64, i64) {
    (ids::of_group(CALLER, n % CALLERS), ids::of_group(CALLED, n * 7_919 % CALLERS))
}

async fn follow(graph: &Graph, n: u64) -> Result<()> {
    let (follower_id, followee_id) = pair(n);
    let request = FollowRequest { follower_id, followee_id, source: String::new() };
    calls::check(graph.clone().follow(request).await?.into_inner().created, "follow")
}

async fn is_following(graph: &Graph, n: u64) -> Result<()> {
    let (follower_id, followee_id) = pair(n);
    let request = IsFollowingRequest { follower_id, followee_id, consistency: None };
    calls::check(graph.clone().is_following(request).await?.into_inner().following, "is_following")
}

async fn unfollow(graph: &Graph, n: u64) -> Result<()> {
    let (follower_id, followee_id) = pair(n);
    let request = UnfollowRequest { follower_id, followee_id, feed_policy: 0 };
    calls::check(graph.clone().unfollow(request).await?.into_inner().removed, "unfollow")
}

async fn publish(graph: &Graph, n: u64) -> Result<()> {
    let author_id = ids::of_group(AUTHOR, n % AUTHORS);
    let request = PublishPostRequest { author_id, content: calls::content(), ..Default::default() };
    let audience = graph.clone().publish_post(request).await?.into_inner().audience;
    calls::check(audience.cast_unsigned() == READERS, "publish_post")
}
