//! What took Redis long.

use std::collections::BTreeMap;

use fred::types::Value;

use crate::{Result, raw, redis::Nodes};

/// What no command may take, by design.
pub(crate) const THRESHOLD_MICROS: u64 = 2_000;
/// How many slow commands a node remembers.
pub(crate) const MOST: usize = 10_000;
/// Commands whose percentiles are printed.
const MOST_PERCENTILES: usize = 4;
const OF_PLAIN: &str = " of plain fred";

/// Prints what all nodes logged as slow, and what scripts took on average.
pub(crate) async fn print(nodes: &Nodes) -> Result<()> {
    let scripts = scripts();
    let mut slow: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for entries in nodes.all("SLOWLOG", &["GET", &MOST.to_string()]).await? {
        for entry in entries.into_array() {
            let [_, _, micros, command, ..] = &entry.into_array()[..] else { continue };
            let micros = micros.as_u64().unwrap_or(0);
            let (count, worst) = slow.entry(name_of(command.clone().into_array(), &scripts)).or_default();
            (*count, *worst) = (*count + 1, micros.max(*worst));
        }
    }
    let stats = nodes.command_stats().await?;
    let run: u64 =
        ["evalsha", "eval", "zscore", "zmscore", "zrange", "zcard", "zadd", "zrem", "sismember", "smismember"]
            .iter()
            .filter_map(|name| stats.get(*name))
            .map(|stat| stat.calls)
            .sum();
    let total: usize = slow.values().map(|(count, _)| count).sum();
    println!(
        "  {total} of {run} commands took Redis more than {THRESHOLD_MICROS} us (wall time; a busy machine adds to it)"
    );
    if let Some((command, (_, worst))) =
        slow.iter().filter(|(name, _)| !name.ends_with(OF_PLAIN)).max_by_key(|(_, (_, worst))| worst)
    {
        println!("  slowest: {command}, {worst} us (goal {THRESHOLD_MICROS})");
    }
    for (command, (count, worst)) in slow {
        println!("    {count:>4} x {command}, at most {worst} us");
    }
    if let Some(stat) = stats.get("evalsha").filter(|stat| stat.calls > 0) {
        println!(
            "  {} scripts took {} us on average; by design none touches more than 64 rows",
            stat.calls,
            stat.micros / stat.calls
        );
    }
    print_percentiles(nodes).await
}

/// Prints the commands whose p99 is highest. A command that is slow by its nature shows here, a busy machine less than in the
/// slowest of many.
async fn print_percentiles(nodes: &Nodes) -> Result<()> {
    let stats = nodes.latency_stats().await?;
    // Those with a subcommand are about the server, and are mostly from here.
    let mut stats: Vec<_> = stats.into_iter().filter(|(name, _)| name != "info" && !name.contains('|')).collect();
    stats.sort_by(|(_, [_, one, _]), (_, [_, other, _])| other.total_cmp(one));
    let shown = stats
        .iter()
        .take(MOST_PERCENTILES)
        .map(|(name, [p50, p99, p999])| format!("{} {p50:.0}, {p99:.0}, {p999:.0}", name.to_uppercase()));
    println!("  us p50, p99, p99.9 of the slowest commands: {}", shown.collect::<Vec<_>>().join("; "));
    Ok(())
}

/// Forgets what was slow, and what was run.
pub(crate) async fn reset(nodes: &Nodes) -> Result<()> {
    nodes.all("SLOWLOG", &["RESET"]).await?;
    nodes.all("CONFIG", &["RESETSTAT"]).await?;
    Ok(())
}

/// The names of the service's scripts by their hashes.
fn scripts() -> BTreeMap<String, &'static str> {
    store::scripts().map(|(name, text)| (fred::util::sha1_hash(text), name)).collect()
}

fn name_of(command: Vec<Value>, scripts: &BTreeMap<String, &str>) -> String {
    let words: Vec<String> = command.iter().take(2).filter_map(|word| word.as_string()).collect();
    match &words[..] {
        [verb, sha] if verb.eq_ignore_ascii_case("evalsha") => {
            format!("script {}", scripts.get(sha).unwrap_or(&"unknown"))
        }
        [verb, key] if key.starts_with(raw::PLAIN) => format!("{}{OF_PLAIN}", verb.to_uppercase()),
        [verb, ..] => verb.to_uppercase(),
        [] => "unknown".to_owned(),
    }
}
