use std::{
    fs,
    io::{Read, Seek, SeekFrom},
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use tokio::{
    sync::Mutex,
    time::{sleep, timeout_at},
};

use crate::{
    Error,
    cli::{self, Cli},
    config,
    dir::DataDir,
    options::Options,
    ports::Ports,
    process::Process,
    view,
};

/// What a node was when [`LocalCluster::start`](crate::LocalCluster::start) returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It has slots, or is the single server.
    Primary,
    /// It follows a primary.
    Replica,
}

/// One server.
#[derive(Debug)]
pub struct Node {
    pub(crate) index: usize,
    pub(crate) ports: Ports,
    pub(crate) id: Option<String>,
    pub(crate) role: Role,
    pub(crate) process: Mutex<Option<Process>>,
    dir: PathBuf,
    pid: AtomicU32,
    /// Where in the log the present process begins.
    log_start: AtomicU64,
}

impl Node {
    pub(crate) fn new(index: usize, ports: Ports, dir: &DataDir) -> Self {
        Self {
            index,
            ports,
            id: None,
            role: Role::Primary,
            process: Mutex::new(None),
            dir: dir.node(index),
            pid: AtomicU32::new(0),
            log_start: AtomicU64::new(0),
        }
    }

    /// Its number, counted from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Where clients reach it. Stays the same while the cluster lives.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.ports.client).into()
    }

    /// Its id in the cluster; none for a single server.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Its role when the cluster was started; a failover changes what it is, and not this.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Its process, or none after a kill.
    pub fn pid(&self) -> Option<u32> {
        Some(self.pid.load(Ordering::Relaxed)).filter(|pid| *pid != 0)
    }

    /// Writes its configuration and starts its process. Does not wait.
    pub(crate) async fn launch(&self, options: &Options, dir: &DataDir) -> Result<(), Error> {
        let mut slot = self.process.lock().await;
        fs::create_dir_all(&self.dir).map_err(Error::io("create", &self.dir))?;
        let config = self.dir.join(config::FILE);
        fs::write(&config, config::render(&self.dir, self.ports, options.topology, &options.settings))
            .map_err(Error::io("write", &config))?;
        let log = self.log_path();
        self.log_start.store(fs::metadata(&log).map_or(0, |file| file.len()), Ordering::Relaxed);
        let remove = options.temporary.is_some().then(|| dir.path());
        let process = Process::spawn(&options.server, &config, &log, remove)?;
        self.pid.store(process.pid(), Ordering::Relaxed);
        *slot = Some(process);
        Ok(())
    }

    /// Waits until its process answers and has loaded its data.
    pub(crate) async fn up(&self, cli: &Cli, limit: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + limit;
        let mut waiting_for;
        loop {
            if self.process.lock().await.as_mut().is_none_or(Process::ended) {
                let log = self.log();
                return Err(Error::Died { port_taken: log.contains("Failed listening on port"), log });
            }
            match timeout_at(deadline.into(), cli.command(self.address(), &["INFO", "server", "persistence"])).await {
                Ok(Ok(info)) if self.is_loaded(&info) => break,
                Ok(Ok(_)) => waiting_for = "loading its data".to_owned(),
                Ok(Err(error)) => waiting_for = error.to_string(),
                Err(_) => waiting_for = "an answer".to_owned(),
            }
            if Instant::now() >= deadline {
                let waiting_for = format!("node {} {waiting_for}", self.index);
                return Err(Error::NotReady { after: limit, waiting_for, log: self.log() });
            }
            sleep(Duration::from_millis(20)).await;
        }
        // At run time, because a server that was built without it does not start when its file asks for it.
        if cli.command(self.address(), &["CONFIG", "SET", "activedefrag", "yes"]).await.is_err() {
            tracing::debug!(node = self.index, "this redis has no active defragmentation");
        }
        Ok(())
    }

    /// Whether a reply to INFO comes from the present process, and not from another server on a port that this one failed
    /// to get, and says that all is loaded.
    fn is_loaded(&self, info: &str) -> bool {
        let process = view::field(info, "process_id").and_then(|id| id.parse().ok());
        process == self.pid() && view::field(info, "loading") == Some("0")
    }

    pub(crate) fn forget_process(&self, slot: &mut Option<Process>) {
        *slot = None;
        self.pid.store(0, Ordering::Relaxed);
    }

    /// The end of what the present process has logged.
    pub(crate) fn log(&self) -> String {
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = fs::File::open(self.log_path())?;
            file.seek(SeekFrom::Start(self.log_start.load(Ordering::Relaxed)))?;
            let mut text = Vec::new();
            file.read_to_end(&mut text)?;
            Ok(text)
        };
        let text = read().unwrap_or_else(|error| format!("(no log: {error})").into_bytes());
        cli::tail(&String::from_utf8_lossy(&text), 15)
    }

    fn log_path(&self) -> PathBuf {
        self.dir.join("redis.log")
    }
}
