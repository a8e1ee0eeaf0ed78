//! What the cases stand on: one runtime, and one set of servers of each backend for the whole binary; a keyspace of its own
//! for each case; servers that are put together as the binary does it.

mod client;
mod exports;
mod instance;
mod lists;
mod logs;
mod process;
mod redis;
mod refusal;
mod watches;

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use keyspace::{Keyspace, PartitionCount};
use rand::{SeedableRng, rngs::StdRng};
use tokio::runtime::Runtime;

pub(crate) use client::{Api, micros, now, row, row_at, stamp};
pub(crate) use exports::{Row, assert_whole, in_order, rows};
pub(crate) use instance::Instance;
pub(crate) use lists::{Listed, ORDERS, Query, SIDES, Side, assert_mirrored};
pub(crate) use process::Process;
pub(crate) use redis::{Backend, Described, Redis};
pub(crate) use refusal::{Refusal, refused};
pub(crate) use watches::{Event, Watching};

/// How long anything may take that is waited for.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// How long to wait before looking again.
const POLL: Duration = Duration::from_millis(10);
/// Few, so that the relay, which is asked to be quick, reads little.
const PARTITIONS: u32 = 64;

/// Outlives the tests, for what lives on it does: servers, and clients of Redis.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("runtime"));

/// Runs a case in a keyspace of its own.
pub(crate) fn run<Case: Future<Output = ()>>(backend: Backend, case: impl FnOnce(Place) -> Case) {
    logs::watch();
    RUNTIME.block_on(async { case(Place::new(backend).await).await });
    logs::assert_no_error();
}

/// A backend, and in it an empty keyspace that nobody else uses.
pub(crate) struct Place {
    pub(crate) backend: Backend,
    pub(crate) redis: &'static Redis,
    pub(crate) name: String,
    pub(crate) partitions: u32,
    /// Settings of all servers here that differ from the usual ones.
    pub(crate) more: Vec<(&'static str, String)>,
}

impl Place {
    async fn new(backend: Backend) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("it-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        Self { backend, redis: Redis::shared(backend).await, name, partitions: PARTITIONS, more: Vec::new() }
    }

    /// Another empty keyspace in the same Redis.
    pub(crate) async fn another(&self) -> Self {
        Self::new(self.backend).await
    }

    pub(crate) fn keys(&self) -> Keyspace {
        Keyspace::new(&self.name, PartitionCount::new(self.partitions).expect("count")).expect("name")
    }

    /// The settings of a server here: quick to relay and to stop. `more` wins over them.
    pub(crate) fn settings(&self, more: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
        let partitions = self.partitions.to_string();
        let urls = self.redis.urls();
        let ours = [
            ("listen", "127.0.0.1:0"),
            ("admin-listen", "127.0.0.1:0"),
            ("admin-grpc-listen", "127.0.0.1:0"),
            ("redis.urls", &urls),
            ("redis.mode", self.backend.mode()),
            ("keyspace.name", &self.name),
            ("keyspace.partitions", &partitions),
            ("server.drain-delay", "0s"),
            ("relay.interval", "100ms"),
            ("relay.min-age", "300ms"),
            ("relay.lease", "1s"),
        ];
        let more = self.more.iter().map(|(key, text)| (*key, text.as_str())).chain(more.iter().copied());
        ours.into_iter().chain(more).map(|(key, text)| (key, text.to_owned())).collect()
    }

    /// Starts a server here. There may be several.
    pub(crate) async fn serve(&self, more: &[(&'static str, &str)]) -> Instance {
        Instance::start(self.settings(more)).await.expect("start")
    }

    /// Waits until no change is pending any more.
    pub(crate) async fn settled(&self) {
        let keys = self.keys();
        let pending: Vec<_> = keys.partitions().all().map(|partition| keys.pending(partition).to_string()).collect();
        eventually("all changes are settled", async || self.redis.has_none(&pending).await.then_some(())).await;
    }

    /// Every key here with a digest of its value, except what servers renew all the time and what they try out at their start.
    /// Nothing was written between two equal ones.
    pub(crate) async fn snapshot(&self) -> BTreeMap<String, String> {
        self.settled().await;
        let described = self.redis.describe(&format!("{}:*", self.name)).await;
        let lasting =
            described.into_iter().filter(|key| !key.key.ends_with(":instances") && !key.key.contains(":trial:"));
        lasting.map(|key| (key.key, key.digest)).collect()
    }
}

/// Waits until `attempt` gives something.
pub(crate) async fn eventually<T>(what: &str, mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(value) = attempt().await {
            return value;
        }
        assert!(Instant::now() < deadline, "waited {LIMIT:?} in vain: {what}");
        tokio::time::sleep(POLL).await;
    }
}

/// A random generator whose seed a failing test shows. `IT_SEED` repeats a run.
pub(crate) fn seeded() -> StdRng {
    let seed = std::env::var("IT_SEED").ok().map_or_else(rand::random, |text| text.parse().expect("IT_SEED"));
    show(&format!("IT_SEED={seed}"));
    StdRng::seed_from_u64(seed)
}

/// Prints a line about the running test past the capture of the test harness, so that every run shows it.
fn show(line: &str) {
    use std::io::Write;

    let line = format!("{line} for {}\n", std::thread::current().name().unwrap_or_default());
    std::io::stderr().write_all(line.as_bytes()).expect("stderr");
}
