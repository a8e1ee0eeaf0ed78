//! What the tests share.

pub(crate) mod caller;
pub(crate) mod graph;
pub(crate) mod http;
pub(crate) mod instance;
pub(crate) mod logs;
pub(crate) mod operation;
pub(crate) mod process;
pub(crate) mod redis;

use std::time::Duration;

use tokio::{
    sync::{Mutex, MutexGuard},
    time::{sleep, timeout},
};

/// How long anything may take before a test gives it up.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

static TURN: Mutex<()> = Mutex::const_new(());

/// Waits until the tests before are done.
pub(crate) async fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().await
}

/// The seed of this run: that of `CHAOS_SEED`, or a new one. Printed either way.
pub(crate) fn seed() -> u64 {
    let seed = match std::env::var("CHAOS_SEED") {
        Ok(text) => text.parse().expect("CHAOS_SEED is a number"),
        Err(_) => rand::random(),
    };
    show(&format!("CHAOS_SEED={seed}"));
    seed
}

/// Prints a line about the running test past the capture of the test harness, so that every run shows it.
fn show(line: &str) {
    use std::io::Write;

    let line = format!("{line} for {}\n", std::thread::current().name().unwrap_or_default());
    std::io::stderr().write_all(line.as_bytes()).expect("stderr");
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(timeout(LIMIT, waiting).await.is_ok(), "not within {LIMIT:?}: {what}");
}
