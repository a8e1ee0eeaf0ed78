//! How long calls take and how many a second there are.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use futures::{StreamExt, TryStreamExt, stream};

use crate::{
    Result,
    calls::{self, Kind},
    slowlog,
    stage::Stage,
};

/// The two sides take turns, so that what else the machine does hits both.
const TURNS: u64 = 5;
const IN_FLIGHT: usize = 64;

/// What was measured of one side.
#[derive(Default)]
struct Side {
    /// Of one caller.
    latencies: Vec<Duration>,
    /// Of many callers: calls, and the time they took together.
    calls: u64,
    elapsed: Duration,
    /// The number of the next call.
    next: u64,
}

impl Side {
    /// Takes a turn: one caller, then many.
    async fn turn<F: Future<Output = Result<()>>>(
        &mut self,
        (one, many): (u64, u64),
        call: impl Fn(u64) -> F,
    ) -> Result<()> {
        for n in self.next..self.next + one {
            let started = Instant::now();
            call(n).await?;
            self.latencies.push(started.elapsed());
        }
        self.next += one;
        let started = Instant::now();
        stream::iter(self.next..self.next + many).map(&call).buffer_unordered(IN_FLIGHT).try_collect::<()>().await?;
        self.elapsed += started.elapsed();
        self.calls += many;
        self.next += many;
        Ok(())
    }

    fn percentile(&mut self, percent: usize) -> Duration {
        self.latencies.sort_unstable();
        self.latencies[(self.latencies.len() * percent / 100).min(self.latencies.len() - 1)]
    }

    fn rate(&self) -> f64 {
        self.calls as f64 / self.elapsed.as_secs_f64()
    }
}

/// Calls of one caller and of many in one turn.
fn calls_a_turn(kind: Kind) -> (u64, u64) {
    match kind {
        Kind::IsFollowing => (400, 6_000),
        Kind::Follow | Kind::Unfollow => (300, 3_000),
        Kind::BatchIsFollowing | Kind::ListFollowers => (200, 2_000),
        Kind::BatchGetCounts => (100, 600),
        Kind::PublishPost | Kind::ScrollFeed(_) => (100, 800),
        Kind::CommonFollows => (40, 150),
    }
}

/// Measures every call and prints the table.
pub(crate) async fn print() -> Result<()> {
    let stage = Stage::start().await?;
    calls::prepare(stage.graph.clone()).await?;
    stage.raw.prepare().await?;
    println!(
        "\nCalls: over gRPC and the whole service, and plain fred with the bare commands on the same data, in turns."
    );
    println!("Times of one caller in microseconds, and calls a second with {IN_FLIGHT} in flight.\n");
    println!("{:<33}{:>23}{:>23}{:>8}{:>26}", "", "service", "plain fred", "times", "calls a second");
    println!(
        "{:<33}{:>15}{:>8}{:>15}{:>8}{:>8}{:>9}{:>10}{:>7}   with",
        "call", "p50", "p99", "p50", "p99", "p50", "service", "fred", "share"
    );
    for kind in Kind::ALL {
        let (mut service, mut raw) = (Side::default(), Side::default());
        for _ in 0..TURNS {
            service.turn(calls_a_turn(kind), |n| kind.call(stage.graph.clone(), n)).await?;
            raw.turn(calls_a_turn(kind), |n| stage.raw.call(kind, n)).await?;
        }
        let [p50, p99, raw_p50, raw_p99] =
            [service.percentile(50), service.percentile(99), raw.percentile(50), raw.percentile(99)]
                .map(|time| time.as_secs_f64() * 1e6);
        println!(
            "{:<33}{p50:>15.0}{p99:>8.0}{raw_p50:>15.0}{raw_p99:>8.0}{:>8.1}{:>9.0}{:>10.0}{:>6.0}%   {}",
            kind.name(),
            p50 / raw_p50,
            service.rate(),
            raw.rate(),
            100.0 * service.rate() / raw.rate(),
            kind.raw_name(),
        );
    }
    println!("\nSLOWLOG of these calls, plain fred's CommonFollows included:");
    slowlog::print(&stage.nodes).await?;
    stage.stop().await;
    Ok(())
}
