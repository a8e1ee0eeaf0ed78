//! How fast a graph is imported, in which memory, and what an edge takes.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use clap::{Command, FromArgMatches, Subcommand};
use fred::bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use server::cli::{self, ClientCommand};

use crate::{
    Result,
    graph::Graph,
    machine::own_cpu_seconds,
    progress::{MIB, Progress},
    raw::{self, Raw},
    slowlog,
    stage::{Stage, counter},
};

/// Commands of plain fred in flight.
const PIPELINE: usize = 512;
pub(crate) const ROWS: &str = "socialgraph_import_rows_total";
const RETRIES: &str = "socialgraph_redis_retries_total";
const REPLAYED: &str = "socialgraph_relay_replayed_total";

/// What was seen while an import ran.
struct Seen {
    progress: Progress,
    /// Changes that the relay did again.
    replayed: u64,
    /// Processor seconds of this process and of Redis.
    cpu: (f64, f64),
}

/// Imports the graph twice and prints what there is to tell.
pub(crate) async fn print() -> Result<()> {
    let graph = Graph::load()?;
    println!(
        "\nImport by `socialgraph import` of the {}: {} rows, {} edges.",
        graph.name,
        graph.rows.len(),
        graph.edges()
    );
    println!(
        "Client, server and three Redis share the machine. Floor: plain fred with two ZADDs an edge, {PIPELINE} in flight."
    );
    let shuffled = graph.shuffled();
    for (order, graph) in [("file order", &graph), ("shuffled", &shuffled)] {
        println!("\n  In {order}:");
        one_order(graph).await?;
    }
    Ok(())
}

async fn one_order(graph: &Graph) -> Result<()> {
    let stage = Stage::start().await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("graph.tsv");
    graph.write(&file)?;

    let empty = stage.nodes.used_memory().await?;
    let Seen { progress, replayed, cpu } = import(&stage, graph, &file).await?;
    let imported = stage.nodes.used_memory().await?;
    slowlog::print(&stage.nodes).await?;
    let rows = graph.rows.len() as f64;
    let edges = graph.edges() as f64;
    let seconds = progress.seconds();
    let floor = floor(&stage.raw, graph).await?.as_secs_f64();
    let floored = stage.nodes.used_memory().await?;

    println!(
        "  {:.0} rows/s ({:.0} edges/s); floor {:.0} edges/s; the service reaches {:.0} % of the floor",
        rows / seconds,
        edges / seconds,
        edges / floor,
        100.0 * floor / seconds,
    );
    println!(
        "  processor time a row: {:.1} us in client and server, {:.1} us in Redis",
        1e6 * cpu.0 / rows,
        1e6 * cpu.1 / rows
    );
    let tenths = progress.rates(graph.rows.len() as u64, 10).into_iter().map(|rate| format!("{rate:.0}"));
    let tenths: Vec<_> = tenths.collect();
    println!("  rows/s of each tenth: {}", tenths.join(" "));
    println!(
        "  memory of the process: {} MiB before, at most {} MiB",
        progress.memory_before() / MIB,
        progress.most_memory() / MIB
    );
    println!("  changes that the relay took for forgotten and applied again: {replayed}");
    println!(
        "  bytes an edge in Redis: {:.0} with the log of the last hour; two plain ZSETs {:.0}",
        (imported - empty) as f64 / edges,
        (floored - imported) as f64 / edges,
    );
    stage.stop().await;
    Ok(())
}

/// Runs the subcommand, and looks at it while it runs.
async fn import(stage: &Stage, graph: &Graph, file: &Path) -> Result<Seen> {
    let arguments = ["bench", "import", "--json", "--id-offset", "1", "--endpoint", &stage.endpoint];
    let arguments = arguments.iter().map(AsRef::as_ref).chain([file.as_os_str()]);
    let parser = ClientCommand::augment_subcommands(Command::new("bench"));
    let command = ClientCommand::from_arg_matches(&parser.try_get_matches_from(arguments)?)?;
    let (replayed, retries) = (counter(REPLAYED), counter(RETRIES));
    let (own, redis) = (own_cpu_seconds(), stage.nodes.cpu_seconds().await?);
    let mut answer = Vec::new();
    let mut errors = Vec::new();
    let (progress, _code) = Progress::of(cli::execute(command, &mut answer, &mut errors), || counter(ROWS)).await;
    let cpu = (own_cpu_seconds() - own, stage.nodes.cpu_seconds().await? - redis);
    let seen = Seen { progress, replayed: counter(REPLAYED) - replayed, cpu };
    let answer: serde_json::Value =
        serde_json::from_slice(&answer).map_err(|_| String::from_utf8_lossy(&errors).into_owned())?;
    // A commit that is sent again after a lost answer finds what it made itself.
    let [created, existing] = ["created", "existing"].map(|name| count_of(&answer, name));
    println!("  {created} created, {existing} existing, {} commands sent again", counter(RETRIES) - retries);
    if created + existing == graph.edges() { Ok(seen) } else { Err(format!("an import answered {answer}").into()) }
}

/// A count of the answer, which is text, as JSON has 64-bit numbers.
fn count_of(answer: &serde_json::Value, name: &str) -> u64 {
    answer[name].as_str().and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Both lists of each edge as plain sorted sets, as fast as one client goes.
async fn floor(raw: &Raw, graph: &Graph) -> Result<Duration> {
    let started = Instant::now();
    let score = 1_700_000_000_000_000_i64;
    let rows = graph.rows.iter().filter(|(follower, followee)| follower != followee);
    let adds =
        rows.flat_map(|&(follower, followee)| [("following", follower, followee), ("followers", followee, follower)]);
    stream::iter(adds)
        .map(|(list, user, member)| {
            let key = Bytes::from(format!("{}{list}:{user}", raw::PLAIN));
            raw.bytes_command("ZADD", key, vec![score.into(), i64::from(member).into()])
        })
        .buffer_unordered(PIPELINE)
        .try_for_each(|_added| std::future::ready(Ok(())))
        .await?;
    Ok(started.elapsed())
}
