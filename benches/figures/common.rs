//! How long the search for common follows takes in long lists.

use std::future::ready;

use fred::{bytes::Bytes, types::Value};
use futures::{StreamExt, TryStreamExt, future::try_join_all, stream};
use prost_types::Duration;
use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
use socialgraph::v1::{CommonFollowsRequest, CommonFollowsResponse};
use tasks::Tasks;

use crate::{
    Result, calls, ids,
    proxy::{self, DELAY},
    raw, slowlog,
    stage::{self, Stage},
    times::{Times, time},
};

/// The most that anyone may follow.
const SETTINGS: [(&str, &str); 1] = [("limits.max-following", "50000")];
/// The same, without background work that is no part of a call.
const SLOW_SETTINGS: [(&str, &str); 3] = [SETTINGS[0], ("relay.interval", "1m"), ("relay.lease", "3m")];
const CALLS: usize = 20;
const SLOW_CALLS: usize = 3;
const PAGE: i32 = 500;
/// Entries of one command of plain fred.
const CHUNK: usize = 1_000;
/// What a search in the longest lists may take.
const GOAL_MS: f64 = 100.0;
const SEED: u64 = 50_000;

const USER: u32 = 10;
const OTHER: u32 = 20;
const FOLLOWED: u32 = 30;

/// Pairs of users who follow as many others as the number says, half of them in common.
const SIZES: [u64; 3] = [50_000, 2_500, 100];

#[derive(Clone, Copy)]
struct Pair {
    /// Which pair.
    n: u64,
    size: u64,
}

/// Measures all pairs and prints the table.
pub(crate) async fn print() -> Result<()> {
    println!(
        "\nCommon follows of two users, half of whose follows are in common, pages of {PAGE}; {CALLS} calls each."
    );
    println!(
        "Times in milliseconds. Plain fred: ZRANGE of the whole list by {CHUNK}, all at once, and ZMSCORE of {CHUNK}."
    );
    println!(
        "Trips: a call through proxies that delay everything by {} ms each way, in units of {} ms; the least of {SLOW_CALLS}.\n",
        DELAY.as_millis(),
        2 * DELAY.as_millis()
    );
    let trips = trips().await?;
    let cluster = stage::start_cluster().await?;
    let addresses = cluster.addresses();
    let stage = Stage::over(cluster, &addresses, Tasks::new(), &SETTINGS).await?;
    import(&stage).await?;
    slowlog::reset(&stage.nodes).await?;

    println!("{:<20}{:>16}{:>18}{:>18}{:>10}{:>16}", "", "first page", "later page", "plain fred", "ratio", "trips");
    println!(
        "  {:<18}{:>9}{:>7}{:>11}{:>7}{:>11}{:>7}{:>10}{:>9}{:>7}",
        "lists", "p50", "max", "p50", "max", "p50", "max", "of p50", "service", "fred"
    );
    for (pair, trips) in pairs().zip(trips) {
        let token = pair.token(&stage).await?;
        let (mut first, mut later, mut plain) = (Times::default(), Times::default(), Times::default());
        pair.write_plain(&stage).await?;
        for _ in 0..CALLS {
            first.push(time(pair.page(&stage, String::new())).await?.0);
            if !token.is_empty() {
                later.push(time(pair.page(&stage, token.clone())).await?.0);
            }
            plain.push(time(pair.plain(&stage)).await?.0);
        }
        let ms = |times: &Times| [50, 100].map(|percent| times.percentile(percent) / 1e3);
        let both = |times: &Times| match ms(times) {
            [p50, max] if p50.is_finite() => format!("{p50:.1}{max:>7.1}"),
            _ => "none".to_owned(),
        };
        println!(
            "  {:<18}{:>16}{:>18}{:>18}{:>10.1}{:>9}{:>7}{}",
            format!("{} x {}", pair.size, pair.size),
            both(&first),
            both(&later),
            both(&plain),
            first.median() / plain.median(),
            trips.0,
            trips.1,
            if pair.size == SIZES[0] { format!("   goal: at most {GOAL_MS} ms") } else { String::new() },
        );
    }
    println!("\nSLOWLOG of these calls:");
    slowlog::print(&stage.nodes).await?;
    stage.stop().await;
    Ok(())
}

fn pairs() -> impl Iterator<Item = Pair> {
    (0..).zip(SIZES).map(|(n, size)| Pair { n, size })
}

/// Round trips of the first page of each pair, and of plain fred.
async fn trips() -> Result<Vec<(f64, f64)>> {
    let (cluster, tasks) = (stage::start_cluster().await?, Tasks::new());
    let proxies = proxy::slow_down(&cluster, &tasks).await?;
    let stage = Stage::over(cluster, &proxies, tasks, &SLOW_SETTINGS).await?;
    import(&stage).await?;
    let mut all = Vec::new();
    for pair in pairs() {
        let (mut service, mut plain) = (Times::default(), Times::default());
        pair.write_plain(&stage).await?;
        for _ in 0..SLOW_CALLS {
            service.push(time(pair.page(&stage, String::new())).await?.0);
            plain.push(time(pair.plain(&stage)).await?.0);
        }
        let trips = |times: &Times| (times.percentile(0) / (2.0 * DELAY.as_secs_f64() * 1e6)).round();
        all.push((trips(&service), trips(&plain)));
    }
    stage.stop().await;
    Ok(all)
}

/// Writes the lists of all pairs in no order.
async fn import(stage: &Stage) -> Result<()> {
    let mut rows: Vec<_> = pairs().flat_map(|pair| pair.edges()).collect();
    rows.shuffle(&mut StdRng::seed_from_u64(SEED));
    let sent = rows.len() as i64;
    let answer = stage.import(rows.into_iter()).await?;
    calls::check(answer.created + answer.existing == sent, "import_edges")
}

impl Pair {
    fn user(self) -> i64 {
        ids::of_group(USER, self.n)
    }

    fn other(self) -> i64 {
        ids::of_group(OTHER, self.n)
    }

    fn edges(self) -> impl Iterator<Item = (i64, i64)> {
        let followed = move |k| ids::of_group(FOLLOWED, (self.n << 20) + k);
        (0..self.size).flat_map(move |k| [(self.user(), followed(k)), (self.other(), followed(k + self.size / 2))])
    }

    /// A page, with time enough for all.
    async fn page(self, stage: &Stage, page_token: String) -> Result<CommonFollowsResponse> {
        let request = CommonFollowsRequest {
            user_id: self.user(),
            other_id: self.other(),
            page_size: PAGE,
            page_token,
            time_budget: Some(Duration { seconds: 10, nanos: 0 }),
            ..Default::default()
        };
        let page = stage.graph.clone().common_follows(request).await?.into_inner();
        let right = page.complete && page.total_count.cast_unsigned() == self.size / 2;
        calls::check(right, "common_follows")?;
        Ok(page)
    }

    /// The token of a page in the middle, if there are so many pages.
    async fn token(self, stage: &Stage) -> Result<String> {
        let mut token = String::new();
        for _ in 0..(self.size / 4).div_ceil(PAGE.unsigned_abs().into()) {
            token = self.page(stage, token).await?.next_page_token;
        }
        Ok(token)
    }

    fn plain_key(owner: i64) -> Bytes {
        format!("{}{owner}", raw::PLAIN).into()
    }

    async fn write_plain(self, stage: &Stage) -> Result<()> {
        stream::iter((1_i64..).zip(self.edges()))
            .map(|(at, (owner, member))| {
                stage.raw.bytes_command("ZADD", Self::plain_key(owner), vec![at.into(), member.into()])
            })
            .buffer_unordered(CHUNK)
            .try_for_each(|_added| ready(Ok(())))
            .await
    }

    async fn plain(self, stage: &Stage) -> Result<()> {
        let starts = (0..self.size as i64).step_by(CHUNK);
        let reads = starts.map(|start| async move {
            let range: Vec<Value> = vec![start.into(), (start + CHUNK as i64 - 1).into()];
            let read = stage.raw.bytes_command("ZRANGE", Self::plain_key(self.user()), range).await?;
            stage.raw.bytes_command("ZMSCORE", Self::plain_key(self.other()), read.into_array()).await
        });
        let scores = try_join_all(reads).await?;
        let found = scores.into_iter().flat_map(Value::into_array).filter(|score| !score.is_null()).count();
        calls::check(found as u64 == self.size / 2, "plain fred")
    }
}
