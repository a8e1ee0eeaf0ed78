//! Very many edges: one by one, in batches, in and out as streams.

use std::env;

use futures::{StreamExt, TryStreamExt, stream};
use socialgraph::v1::{BatchFollowRequest, ExportEdgesRequest, FollowRequest, ImportEdgesRequest};

use crate::{
    Result, calls, ids,
    import::ROWS,
    progress::{MIB, Progress},
    slowlog,
    stage::{self, Stage, counter},
    times::time,
};

/// How many edges are imported and exported.
const SIZE: &str = "SOCIALGRAPH_BENCH_BULK";
const USUAL_SIZE: u64 = 2_000_000;
const MILLION: u64 = 1_000_000;

/// Edges of each generated follower.
const FOLLOWED: u64 = 20;
/// A prime: from row to row, the number of the edge rises by as much, in the circle of all edges.
const STRIDE: u64 = 6_700_417;
const FOLLOWER: u32 = 70;
const FOLLOWEE: u32 = 71;
/// An import may be taken up again if it has a name, which costs a little.
const IMPORT_ID: &str = "bench";

const BATCH: u64 = 100;
/// Batches, and as many single follows as these have rows, of each turn: of one caller, and of many.
const BATCHES: [(u64, usize); 2] = [(20, 1), (100, 32)];
const TURNS: u64 = 5;
const WRITER: u32 = 72;
const WRITTEN: u32 = 73;

/// A generated graph of which no row is held in memory.
#[derive(Clone, Copy)]
struct Bulk {
    edges: u64,
}

/// Measures all and prints what there is to tell.
pub(crate) async fn print() -> Result<()> {
    let size: u64 = match env::var(SIZE) {
        Ok(text) => text.parse().map_err(|error| format!("{SIZE}: {error}"))?,
        Err(_) => USUAL_SIZE,
    };
    let bulk = Bulk { edges: (size / MILLION).max(1) * MILLION };
    println!("\nBulk. Client, server and three Redis share the machine.");
    let stage = Stage::start().await?;
    batches(&stage).await?;
    stage.stop().await;

    let stage = Stage::start().await?;
    bulk.import(&stage).await?;
    bulk.export(&stage).await?;
    stage.stop().await;
    Ok(())
}

impl Bulk {
    /// All rows, each of another edge, in no order. Few users have most followers.
    fn rows(self) -> impl Iterator<Item = ImportEdgesRequest> + Send {
        let followers = self.edges / FOLLOWED;
        let edges = (0..self.edges).map(move |n| (n * STRIDE) % self.edges).map(move |edge| {
            let (follower, n) = (edge % followers, edge / followers);
            // One of as many even parts of all ranks as there are edges of a follower, and so another one for each.
            let part = (n as f64 + ids::mix(follower + 1) as f64 / (1_u64 << 62) as f64) / FOLLOWED as f64;
            let rank = (part * part * followers as f64) as u64;
            (ids::of_group(FOLLOWER, follower), ids::of_group(FOLLOWEE, rank))
        });
        (0_u64..).zip(edges).map(|(n, (follower, followee))| {
            let row = stage::row(follower, followee);
            if n == 0 { ImportEdgesRequest { import_id: IMPORT_ID.to_owned(), ..row } } else { row }
        })
    }

    async fn import(self, stage: &Stage) -> Result<()> {
        println!(
            "\n  ImportEdges with an import id, of {} generated edges in no order; {FOLLOWED} a follower, power-law followees.",
            self.edges
        );
        let rows = stream::iter(self.rows());
        let mut graph = stage.graph.clone();
        let (progress, answer) = Progress::of(graph.import_edges(rows), || counter(ROWS)).await;
        let answer = answer?.into_inner();
        let kept = (answer.created + answer.existing).cast_unsigned();
        calls::check(kept == self.edges, "import_edges")?;
        println!("    {} created, {} existing", answer.created, answer.existing);
        self.print_progress(&progress);
        println!("    Redis: {} MiB, the log of the last hour included", stage.nodes.used_memory().await? / MIB);
        slowlog::print(&stage.nodes).await
    }

    async fn export(self, stage: &Stage) -> Result<()> {
        println!("\n  ExportEdges of all of them:");
        slowlog::reset(&stage.nodes).await?;
        let mut progress = Progress::start();
        let mut messages = stage.graph.clone().export_edges(ExportEdgesRequest::default()).await?.into_inner();
        let (mut edges, mut noted) = (0, 0);
        while let Some(message) = messages.message().await? {
            edges += message.followers.iter().map(|follower| follower.followees.len() as u64).sum::<u64>();
            if edges >= noted {
                progress.sample(edges);
                noted = edges + MILLION / 100;
            }
        }
        progress.sample(edges);
        calls::check(edges == self.edges, "export_edges")?;
        self.print_progress(&progress);
        slowlog::print(&stage.nodes).await
    }

    /// The rate, and what became of rate and memory from million to million.
    fn print_progress(self, progress: &Progress) {
        let millions = self.edges / MILLION;
        let (rates, memory) = (progress.rates(self.edges, millions), progress.memory_at(self.edges, millions));
        println!("    {:.0} edges/s", self.edges as f64 / progress.seconds());
        let text = |values: Vec<String>| values.join(" ");
        println!("    edges/s of each million: {}", text(rates.iter().map(|rate| format!("{rate:.0}")).collect()));
        println!(
            "    MiB of this process after each million: {}; {} before, at most {}",
            text(memory.iter().map(|bytes| (bytes / MIB).to_string()).collect()),
            progress.memory_before() / MIB,
            progress.most_memory() / MIB
        );
        if let [first, .., last] = rates[..] {
            println!("    last million / first: {:.2}", last / first);
        }
    }
}

/// BatchFollow, and Follow of as many rows, in turns.
async fn batches(stage: &Stage) -> Result<()> {
    println!("\n  BatchFollow of {BATCH} rows, and Follow of the same number one by one:");
    let mut next = 0;
    for (batches, in_flight) in BATCHES {
        let (mut by_batch, mut by_one) = (0.0, 0.0);
        for _ in 0..TURNS {
            let calls = stream::iter(next..next + batches).map(|n| batch_follow(stage, n)).buffer_unordered(in_flight);
            by_batch += time(calls.try_collect::<()>()).await?.0.as_secs_f64();
            let rows = (next * BATCH..(next + batches) * BATCH).map(|n| follow(stage, n));
            by_one += time(stream::iter(rows).buffer_unordered(in_flight).try_collect::<()>()).await?.0.as_secs_f64();
            next += batches;
        }
        let rows = (TURNS * batches * BATCH) as f64;
        let callers = if in_flight == 1 { "1 caller".to_owned() } else { format!("{in_flight} in flight") };
        println!(
            "    {callers:<14}{:>8.0} rows/s; Follow {:>7.0} rows/s; ratio {:.1}; {:.2} ms a batch of one caller",
            rows / by_batch,
            rows / by_one,
            by_one / by_batch,
            by_batch * 1e3 * in_flight as f64 / (rows / BATCH as f64),
        );
    }
    Ok(())
}

/// The `n`th batch: of a follower of its own.
async fn batch_follow(stage: &Stage, n: u64) -> Result<()> {
    let followee_ids = (0..BATCH).map(|k| ids::of_group(WRITTEN, n * BATCH + k)).collect();
    let request = BatchFollowRequest { follower_id: ids::of_group(WRITER, 2 * n), followee_ids, source: String::new() };
    let results = stage.graph.clone().batch_follow(request).await?.into_inner().results;
    // What is sent again after a lost answer is not created by that.
    calls::check(results.iter().filter(|result| result.followed_at.is_some()).count() as u64 == BATCH, "batch_follow")
}

/// The `n`th row of batches alike, by itself.
async fn follow(stage: &Stage, n: u64) -> Result<()> {
    let (follower_id, followee_id) = (ids::of_group(WRITER, 2 * (n / BATCH) + 1), ids::of_group(WRITTEN, n));
    let request = FollowRequest { follower_id, followee_id, source: String::new() };
    calls::check(stage.graph.clone().follow(request).await?.into_inner().created, "follow")
}
