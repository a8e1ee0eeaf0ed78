//! Servers that an earlier process left running on a directory.
//!
//! The watchers end the servers of a process that died, but it takes them a moment, and they can be killed too.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::time::sleep;

use crate::{Error, config};

/// Follows the configuration file in a server's command line. It is also what keeps that command line readable: without
/// it Redis overwrites it.
pub(crate) const MARK: [&str; 2] = ["--set-proc-title", "no"];

const TERM_LIMIT: Duration = Duration::from_secs(8);
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// Stops the servers, and their watchers, that run on the configuration files below `dir`. Where there is no `/proc`,
/// none are found.
pub(crate) async fn stop(dir: &Path) -> Result<(), Error> {
    let found = find(dir);
    if found.is_empty() {
        return Ok(());
    }
    tracing::warn!(dir = %dir.display(), processes = found.len(), "stopping redis servers left from before");
    // A stopped process only takes SIGTERM when it continues.
    signal(&found, Signal::SIGCONT);
    signal(&found, Signal::SIGTERM);
    if gone(dir, TERM_LIMIT).await {
        return Ok(());
    }
    signal(&find(dir), Signal::SIGKILL);
    if gone(dir, KILL_LIMIT).await {
        return Ok(());
    }
    Err(Error::Leftovers { dir: dir.to_owned(), pids: find(dir).into_iter().map(Pid::as_raw).collect() })
}

async fn gone(dir: &Path, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    while !find(dir).is_empty() {
        if Instant::now() >= deadline {
            return false;
        }
        sleep(Duration::from_millis(20)).await;
    }
    true
}

fn signal(pids: &[Pid], signal: Signal) {
    for pid in pids {
        // It may have ended meanwhile; one that can't be signalled shows in the end.
        let _ = kill(*pid, signal);
    }
}

fn find(dir: &Path) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let command_line = fs::read(entry.path().join("cmdline")).ok()?;
            runs_in(dir, &command_line).then_some(Pid::from_raw(pid))
        })
        .collect()
}

/// Whether a command line, as `/proc` has it, is of a server on a configuration file two levels below `dir`.
fn runs_in(dir: &Path, command_line: &[u8]) -> bool {
    let arguments: Vec<&str> = command_line.split(|byte| *byte == 0).filter_map(|a| str::from_utf8(a).ok()).collect();
    arguments.windows(3).any(|window| {
        let config = Path::new(window[0]);
        window[1..] == MARK && config.ends_with(config::FILE) && config.ancestors().nth(2) == Some(dir)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_servers_of_the_directory_are_recognised() {
        let dir = Path::new("/data/a b");
        let runs = |line: &str| runs_in(dir, line.replace('|', "\0").as_bytes());
        assert!(runs("redis-server|/data/a b/node-1/redis.conf|--set-proc-title|no|"));
        assert!(runs("sh|-c|script|sh||valkey-server|/data/a b/node-0/redis.conf|--set-proc-title|no|"));
        assert!(!runs("redis-server|/data/a/node-1/redis.conf|--set-proc-title|no|"));
        assert!(!runs("vi|/data/a b/node-1/redis.conf|"));
        assert!(!runs(""));
    }
}
