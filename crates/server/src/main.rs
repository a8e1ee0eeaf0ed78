//! The binary: reads the command line and the configuration, composes a server, and exits.

use std::{error::Error, io::Write as _, process::ExitCode, sync::Arc};

use clap::{Parser, Subcommand};
use socialgraph_server::{
    config::{self, Config, Flags, Mode},
    readiness::Readiness,
    serve::{Parts, Server},
    signal::shutdown_on_signal,
    telemetry::{self, Telemetry},
};
use tasks::Tasks;
use tonic::service::Routes;

/// The exit code of a wrong command line or configuration, as clap has it.
const USAGE: u8 = 2;

/// A relationship-graph service over Redis Cluster.
#[derive(Parser)]
#[command(name = "socialgraph", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serves over a Redis that runs elsewhere.
    Serve(Flags),
    /// Starts a Redis Cluster of its own and serves, for development.
    Dev(Flags),
    /// Prints the reference of the configuration, docs/configuration.md.
    ConfigReference,
    /// Prints the reference of the metrics, docs/metrics.md.
    MetricsReference,
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Serve(flags) => start(Mode::Serve, &flags),
        Command::Dev(flags) => start(Mode::Dev, &flags),
        Command::ConfigReference => print(&config::reference()),
        Command::MetricsReference => print(&telemetry::metrics::reference()),
    }
}

fn start(mode: Mode, flags: &Flags) -> ExitCode {
    let config = match config::load(mode, flags, std::env::vars_os()) {
        Ok(config) => config,
        Err(problems) => {
            complain(&problems);
            return ExitCode::from(USAGE);
        }
    };
    let served = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Into::into)
        .and_then(|runtime| runtime.block_on(serve(config)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(error.as_ref());
            ExitCode::FAILURE
        }
    }
}

async fn serve(config: Config) -> Result<(), Box<dyn Error>> {
    let telemetry = Telemetry::install(&config)?;
    telemetry::log_config(&config);
    let tasks = Tasks::new();
    let shutdown = shutdown_on_signal(&tasks)?;
    let readiness = Readiness::new(&tasks);
    readiness.watch_store(async || Ok(()));
    let metrics = telemetry.metrics().clone();
    let parts = Parts { config: Arc::new(config), routes: Routes::default(), readiness, tasks, metrics };
    let served = async { Server::bind(parts).await?.run(shutdown).await }.await;
    telemetry.shutdown().await;
    Ok(served?)
}

fn print(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn complain(error: &dyn Error) {
    // Nothing is left to do if stderr is closed.
    let _ = writeln!(std::io::stderr(), "socialgraph: {error}");
}
