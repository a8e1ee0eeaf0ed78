//! The binary: reads the command line and the configuration, composes a server, and exits.

// Layouts of nested futures are deep, and how deep rustc asks for them depends on the path of the checkout.
#![recursion_limit = "512"]

use std::{error::Error, io::Write as _, path::PathBuf, process::ExitCode, sync::Arc};

use clap::{Args, Parser, Subcommand};
use socialgraph_server::{
    app::{self, AppError},
    cli::{self, ClientCommand},
    config::{self, Config, Flags, Mode},
    dev,
    readiness::Readiness,
    serve::Addresses,
    signal::shutdown_on_signal,
    telemetry::{self, Telemetry},
};
use tasks::Tasks;
use tokio::runtime::Runtime;

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
    Dev(Dev),
    /// Prints the reference of the configuration, docs/configuration.md.
    ConfigReference,
    /// Prints the reference of the metrics, docs/metrics.md.
    MetricsReference,
    #[command(flatten)]
    Client(ClientCommand),
}

#[derive(Args)]
struct Dev {
    /// Where Redis keeps its data; without it, the data goes with the process
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    #[command(flatten)]
    flags: Flags,
}

/// Where a server's Redis comes from.
enum Redis {
    Configured,
    Own { data_dir: Option<PathBuf> },
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Serve(flags) => start(Mode::Serve, &flags, Redis::Configured),
        Command::Dev(Dev { data_dir, flags }) => start(Mode::Dev, &flags, Redis::Own { data_dir }),
        Command::ConfigReference => print(&config::reference()),
        Command::MetricsReference => print(&telemetry::metrics::reference()),
        Command::Client(command) => match Runtime::new() {
            Ok(runtime) => runtime.block_on(cli::run(command)),
            Err(error) => fail(&error),
        },
    }
}

fn start(mode: Mode, flags: &Flags, redis: Redis) -> ExitCode {
    let config = match config::load(mode, flags, std::env::vars_os()) {
        Ok(config) => config,
        Err(problems) => {
            complain(&problems);
            return ExitCode::from(USAGE);
        }
    };
    let served = Runtime::new().map_err(Into::into).and_then(|runtime| runtime.block_on(serve(config, redis)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(error.as_ref()),
    }
}

async fn serve(mut config: Config, redis: Redis) -> Result<(), Box<dyn Error>> {
    let telemetry = Telemetry::install(&config)?;
    let tasks = Tasks::new();
    let shutdown = shutdown_on_signal(&tasks)?;
    let cluster = match redis {
        Redis::Configured => None,
        Redis::Own { data_dir } => Some(dev::start(data_dir, &mut config).await?),
    };
    telemetry::log_config(&config);
    let redis = config.redis.urls.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let metrics = telemetry.metrics().clone();
    let served = match app::open(Arc::new(config), &tasks, metrics, &shutdown).await {
        Ok((server, readiness)) => {
            tasks.spawn_once("announce", announce(readiness, server.addresses(), redis));
            server.run(shutdown).await.map_err(Into::into)
        }
        Err(AppError::Stopped) => Ok(()),
        Err(error) => Err(error.into()),
    };
    if let Some(cluster) = cluster {
        cluster.stop().await;
    }
    telemetry.shutdown().await;
    served
}

/// Prints the line that tells people and scripts that the server is ready, and where.
async fn announce(readiness: Readiness, addresses: Addresses, redis: String) {
    readiness.ready().await;
    let Addresses { grpc, admin, admin_grpc } = addresses;
    print(&format!("socialgraph is ready: grpc={grpc} admin=http://{admin} admin-grpc={admin_grpc} redis={redis}\n"));
}

fn print(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn fail(error: &dyn Error) -> ExitCode {
    complain(error);
    ExitCode::FAILURE
}

fn complain(error: &dyn Error) {
    // Nothing is left to do if stderr is closed.
    let _ = writeln!(std::io::stderr(), "socialgraph: {error}");
}
