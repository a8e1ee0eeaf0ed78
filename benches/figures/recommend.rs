//! How long recommendations take.

use prost_types::Duration;
use socialgraph::v1::RecommendFollowsRequest;

use crate::{
    Result, calls, ids, slowlog,
    stage::Stage,
    times::{Times, time},
};

const CALLS: usize = 100;
/// What a call may take for a user who follows 500.
const GOAL_MS: f64 = 50.0;

const USER: u32 = 40;
const FRIEND: u32 = 41;
const CANDIDATE: u32 = 42;
/// Whom friends may follow.
const CANDIDATES: u64 = 20_000;

/// How many the user follows, and each of those.
const SIZES: [(u64, u64); 3] = [(500, 100), (500, 1_000), (50, 1_000)];

/// Measures all sizes and prints the table.
pub(crate) async fn print() -> Result<()> {
    println!("\nRecommendFollows, the 20 best; {CALLS} calls each, in milliseconds.\n");
    println!("  {:<46}{:>8}{:>8}{:>8}", "", "p50", "p99", "max");
    let stage = Stage::start().await?;
    for (n, (friends, of_friend)) in (0..).zip(SIZES) {
        import(&stage, n, friends, of_friend).await?;
        slowlog::reset(&stage.nodes).await?;
        let mut times = Times::default();
        for _ in 0..CALLS {
            times.push(time(recommend(&stage, n)).await?.0);
        }
        let [p50, p99, max] = [50, 99, 100].map(|percent| times.percentile(percent) / 1e3);
        let what = format!("a user who follows {friends}, who follow {of_friend} each");
        let goal = if friends == 500 { format!("   goal: at most {GOAL_MS} ms") } else { String::new() };
        println!("  {what:<46}{p50:>8.1}{p99:>8.1}{max:>8.1}{goal}");
    }
    println!("\nSLOWLOG of the last ones:");
    slowlog::print(&stage.nodes).await?;
    stage.stop().await;
    Ok(())
}

/// Friends of the `n`th user, and whom they follow: those with low numbers more often.
async fn import(stage: &Stage, n: u64, friends: u64, of_friend: u64) -> Result<()> {
    let friend = move |k: u64| ids::of_group(FRIEND, (n << 20) + k);
    let mut rows: Vec<_> = (0..friends).map(|k| (ids::of_group(USER, n), friend(k))).collect();
    rows.extend((0..friends).flat_map(|k| {
        (0..of_friend).map(move |j| (friend(k), ids::of_group(CANDIDATE, j * (k + 1) * 31 % CANDIDATES)))
    }));
    rows.sort_unstable();
    rows.dedup();
    let sent = rows.len() as i64;
    let answer = stage.import(rows.into_iter()).await?;
    calls::check(answer.created == sent, "import_edges")
}

async fn recommend(stage: &Stage, n: u64) -> Result<()> {
    let time_budget = Some(Duration { seconds: 10, nanos: 0 });
    let request = RecommendFollowsRequest { user_id: ids::of_group(USER, n), limit: 0, time_budget, consistency: None };
    let answer = stage.graph.clone().recommend_follows(request).await?.into_inner();
    calls::check(answer.complete && answer.recommendations.len() == 20, "recommend_follows")
}
