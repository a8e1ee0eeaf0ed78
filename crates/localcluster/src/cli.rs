use std::{
    ffi::OsStr,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};

use tokio::{process::Command, time::timeout};

use crate::Error;

/// How long one ordinary command may take.
pub(crate) const COMMAND_LIMIT: Duration = Duration::from_secs(10);

/// redis-cli.
#[derive(Clone, Debug)]
pub(crate) struct Cli {
    path: PathBuf,
}

impl Cli {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Runs one command on one server and returns the reply as redis-cli prints it, without the last line end.
    pub(crate) async fn command<S: AsRef<str>>(&self, to: SocketAddr, command: &[S]) -> Result<String, Error> {
        let (host, port) = (to.ip().to_string(), to.port().to_string());
        let mut arguments = vec!["-e", "-h", &host, "-p", &port];
        arguments.extend(command.iter().map(AsRef::as_ref));
        self.run(&arguments, COMMAND_LIMIT).await
    }

    /// Runs redis-cli with these arguments. It is killed when it takes longer than `limit`.
    pub(crate) async fn run(&self, arguments: &[&str], limit: Duration) -> Result<String, Error> {
        let command = || arguments.join(" ");
        let output = timeout(limit, output(&self.path, arguments))
            .await
            .map_err(|_| Error::CliTimeout { command: command(), after: limit })??;
        let printed = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
        if output.status.success() {
            return Ok(printed);
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let message = [tail(&printed, 10).as_str(), errors.trim()].join("\n").trim().to_owned();
        Err(Error::Cli { command: command(), message })
    }
}

/// Runs a program to its end.
async fn output<S: AsRef<OsStr>>(path: &Path, arguments: &[S]) -> Result<Output, Error> {
    Command::new(path)
        .args(arguments)
        // The servers have no password, and fail a client that sends one.
        .env_remove("REDISCLI_AUTH")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                Error::Missing(path.to_owned())
            } else {
                Error::io("run", path)(error)
            }
        })
}

/// Fails if the server or the client binary is missing or older than 7.0.
pub(crate) async fn check_versions(server: &Path, cli: &Path) -> Result<(), Error> {
    for path in [server, cli] {
        let says = String::from_utf8_lossy(&output(path, &["--version"]).await?.stdout).trim().to_owned();
        if version(&says).is_none_or(|major| major < 7) {
            return Err(Error::Unsupported { path: path.to_owned(), says });
        }
    }
    Ok(())
}

/// The major version in `Redis server v=7.0.15 sha=…`, `redis-cli 7.0.15` or the same of Valkey.
fn version(says: &str) -> Option<u32> {
    says.split_whitespace().find_map(|word| word.trim_start_matches("v=").split_once('.')?.0.parse().ok())
}

/// The last lines of a text.
pub(crate) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(version("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64"), Some(7));
        assert_eq!(version("Valkey server v=9.1.0 sha=0:0 malloc=libc"), Some(9));
        assert_eq!(version("redis-cli 6.2.1"), Some(6));
        assert_eq!(version("true (GNU coreutils)"), None);
    }

    #[test]
    fn the_tail_is_the_last_lines() {
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc");
        assert_eq!(tail("a", 2), "a");
    }
}
