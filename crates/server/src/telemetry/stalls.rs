//! A watchdog for the runtime: something that blocks it, such as a huge allocation or copy, delays every call at once.

use std::time::Duration;

use tasks::Tasks;
use tokio::time::{Instant, sleep};

/// How often the watchdog looks.
const INTERVAL: Duration = Duration::from_millis(100);
/// A delay that is logged.
const STALL: Duration = Duration::from_millis(250);

/// Records how late the runtime runs a task that is due, ten times a second.
pub(crate) fn watch(tasks: &Tasks) {
    let token = tasks.token().clone();
    tasks.spawn("stall-watchdog", async move {
        let forever = async {
            loop {
                let due = Instant::now() + INTERVAL;
                sleep(INTERVAL).await;
                let delay = due.elapsed();
                metrics::histogram!(super::metrics::RUNTIME_DELAY).record(delay.as_secs_f64());
                if delay >= STALL {
                    tracing::warn!(millis = delay.as_millis() as u64, "the runtime stalled; every call waited");
                }
            }
        };
        token.run_until_cancelled(forever).await.unwrap_or(())
    });
}
