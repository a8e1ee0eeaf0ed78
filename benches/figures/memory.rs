//! What an edge and an entry of an inbox take in Redis, all keys counted.

use std::time::{Duration, Instant};

use fred::{bytes::Bytes, types::Value};
use futures::{StreamExt, TryStreamExt, future::try_join_all, stream};
use keyspace::{Key, Keyspace, Partition};
use model::Micros;
use prost_types::Timestamp;
use rand::{Rng, SeedableRng, rngs::StdRng};
use socialgraph::v1::{ImportEdgesRequest, PublishPostRequest, ScrollFeedRequest};
use tasks::Tasks;

use crate::{
    Result, calls,
    census::Census,
    graph::Graph,
    ids,
    raw::Raw,
    stage::{self, Stage},
};

/// Goals for the Slashdot graph of 2009: bytes an edge, the same in times of two plain ZSETs, and bytes an entry of an inbox.
const GOAL_EDGE: f64 = 76.0;
const GOAL_RATIO: f64 = 0.55;
const GOAL_ENTRY: f64 = 36.0;

/// The log is trimmed in as many sweeps as take 3.2 s.
const SETTINGS: [(&str, &str); 2] = [("changes.retention", "1s"), ("relay.interval", "100ms")];
/// For how long nothing may change before a cluster counts as settled: longer than the log is kept and trimmed once.
const QUIET: Duration = Duration::from_secs(5);
const SETTLED_WITHIN: Duration = Duration::from_secs(90);

/// The keyspace of the plain ZSETs. Its keys are as long as those of the service.
const PLAIN: &str = "zz";
/// Commands of plain fred in flight.
const PIPELINE: usize = 512;
const SEED: u64 = 62;
const YEAR_MICROS: u64 = 365 * 24 * 3600 * 1_000_000;

/// Readers who follow all authors, and posts of all authors together: more than the 800 that an inbox has at most.
const READERS: u64 = 200;
const AUTHORS: u64 = 10;
const POSTS: u64 = 1_000;
const READER: u32 = 1;
const AUTHOR: u32 = 2;
/// Posts that are published side by side.
const SIDE_BY_SIDE: usize = 8;

/// Since when the rows of an import say that somebody is followed.
#[derive(Clone, Copy)]
enum Since {
    /// The moment of the import, so that every row is the newest.
    Import,
    /// Some time in the last five years, in no order.
    Years,
}

/// Imports the graph twice and prints what there is to tell.
pub(crate) async fn print() -> Result<()> {
    let graph = Graph::load()?.shuffled();
    println!(
        "\nMemory of the {} with ids of 62 bits, rows shuffled, log trimmed: {} edges.",
        graph.name,
        graph.edges()
    );
    println!("MEMORY USAGE with SAMPLES 0 of every key. Plain: the same graph as two ZSETs an edge by plain fred.");

    println!("\n  Followed since the import:");
    let (stage, census) = imported(&graph, Since::Import).await?;
    census.print("bytes an edge", graph.edges());
    println!("\n  Two plain ZSETs:");
    let plain = plain(&stage, &graph).await?;
    let ratio = |census: &Census| census.all.bytes as f64 / plain.all.bytes as f64;
    let each = |census: &Census| census.all.bytes as f64 / graph.edges() as f64;
    plain.print("bytes an edge", graph.edges());
    inboxes(&stage).await?;
    stage.stop().await;

    println!("\n  Followed since some time in five years, in no order:");
    let (stage, scattered) = imported(&graph, Since::Years).await?;
    scattered.print("bytes an edge", graph.edges());
    stage.stop().await;

    println!();
    for (since, census) in [("since the import", &census), ("since some time in five years", &scattered)] {
        println!(
            "  followed {since}: {:.1} bytes an edge (goal for Slashdot {GOAL_EDGE}); {:.3} of two plain ZSETs, {:.1} \
             (goal {GOAL_RATIO})",
            each(census),
            ratio(census),
            each(&plain),
        );
    }
    Ok(())
}

/// Imports the graph into a new cluster and looks at it once all is settled.
async fn imported(graph: &Graph, since: Since) -> Result<(Stage, Census)> {
    let cluster = stage::start_cluster().await?;
    let addresses = cluster.addresses();
    let stage = Stage::over(cluster, &addresses, Tasks::new(), &SETTINGS).await?;
    let before = stage.nodes.used_memory().await?;
    let mut random = StdRng::seed_from_u64(SEED);
    let now = Micros::now().get();
    let rows = graph.rows.iter().map(|&(follower, followee)| ImportEdgesRequest {
        follower_id: user(follower),
        followee_id: user(followee),
        import_id: String::new(),
        followed_at: match since {
            Since::Import => None,
            Since::Years => Some(timestamp(now - random.random_range(1..5 * YEAR_MICROS))),
        },
    });
    let rows: Vec<_> = rows.collect();
    let started = Instant::now();
    let answer = stage.graph.clone().import_edges(stream::iter(rows)).await?.into_inner();
    let written = started.elapsed();
    if (answer.created + answer.existing).cast_unsigned() != graph.edges() {
        return Err(format!("an import answered {answer:?}").into());
    }
    settled(&stage).await?;
    println!(
        "  imported in {:.1} s, settled and trimmed after {:.1} s",
        written.as_secs_f64(),
        started.elapsed().as_secs_f64(),
    );
    print_growth(&stage, graph, before).await?;
    let census = Census::take(&stage.nodes, &stage.keyspace).await?;
    Ok((stage, census))
}

/// Waits until nothing is pending, and nothing has been added, moved or trimmed for a while.
async fn settled(stage: &Stage) -> Result<()> {
    let started = Instant::now();
    let (mut last, mut since) = ((u64::MAX, 0, 0), started);
    while last.0 > 0 || since.elapsed() < QUIET {
        let pending = total(&stage.raw, "ZCARD", Keyspace::pending).await?;
        let logged = total(&stage.raw, "XLEN", Keyspace::log).await?;
        let keys = stage.nodes.all("DBSIZE", &[]).await?.iter().filter_map(Value::as_u64).sum();
        if last != (pending, logged, keys) {
            (last, since) = ((pending, logged, keys), Instant::now());
        }
        if started.elapsed() > SETTLED_WITHIN {
            return Err(format!("not settled: {pending} pending, {logged} log entries, {keys} keys").into());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Ok(())
}

/// The sum of the lengths of one key of each partition.
async fn total(raw: &Raw, command: &'static str, key: impl Fn(&Keyspace, Partition) -> Key) -> Result<u64> {
    let lengths = raw.keys.partitions().all().map(|p| raw.command(command, key(&raw.keys, p), Vec::new()));
    Ok(try_join_all(lengths).await?.iter().filter_map(Value::as_u64).sum())
}

/// Writes the graph as two plain ZSETs an edge.
async fn plain(stage: &Stage, graph: &Graph) -> Result<Census> {
    let (raw, first) = (&stage.raw, Micros::now().get());
    let before = stage.nodes.used_memory().await?;
    let rows = graph.rows.iter().filter(|(follower, followee)| follower != followee).zip(first..);
    let adds = rows.flat_map(|(&(follower, followee), at)| {
        [("following", follower, followee, at), ("followers", followee, follower, at)]
    });
    stream::iter(adds)
        .map(|(word, owner, member, at)| async move {
            let arguments = vec![at.cast_signed().into(), user(member).into()];
            raw.bytes_command("ZADD", plain_key(raw, word, user(owner))?, arguments).await.map(|_| ())
        })
        .buffer_unordered(PIPELINE)
        .try_collect::<()>()
        .await?;
    print_growth(stage, graph, before).await?;
    Census::take(&stage.nodes, PLAIN).await
}

/// Prints the same in another way: by what nodes use in all, tables of keys and buffers as well.
async fn print_growth(stage: &Stage, graph: &Graph, before: u64) -> Result<()> {
    let grown = stage.nodes.used_memory().await?.saturating_sub(before);
    println!("  used_memory of all nodes grew by {:.1} bytes an edge", grown as f64 / graph.edges() as f64);
    Ok(())
}

fn plain_key(raw: &Raw, word: &str, owner: i64) -> Result<Bytes> {
    let tag = raw.keys.hash_tag(raw.keys.partition(calls::user(owner)?));
    Ok(format!("{PLAIN}:{{{tag}}}:{word}:{owner}").into())
}

/// Fills inboxes through the service and prints what an entry takes.
async fn inboxes(stage: &Stage) -> Result<()> {
    let pair = |reader, author| (ids::of_group(READER, reader), ids::of_group(AUTHOR, author));
    stage.import((0..READERS).flat_map(move |reader| (0..AUTHORS).map(move |author| pair(reader, author)))).await?;
    for reader in 0..READERS {
        let request = ScrollFeedRequest { user_id: ids::of_group(READER, reader), ..Default::default() };
        stage.graph.clone().scroll_feed(request).await?;
    }
    let posts = (0..POSTS).map(|n| {
        let author_id = ids::of_group(AUTHOR, n % AUTHORS);
        let request = PublishPostRequest { author_id, content: calls::content(), ..Default::default() };
        let mut graph = stage.graph.clone();
        async move { graph.publish_post(request).await.map(|_| ()) }
    });
    stream::iter(posts).buffer_unordered(SIDE_BY_SIDE).try_collect::<()>().await?;
    settled(stage).await?;
    let census = Census::take(&stage.nodes, &stage.keyspace).await?;
    let (inbox, feed) = (census.word("inbox"), census.word("feed"));
    println!(
        "\n  {READERS} inboxes that {POSTS} posts came to: {} entries in {} keys, {:.1} bytes an entry, {:.2} of them the facts \
         beside (goal {GOAL_ENTRY})",
        inbox.entries,
        inbox.keys,
        (inbox.bytes + feed.bytes) as f64 / inbox.entries as f64,
        feed.bytes as f64 / inbox.entries as f64,
    );
    Ok(())
}

fn user(id: u32) -> i64 {
    ids::mix(u64::from(id) + 1)
}

fn timestamp(micros: u64) -> Timestamp {
    Timestamp { seconds: (micros / 1_000_000).cast_signed(), nanos: (micros % 1_000_000) as i32 * 1_000 }
}
