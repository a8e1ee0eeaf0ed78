//! How often a call goes to Redis and waits.

use std::{collections::BTreeMap, time::Duration};

use tasks::Tasks;

use crate::{
    Result,
    calls::{self, Kind},
    proxy::{self, DELAY},
    stage::{self, Stage},
    times::time,
};

const CALLS: u64 = 5;

/// Measures every call and prints the table.
pub(crate) async fn print() -> Result<()> {
    let (cluster, tasks) = (stage::start_cluster().await?, Tasks::new());
    let proxies = proxy::slow_down(&cluster, &tasks).await?;
    // The relay looks at every partition once a second; its reads are no part of a call.
    let stage = Stage::over(cluster, &proxies, tasks, &[("relay.interval", "1m"), ("relay.lease", "3m")]).await?;
    calls::prepare(stage.graph.clone()).await?;
    stage.raw.prepare().await?;

    let trip = 2 * DELAY;
    println!(
        "\nRound trips to Redis: how long a call takes when each node is behind a proxy that delays everything by"
    );
    println!("{} ms each way, in units of {} ms; the least of {CALLS} calls.", DELAY.as_millis(), trip.as_millis());
    println!(
        "Commands: how many the store counted for those calls, by name; ZREM of Follow and Unfollow is the settling,"
    );
    println!("off the path and batched over calls.\n");
    println!("{:<33}{:>8}{:>10}{:>12}{:>10}   commands a call", "call", "trips", "ms", "plain fred", "ms");
    for kind in Kind::ALL {
        let mut service = Vec::new();
        let mut raw = Vec::new();
        kind.call(stage.graph.clone(), CALLS).await?;
        stage.raw.call(kind, CALLS).await?;
        let before = commands(&stage::metrics());
        for n in 0..CALLS {
            service.push(time(kind.call(stage.graph.clone(), n)).await?.0);
        }
        let counted = difference(&before, &commands(&stage::metrics()));
        for n in 0..CALLS {
            raw.push(time(stage.raw.call(kind, n)).await?.0);
        }
        let [service, raw] = [service, raw].map(|times| times.into_iter().min().unwrap_or_default());
        let trips = |time: Duration| (time.as_secs_f64() / trip.as_secs_f64()).round();
        println!(
            "{:<33}{:>8}{:>10.1}{:>12}{:>10.1}   {counted}",
            kind.name(),
            trips(service),
            service.as_secs_f64() * 1e3,
            trips(raw),
            raw.as_secs_f64() * 1e3,
        );
    }
    stage.stop().await;
    Ok(())
}

/// Commands that were answered, by name, from the text of the metrics.
fn commands(metrics: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for line in metrics.lines() {
        let Some(rest) = line.strip_prefix("socialgraph_redis_command_duration_seconds_count{command=\"") else {
            continue;
        };
        let (Some((name, _)), Some((_, count))) = (rest.split_once('"'), rest.rsplit_once(' ')) else { continue };
        *counts.entry(name.to_owned()).or_default() += count.parse::<u64>().unwrap_or(0);
    }
    counts
}

/// What was added, a call. What the background does by itself is left out.
fn difference(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> String {
    const BACKGROUND: [&str; 4] = ["PING", "due", "lease", "trim"];
    let added = after.iter().filter(|(name, _)| !BACKGROUND.contains(&name.as_str())).filter_map(|(name, count)| {
        let added = count - before.get(name).copied().unwrap_or(0);
        (added > 0).then(|| format!("{name} {:.1}", added as f64 / CALLS as f64))
    });
    added.collect::<Vec<_>>().join(", ")
}
