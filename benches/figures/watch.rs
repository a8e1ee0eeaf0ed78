//! How fast watches tell of changes, and what they cost those who write.

use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, future::try_join, stream};
use model::Micros;
use socialgraph::v1::{
    BatchFollowRequest, FollowRequest, RelationshipChange, WatchRelationshipsRequest, WatchRelationshipsResponse,
};
use tasks::Tasks;
use tonic::Streaming;

use crate::{
    Result, calls, ids,
    stage::Stage,
    times::{Times, time},
};

/// Rows of a batch, batches, and how many of these are on the way at a time.
const BATCH: u64 = 100;
const BATCHES: u64 = 2_000;
const IN_FLIGHT: usize = 16;
const IMPORTED: u64 = 300_000;
/// Follows that come at an even pace, and the pace.
const SINGLE: u64 = 500;
const PACE: Duration = Duration::from_millis(10);
/// Watches at a time while Follow is measured.
const WATCHES: [usize; 3] = [0, 1, 8];
const TURNS: u64 = 8;
const FOLLOWS: u64 = 150;

const WRITER: u32 = 80;
const WRITTEN: u32 = 81;

type Messages = Streaming<WatchRelationshipsResponse>;

/// What a watch told.
struct Told {
    /// From each commit to its change.
    delays: Times,
    /// When the last change came.
    at: Instant,
}

/// Measures all and prints what there is to tell.
pub(crate) async fn print() -> Result<()> {
    println!("\nWatches of everybody's changes. Client, server and three Redis share the machine.");
    println!(
        "Delays from the commit in Redis to the change at the client, in milliseconds; clocks are read every 200 ms.\n"
    );
    let stage = Stage::start().await?;
    costs(&stage).await?;
    println!("\n  {:<58}{:>10}{:>12}{:>9}{:>9}{:>9}", "beside", "writes/s", "changes/s", "p50", "p99", "max");
    told_of("Follow of one caller, 100 a second", SINGLE, &stage, singles(&stage)).await?;
    let what = format!("BatchFollow of {BATCH} rows, {IN_FLIGHT} in flight, {} edges", BATCH * BATCHES);
    told_of(&what, BATCH * BATCHES, &stage, batches(&stage)).await?;
    told_of(&format!("ImportEdges of {IMPORTED} edges"), IMPORTED, &stage, import(&stage)).await?;
    snapshot(&stage).await?;
    stage.stop().await;
    Ok(())
}

/// Prints what a watch tells of some writes.
async fn told_of(what: &str, changes: u64, stage: &Stage, writes: impl Future<Output = Result<()>>) -> Result<()> {
    let messages = watch(stage, false).await?;
    let started = Instant::now();
    let writes = async {
        writes.await?;
        Ok(started.elapsed())
    };
    let (told, written) = try_join(read(messages, changes), writes).await?;
    let rate = |took: Duration| changes as f64 / took.as_secs_f64();
    let [p50, p99, max] = [50, 99, 100].map(|percent| told.delays.percentile(percent) / 1e3);
    println!(
        "  {what:<58}{:>10.0}{:>12.0}{p50:>9.0}{p99:>9.0}{max:>9.0}",
        rate(written),
        rate(told.at.duration_since(started)),
    );
    Ok(())
}

/// Begins to watch, and takes the first message, which has neither changes nor edges.
async fn watch(stage: &Stage, snapshot: bool) -> Result<Messages> {
    let request = WatchRelationshipsRequest { snapshot, ..Default::default() };
    let mut messages = stage.graph.clone().watch_relationships(request).await?.into_inner();
    let first = messages.message().await?.ok_or("a watch ended at once")?;
    calls::check(first.changes.is_empty() && first.snapshot.is_none(), "watch_relationships")?;
    Ok(messages)
}

/// Reads so many changes.
async fn read(mut messages: Messages, changes: u64) -> Result<Told> {
    let (mut delays, mut count) = (Times::default(), 0);
    while count < changes {
        let message = messages.message().await?.ok_or("a watch ended")?;
        let now = Micros::now().get();
        for change in &message.changes {
            delays.push(Duration::from_micros(now.saturating_sub(changed_at(change))));
        }
        count += message.changes.len() as u64;
    }
    calls::check(count == changes, "watch_relationships")?;
    Ok(Told { delays, at: Instant::now() })
}

/// In microseconds since 1970.
fn changed_at(change: &RelationshipChange) -> u64 {
    let at = change.changed_at.unwrap_or_default();
    at.seconds.cast_unsigned() * 1_000_000 + u64::from(at.nanos.cast_unsigned()) / 1_000
}

/// The latency of Follow beside none, one and many watches, in turns.
async fn costs(stage: &Stage) -> Result<()> {
    let mut times = WATCHES.map(|_| Times::default());
    let mut n = 0;
    for _ in 0..TURNS {
        for (watches, times) in WATCHES.into_iter().zip(&mut times) {
            let tasks = Tasks::new();
            for _ in 0..watches {
                let mut messages = watch(stage, false).await?;
                let until = tasks.token().clone();
                tasks.spawn("watch", async move {
                    let all = async { while let Ok(Some(_)) = messages.message().await {} };
                    until.run_until_cancelled(all).await;
                });
            }
            for _ in 0..FOLLOWS {
                times.push(time(follow(stage, n)).await?.0);
                n += 1;
            }
            let _ended = tasks.shutdown(Duration::from_secs(5)).await;
        }
    }
    let alone = [50, 99].map(|percent| times[0].percentile(percent));
    for (watches, times) in WATCHES.into_iter().zip(&times) {
        let [p50, p99] = [50, 99].map(|percent| times.percentile(percent));
        println!(
            "  Follow beside {watches} watches: us p50 {p50:.0}, p99 {p99:.0}; ratios to none {:.2}, {:.2}",
            p50 / alone[0],
            p99 / alone[1]
        );
    }
    Ok(())
}

/// All edges there are, as a watch tells them before changes.
async fn snapshot(stage: &Stage) -> Result<()> {
    let all = SINGLE + BATCH * BATCHES + IMPORTED + TURNS * WATCHES.len() as u64 * FOLLOWS;
    let started = Instant::now();
    let mut messages = watch(stage, true).await?;
    let mut edges = 0;
    while edges < all {
        let message = messages.message().await?.ok_or("a watch ended")?;
        let followers = message.snapshot.unwrap_or_default().followers;
        edges += followers.iter().map(|follower| follower.followees.len() as u64).sum::<u64>();
    }
    calls::check(edges == all, "watch_relationships")?;
    let rate = edges as f64 / started.elapsed().as_secs_f64();
    println!("\n  Snapshot of {edges} edges: {rate:.0} edges/s");
    Ok(())
}

async fn follow(stage: &Stage, n: u64) -> Result<()> {
    // Each follower has 50 followees.
    let (follower_id, followee_id) = (ids::of_group(WRITER, n / 50), ids::of_group(WRITTEN, n));
    let request = FollowRequest { follower_id, followee_id, source: String::new() };
    calls::check(stage.graph.clone().follow(request).await?.into_inner().created, "follow")
}

/// Single follows, of ids that `costs` leaves.
async fn singles(stage: &Stage) -> Result<()> {
    let mut ticks = tokio::time::interval(PACE);
    for n in 0..SINGLE {
        ticks.tick().await;
        follow(stage, (1 << 20) + n).await?;
    }
    Ok(())
}

async fn batches(stage: &Stage) -> Result<()> {
    let batch = |n: u64| async move {
        let followee_ids = (0..BATCH).map(|k| ids::of_group(WRITTEN, n * BATCH + k)).collect();
        let follower_id = ids::of_group(WRITER, (1 << 24) + n);
        let request = BatchFollowRequest { follower_id, followee_ids, source: String::new() };
        let results = stage.graph.clone().batch_follow(request).await?.into_inner().results;
        // What is sent again after a lost answer is not created by that.
        calls::check(
            results.iter().filter(|result| result.followed_at.is_some()).count() as u64 == BATCH,
            "batch_follow",
        )
    };
    stream::iter(0..BATCHES).map(batch).buffer_unordered(IN_FLIGHT).try_collect().await
}

async fn import(stage: &Stage) -> Result<()> {
    // Thirty followees each.
    let edge = |n| (ids::of_group(WRITER, (1 << 25) + n / 30), ids::of_group(WRITTEN, n));
    let answer = stage.import((0..IMPORTED).map(edge)).await?;
    calls::check((answer.created + answer.existing).cast_unsigned() == IMPORTED, "import_edges")
}
