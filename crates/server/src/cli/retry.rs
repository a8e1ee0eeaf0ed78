//! Long calls that are begun again when the server was away.

use std::{error::Error as _, time::Duration};

use tokio::time::sleep;
use tonic::{Code, Status, TimeoutExpired};
use tonic_types::StatusExt;

/// How often a call is begun again without getting any further. With the pauses longer than a restart or a failover takes.
const ATTEMPTS: u32 = 30;
/// How long to wait before that, if the server does not say.
const PAUSE: Duration = Duration::from_secs(1);

/// How often a call may still be begun again.
pub(super) struct Retries {
    left: u32,
}

impl Retries {
    pub(super) fn new() -> Self {
        Self { left: ATTEMPTS }
    }

    /// The call got further than the one before.
    pub(super) fn progressed(&mut self) {
        self.left = ATTEMPTS;
    }

    /// Waits until the call may be begun again; gives the status back if that is of no use.
    pub(super) async fn wait(&mut self, status: Status) -> Result<(), Status> {
        let delay = status.get_details_retry_info().and_then(|retry| retry.retry_delay);
        let is_worth_it = if status.code() == Code::ResourceExhausted {
            delay.is_some()
        } else {
            // Or a connection that broke, of which tonic makes many codes.
            status.code() == Code::Unavailable || status.source().is_some_and(|cause| !cause.is::<TimeoutExpired>())
        };
        if !is_worth_it || self.left == 0 {
            return Err(status);
        }
        self.left -= 1;
        sleep(delay.unwrap_or(PAUSE)).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_may_get_better_is_tried_again_so_many_times() {
        let mut retries = Retries::new();
        for _ in 0..ATTEMPTS {
            assert!(retries.wait(Status::unavailable("away")).await.is_ok());
        }
        assert_eq!(retries.wait(Status::unavailable("away")).await.unwrap_err().code(), Code::Unavailable);
        retries.progressed();
        assert!(retries.wait(Status::unavailable("away")).await.is_ok());
        for status in [Status::invalid_argument("bad"), Status::resource_exhausted("limit"), Status::internal("bug")] {
            assert!(retries.wait(status).await.is_err());
        }
    }
}
