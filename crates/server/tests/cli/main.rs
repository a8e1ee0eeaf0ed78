//! The client subcommands against a server that records what arrives.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests")]

mod admin;
mod answers;
mod batches;
mod blocks;
mod calls;
mod export;
mod feed;
mod handlers;
mod import;
mod lists;
mod posts;
mod relations;
mod server;
mod watch;

use std::process::ExitCode;

use clap::Parser;
use socialgraph_server::cli::{self, ClientCommand};

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: ClientCommand,
}

/// What a command printed, and whether it exited with 0.
struct Outcome {
    ok: bool,
    out: String,
    err: String,
}

impl Outcome {
    /// The one JSON document that was printed.
    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }
}

/// Runs a command line, such as `follow 1 2`, against an endpoint.
async fn run(endpoint: &str, line: &str) -> Outcome {
    run_words(endpoint, &line.split(' ').collect::<Vec<_>>()).await
}

async fn run_words(endpoint: &str, words: &[&str]) -> Outcome {
    let arguments = [&["socialgraph"], words, &["--endpoint", endpoint]].concat();
    let command = Arguments::try_parse_from(arguments).unwrap().command;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = cli::execute(command, &mut out, &mut err).await;
    let (out, err) = (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap());
    Outcome { ok: code == ExitCode::SUCCESS, out, err }
}

#[test]
fn the_command_line_is_well_formed() {
    use clap::CommandFactory;
    Arguments::command().debug_assert();
}

#[test]
fn bad_command_lines_are_refused() {
    for line in [
        "follow 1",
        "follow 1 two",
        "follow 1 9223372036854775808",
        "batch-is-following 1",
        "batch-follow 1",
        "batch-unfollow 1",
        "counts",
        "topology 1",
        "verify",
        "verify 1 --page-size many",
        "unfollow 1 2 --feed-policy burn",
        "is-following 1 2 --consistency fully-consistent --at-least-as-fresh x",
        "publish",
        "publish 1 --content a --content-file b",
        "publish 1 --attribute key",
        "publish 1 --published-at yesterday",
        "scroll 1 --offset 1",
        "scroll 1 --max-time-ms 1 --page-token x",
        "scroll 1 --view everything",
        "get-posts",
        "get-posts 1",
        "get-posts 1:2 3:x",
        "list-posts 1 --view everything",
        "list-following 1 --from yesterday",
        "common-follows 1 2 --time-budget soon",
        "import x --timeout 1s",
        "relationships 1",
        "mutuals 1 --order best-first",
        "known-followers 1",
        "common-followers 1 2 --time-budget soon",
        "counts 1 --consistency fully-consistent --at-least-as-fresh x",
    ] {
        let words = ["socialgraph"].into_iter().chain(line.split(' '));
        assert!(Arguments::try_parse_from(words).is_err(), "{line}");
    }
}
