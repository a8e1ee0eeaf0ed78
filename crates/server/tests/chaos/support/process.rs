//! The real binary.

use std::{
    net::SocketAddr,
    path::Path,
    process::{ExitStatus, Output, Stdio},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{Child, Command},
    task::JoinSet,
    time::timeout,
};

use super::LIMIT;

const FREE_PORTS: [&str; 3] = ["--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--admin-grpc-listen=127.0.0.1:0"];

/// The environment variable that names the file of a graph to test with.
pub(crate) const GRAPH_FILE: &str = "SOCIALGRAPH_TEST_GRAPH";

/// A running server.
pub(crate) struct Process {
    pub(crate) grpc: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) admin_grpc: SocketAddr,
    pub(crate) redis: Vec<SocketAddr>,
    child: Child,
    stderr: JoinSet<String>,
}

impl Process {
    /// `dev` on a directory; waits for its ready line.
    pub(crate) async fn dev(dir: &Path) -> Self {
        Self::start(command().arg("dev").arg("--data-dir").arg(dir)).await
    }

    /// `serve` over servers that run already.
    pub(crate) async fn serve(redis: &[SocketAddr], more: &[&str]) -> Self {
        let urls: Vec<_> = redis.iter().map(ToString::to_string).collect();
        Self::start(command().arg("serve").arg("--redis-urls").arg(urls.join(",")).args(more)).await
    }

    async fn start(command: &mut Command) -> Self {
        let command = command.args(FREE_PORTS).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("start the binary");
        let mut log = child.stderr.take().expect("piped");
        let mut stderr = JoinSet::new();
        stderr.spawn(async move {
            let mut text = String::new();
            log.read_to_string(&mut text).await.expect("read the log");
            text
        });
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let line = timeout(LIMIT, lines.next_line()).await.expect("ready in time").expect("read");
        let Some(line) = line else { panic!("not ready: {}", stderr.join_next().await.unwrap().unwrap()) };
        let [grpc, admin, admin_grpc, redis] = addresses(&line).unwrap_or_else(|| panic!("not a ready line: {line}"));
        Self { grpc: grpc[0], admin: admin[0], admin_grpc: admin_grpc[0], redis, child, stderr }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = self.child.id().expect("still running").cast_signed();
        kill(Pid::from_raw(pid), signal).expect("signal");
    }

    /// Waits for the end, and gives it with the log.
    pub(crate) async fn wait(mut self) -> (ExitStatus, String) {
        let status = timeout(LIMIT, self.child.wait()).await.expect("ended in time").expect("wait");
        (status, self.stderr.join_next().await.unwrap().expect("a log"))
    }

    /// SIGKILL.
    pub(crate) async fn kill(self) {
        self.signal(Signal::SIGKILL);
        self.wait().await;
    }

    /// SIGTERM, which must end the process in order and without an ERROR in its log.
    pub(crate) async fn stop(self) {
        self.signal(Signal::SIGTERM);
        self.stopped().await;
    }

    /// Waits for the end, which must be in order and without an ERROR in the log.
    pub(crate) async fn stopped(self) {
        let (status, log) = self.wait().await;
        assert!(status.success(), "{status}: {log}");
        let errors: Vec<_> = log.lines().filter(|line| line.contains("\"level\":\"ERROR\"")).collect();
        assert_eq!(errors, [""; 0]);
    }
}

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_socialgraph"));
    // The service refuses what it does not know and what begins with its name.
    command.kill_on_drop(true).env_remove(GRAPH_FILE);
    command
}

/// Reads `socialgraph is ready: grpc=… admin=http://… admin-grpc=… redis=…,…`.
fn addresses(line: &str) -> Option<[Vec<SocketAddr>; 4]> {
    let fields = line.strip_prefix("socialgraph is ready: ")?;
    let field = |name: &str| {
        let text = fields.split(' ').find_map(|field| field.strip_prefix(name)?.strip_prefix('='))?;
        let addresses = text.split(',').map(|text| text.trim_start_matches("http://").parse().ok());
        addresses.collect::<Option<Vec<SocketAddr>>>().filter(|addresses| !addresses.is_empty())
    };
    Some([field("grpc")?, field("admin")?, field("admin-grpc")?, field("redis")?])
}

/// The `import` subcommand with its standard input piped.
pub(crate) fn import(server: SocketAddr, file: &Path) -> Child {
    import_with(server, file, &[])
}

/// The same with more options.
pub(crate) fn import_with(server: SocketAddr, file: &Path, options: &[&str]) -> Child {
    client("import", server, options, file)
}

/// The `export` subcommand into a file.
pub(crate) fn export(server: SocketAddr, file: &Path) -> Child {
    client("export", server, &["--output"], file)
}

fn client(subcommand: &str, server: SocketAddr, options: &[&str], file: &Path) -> Child {
    let mut command = command();
    command.args([subcommand, "--json", "--endpoint", &format!("http://{server}")]).args(options).arg(file);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("start the subcommand")
}

/// Waits for a client subcommand.
pub(crate) async fn finish(child: Child) -> Output {
    finish_within(LIMIT, child).await
}

/// The same, for as long as is given.
pub(crate) async fn finish_within(limit: Duration, child: Child) -> Output {
    timeout(limit, child.wait_with_output()).await.expect("ended in time").expect("wait")
}
