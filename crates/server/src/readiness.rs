//! Whether the server should get traffic: one answer for `/readyz` and for gRPC health.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tasks::Tasks;
use tokio::{
    sync::Notify,
    time::{MissedTickBehavior, interval, timeout},
};

/// How often the store is probed, and how long a probe may take: together they keep answers younger than a second.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// The readiness of a server. Clones share it.
#[derive(Clone)]
pub struct Readiness {
    tasks: Tasks,
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

struct State {
    draining: bool,
    store: Result<(), String>,
}

impl Readiness {
    /// Not ready until the store's first good probe. `tasks` are those whose death takes readiness away.
    pub fn new(tasks: &Tasks) -> Self {
        Self {
            tasks: tasks.clone(),
            state: Arc::new(Mutex::new(State { draining: false, store: Err("not asked yet".to_owned()) })),
            changed: Arc::default(),
        }
    }

    /// Probes the store in the background, now and twice a second. A probe that hangs counts as failed after 500 ms.
    pub fn watch_store<F, Fut>(&self, probe: F)
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), String>> + Send,
    {
        let this = self.clone();
        let token = self.tasks.token().clone();
        self.tasks.spawn("store-probe", async move {
            let mut ticks = interval(PROBE_INTERVAL);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let forever = async {
                loop {
                    ticks.tick().await;
                    let outcome = timeout(PROBE_TIMEOUT, probe()).await;
                    this.set_store(outcome.unwrap_or_else(|_| Err("does not answer".to_owned())));
                }
            };
            token.run_until_cancelled(forever).await.unwrap_or(())
        });
    }

    /// Not ready any more, for good.
    pub fn drain(&self) {
        self.lock().draining = true;
        self.changed.notify_waiters();
    }

    /// Why the server is not ready; empty if it is. Never waits.
    pub fn reasons(&self) -> Vec<String> {
        let dead = self.tasks.dead().into_iter().map(|task| format!("background task {task} died"));
        let state = self.lock();
        let draining = state.draining.then(|| "draining".to_owned());
        let store = state.store.as_ref().err().map(|reason| format!("store: {reason}"));
        draining.into_iter().chain(store).chain(dead).collect()
    }

    /// Whether the server should get traffic. Never waits.
    pub fn is_ready(&self) -> bool {
        self.reasons().is_empty()
    }

    /// Ends once the server is ready.
    pub async fn ready(&self) {
        loop {
            let changed = self.changed.notified();
            if self.is_ready() {
                return;
            }
            changed.await;
        }
    }

    /// Ends after a change of the store's state or of draining. A dead task makes no such change: ask now and then.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn set_store(&self, outcome: Result<(), String>) {
        let before = std::mem::replace(&mut self.lock().store, outcome.clone());
        if before == outcome {
            return;
        }
        match &outcome {
            Ok(()) => tracing::info!("store is reachable"),
            Err(reason) => tracing::warn!(reason, "store is not reachable"),
        }
        self.changed.notify_waiters();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::atomic::{AtomicU32, Ordering},
    };

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn readiness_follows_the_store_the_tasks_and_the_drain() {
        let tasks = Tasks::new();
        let readiness = Readiness::new(&tasks);
        assert_eq!(readiness.reasons(), ["store: not asked yet"]);

        let store = Arc::new(AtomicU32::new(0));
        readiness.watch_store({
            let store = store.clone();
            move || {
                let state = store.load(Ordering::Relaxed);
                async move {
                    match state {
                        0 => Ok(()),
                        1 => Err("slot 7 is not served".to_owned()),
                        _ => pending().await,
                    }
                }
            }
        });
        let states: [(u32, &[&str]); 4] =
            [(0, &[]), (1, &["store: slot 7 is not served"]), (2, &["store: does not answer"]), (0, &[])];
        for (state, expected) in states {
            store.store(state, Ordering::Relaxed);
            readiness.changed().await;
            assert_eq!(readiness.reasons(), expected);
        }

        tasks.spawn("worker", async {});
        while tasks.dead().is_empty() {
            tokio::task::yield_now().await;
        }
        readiness.drain();
        assert_eq!(readiness.reasons(), ["draining", "background task worker died"]);
        assert_eq!(tasks.shutdown(Duration::from_secs(1)).await, Ok(()));
    }
}
