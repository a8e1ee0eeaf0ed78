//! A server process that can't outlive this one.
//!
//! Each server is started by a small shell script that leaves a watcher behind and then becomes the server. The watcher
//! reads a pipe that only this process can write to. When the pipe closes, by intent or because this process was killed,
//! the watcher ends the server. Server and watcher have a process group of their own, so that Ctrl-C at a terminal reaches
//! this process first, and so that the server's pid can't be given to another process while the watcher may signal it.

use std::{
    fs::OpenOptions,
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill, killpg},
    unistd::Pid,
};
use tokio::time::sleep;

use crate::{Error, leftovers};

/// Its first argument is a directory to remove in the end, or empty. The rest is the server's command line.
const SCRIPT: &str = r#"
remove=$1
shift
exec 3<&0 </dev/null
(
    trap '' HUP INT QUIT TERM
    read -r _ <&3
    kill -CONT $$
    if [ -z "$remove" ]; then
        kill -TERM $$
        tries=0
        # A dead process that nobody has waited for can be signalled, but has no executable.
        while [ $tries -lt 50 ] && kill -0 $$ && { [ ! -d /proc/$$ ] || [ -e /proc/$$/exe ]; }; do
            sleep 0.1
            tries=$((tries + 1))
        done
    fi
    kill -KILL $$
    if [ -n "$remove" ]; then rm -rf -- "$remove"; fi
    kill -KILL 0
) 2>/dev/null &
exec 3<&- "$@"
"#;

const POLL: Duration = Duration::from_millis(10);

/// A running server. Dropping it asks the watcher to end the server, and doesn't wait.
///
/// Not a `tokio::process::Child`, which is tied to the runtime that started it: tests share servers between runtimes.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    pid: Pid,
    watched: bool,
}

impl Process {
    /// Starts `server` with the configuration file `config`; what it prints is appended to `log`. If `remove` is given,
    /// the data is worth nothing: when this process ends the server is killed and that directory is removed.
    pub(crate) fn spawn(server: &Path, config: &Path, log: &Path, remove: Option<&Path>) -> Result<Self, Error> {
        let output =
            OpenOptions::new().create(true).append(true).open(log).map_err(Error::io("open the log file", log))?;
        let errors = output.try_clone().map_err(Error::io("open the log file", log))?;
        let child = Command::new("sh")
            .args(["-c", SCRIPT, "sh"])
            .arg(remove.unwrap_or(Path::new("")))
            .arg(server)
            .arg(config)
            .args(leftovers::MARK)
            .stdin(Stdio::piped())
            .stdout(output)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(Error::io("start", server))?;
        let pid = i32::try_from(child.id()).map_err(io::Error::other).map_err(Error::io("start", server))?;
        Ok(Self { child, pid: Pid::from_raw(pid), watched: true })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended. After that its pid must not be used.
    pub(crate) fn ended(&mut self) -> bool {
        // An error means that someone else has reaped it.
        !matches!(self.child.try_wait(), Ok(None))
    }

    pub(crate) fn signal(&mut self, signal: Signal) {
        if !self.ended() {
            // Can't fail: the process is ours, and not reaped yet.
            let _ = kill(self.pid, signal);
        }
    }

    /// Kills the server, the watcher and the server's children.
    pub(crate) fn kill(&mut self) {
        if !self.ended() {
            self.kill_group();
        }
    }

    fn kill_group(&mut self) {
        // The server is not reaped yet, or the watcher lives: the group is ours.
        let _ = killpg(self.pid, Signal::SIGKILL);
        self.watched = false;
    }

    /// Waits until it has ended, and returns whether it did before `deadline`.
    pub(crate) async fn wait(&mut self, deadline: Instant) -> bool {
        while !self.ended() {
            if Instant::now() >= deadline {
                return false;
            }
            sleep(POLL).await;
        }
        true
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The watcher of a server that has ended has nothing left to do, and a directory that it was to remove may still
        // be in use by other servers.
        if self.watched && self.ended() {
            self.kill_group();
        }
    }
}
