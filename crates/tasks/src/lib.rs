//! Background work under supervision: no orphan tasks, and none that dies unseen.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    future::Future,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::FutureExt;
use tokio::time::timeout;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The background tasks of a process. Clones share the same tasks.
///
/// A task runs until the token is cancelled. One that ends earlier, or panics, is *dead*: it is logged at ERROR, counted
/// in `socialgraph_tasks_dead_total` and takes readiness away for the rest of the process's life.
#[derive(Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    token: CancellationToken,
    names: Arc<Mutex<Names>>,
}

#[derive(Default)]
struct Names {
    running: BTreeMap<&'static str, usize>,
    dead: BTreeSet<&'static str>,
}

impl Tasks {
    /// No tasks yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a task that runs until [`Tasks::token`] is cancelled.
    pub fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let token = self.token.clone();
        self.supervise(name, task, move || token.is_cancelled());
    }

    /// Starts a piece of work that ends by itself, such as one batch. A panic in it counts as a dead task.
    pub fn spawn_once(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        self.supervise(name, work, || true);
    }

    fn supervise(
        &self,
        name: &'static str,
        work: impl Future<Output = ()> + Send + 'static,
        may_end: impl FnOnce() -> bool + Send + 'static,
    ) {
        let this = self.clone();
        *this.lock().running.entry(name).or_default() += 1;
        let supervised = async move {
            match AssertUnwindSafe(work).catch_unwind().await {
                Err(panic) => this.bury(name, &panic_message(panic.as_ref())),
                Ok(()) if !may_end() => this.bury(name, "ended"),
                Ok(()) => {}
            }
            this.forget(name);
        };
        #[expect(clippy::disallowed_methods, reason = "the one place that may spawn")]
        let _handle = self.tracker.spawn(supervised);
    }

    /// Cancelled when the tasks are to end.
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// The names of tasks that ended or panicked before they were told to.
    pub fn dead(&self) -> Vec<&'static str> {
        self.lock().dead.iter().copied().collect()
    }

    /// Cancels the token and waits for the tasks to end, for at most `limit`.
    ///
    /// # Errors
    ///
    /// The names of the tasks that still run.
    pub async fn shutdown(&self, limit: Duration) -> Result<(), Vec<&'static str>> {
        self.token.cancel();
        self.tracker.close();
        let ended = timeout(limit, self.tracker.wait()).await;
        ended.map_err(|_| self.lock().running.keys().copied().collect())
    }

    fn bury(&self, name: &'static str, cause: &str) {
        tracing::error!(task = name, cause, "background task died");
        metrics::counter!("socialgraph_tasks_dead_total", "task" => name).increment(1);
        self.lock().dead.insert(name);
    }

    fn forget(&self, name: &'static str) {
        let mut names = self.lock();
        if let Some(count) = names.running.get_mut(name) {
            *count -= 1;
            if *count == 0 {
                names.running.remove(name);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text of a caught panic, for the log.
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_ends_or_panics_is_dead_and_one_that_is_told_to_end_is_not() {
        let tasks = Tasks::new();
        tasks.spawn("ends", async {});
        tasks.spawn("panics", async { panic!("boom") });
        let token = tasks.token().clone();
        tasks.spawn("stays", async move { token.cancelled().await });
        while tasks.dead().len() < 2 {
            tokio::task::yield_now().await;
        }
        assert_eq!(tasks.shutdown(Duration::from_secs(5)).await, Ok(()));
        assert_eq!(tasks.dead(), ["ends", "panics"]);
    }

    #[tokio::test]
    async fn shutdown_gives_up_after_its_limit_and_names_who_runs() {
        let tasks = Tasks::new();
        tasks.spawn("deaf", std::future::pending());
        assert_eq!(tasks.shutdown(Duration::from_millis(1)).await, Err(vec!["deaf"]));
    }
}
