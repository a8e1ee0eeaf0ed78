//! The binary as a process of its own, for what is one a process: metrics, signals, exit codes.

use std::process::{ExitStatus, Stdio};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    process::{Child, Command},
    time::timeout,
};

use super::{Api, LIMIT, Place};

/// A running `socialgraph serve`. Dropped, it is killed.
pub(crate) struct Process {
    child: Child,
    admin: String,
    pub(crate) endpoint: String,
    pub(crate) api: Api,
}

impl Process {
    /// Starts it and waits until it says that it is ready.
    pub(crate) async fn serve(place: &Place, more: &[(&'static str, &str)]) -> Self {
        let mut child = command(place, more).stderr(Stdio::null()).spawn().expect("start");
        let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
        let line = timeout(LIMIT, lines.next_line()).await.expect("ready in time").expect("output").expect("ready");
        let part = |name: &str| {
            line.split(' ').find_map(|word| word.strip_prefix(name)).unwrap_or_else(|| panic!("{line}")).to_owned()
        };
        let endpoint = format!("http://{}", part("grpc="));
        let api = Api::connect(&endpoint).await;
        Self { child, admin: part("admin=http://"), endpoint, api }
    }

    /// Runs it where it cannot serve, and gives its exit code and what it says.
    pub(crate) async fn fails(place: &Place, more: &[(&'static str, &str)]) -> (Option<i32>, String) {
        let output = timeout(LIMIT, command(place, more).output()).await.expect("ends in time").expect("output");
        (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
    }

    /// What `/metrics` shows.
    pub(crate) async fn metrics(&self) -> String {
        let mut connection = TcpStream::connect(&self.admin).await.expect("admin port");
        let request = format!("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.admin);
        connection.write_all(request.as_bytes()).await.expect("send");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.expect("receive");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer
    }

    /// The value of a metric, with its labels as they are shown; `None` if it is not.
    pub(crate) async fn metric(&self, name: &str) -> Option<f64> {
        let metrics = self.metrics().await;
        let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        Some(value.parse().expect("a number"))
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = self.child.id().expect("running");
        kill(Pid::from_raw(pid.cast_signed()), signal).expect("signal");
    }

    pub(crate) async fn ended(&mut self) -> ExitStatus {
        timeout(LIMIT, self.child.wait()).await.expect("ends in time").expect("ends")
    }
}

fn command(place: &Place, more: &[(&'static str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_socialgraph"));
    command.arg("serve").stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    // Later settings win in `Place::settings`, but a flag may be given only once.
    let settings: std::collections::BTreeMap<_, _> = place.settings(more).into_iter().collect();
    for (key, text) in settings {
        command.arg(format!("--{}", key.replace('.', "-"))).arg(text);
    }
    command
}
