//! The figures of the service on this machine, each beside that of plain fred doing the bare equivalent, from one run.
//!
//! Starts private Redis clusters and in-process servers with the usual configuration, and needs nothing else. The graph to
//! import is generated, or read from the file that `SOCIALGRAPH_BENCH_GRAPH` names: rows of two ids, perhaps with gzip, ids
//! from 0. `SOCIALGRAPH_BENCH_STAR` tells how many followers the parts `star` and `relations` are to have, instead of 1,000,000,
//! and `SOCIALGRAPH_BENCH_BULK` how many edges the part `bulk` imports and exports, in whole millions, instead of 2,000,000; 10,000,000 take some minutes and
//! some 3 GB. Parts can be chosen by name: `cargo bench … --bench figures -- import`.

mod admin;
mod blocks;
mod bulk;
mod calls;
mod census;
mod common;
mod consistency;
mod fan_out;
mod graph;
mod ids;
mod import;
mod latency;
mod load;
mod machine;
mod memory;
mod progress;
mod proxy;
mod raw;
mod recommend;
mod redis;
mod relations;
mod round_trips;
mod slowlog;
mod stage;
mod star;
mod states;
mod times;
mod watch;

use std::{env, error::Error, process::ExitCode, time::Instant};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> ExitCode {
    // cargo adds flags of its own, such as `--bench`.
    let names: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    match run(&names).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("figures: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(names: &[String]) -> Result<()> {
    let wanted = |name: &str| names.is_empty() || names.iter().any(|known| known == name);
    let started = Instant::now();
    stage::install_telemetry()?;
    machine::print().await?;
    if wanted("round-trips") {
        round_trips::print().await?;
    }
    if wanted("calls") {
        latency::print().await?;
    }
    if wanted("blocks") {
        blocks::print().await?;
    }
    if wanted("fan-out") {
        fan_out::print().await?;
    }
    if wanted("import") {
        import::print().await?;
    }
    if wanted("memory") {
        memory::print().await?;
    }
    if wanted("star") {
        star::print().await?;
    }
    if wanted("states") {
        states::print().await?;
    }
    if wanted("common") {
        common::print().await?;
    }
    if wanted("recommend") {
        recommend::print().await?;
    }
    if wanted("relations") {
        relations::print().await?;
    }
    if wanted("consistency") {
        consistency::print().await?;
    }
    if wanted("admin") {
        admin::print().await?;
    }
    if wanted("watch") {
        watch::print().await?;
    }
    if wanted("bulk") {
        bulk::print().await?;
    }
    println!("\nTook {:.0} s in all.", started.elapsed().as_secs_f64());
    Ok(())
}
