//! The `socialgraph` binary.

use std::process::ExitCode;

use clap::Parser;
use socialgraph_server::cli::{self, ClientCommand};

#[derive(Parser)]
#[command(version, about = "A relationship graph over Redis Cluster")]
struct Arguments {
    #[command(subcommand)]
    command: ClientCommand,
}

#[tokio::main]
async fn main() -> ExitCode {
    cli::run(Arguments::parse().command).await
}
