//! How long calls take.

use std::time::{Duration, Instant};

use crate::Result;

/// The time that a call takes, and its answer.
pub(crate) async fn time<T>(call: impl Future<Output = Result<T>>) -> Result<(Duration, T)> {
    let started = Instant::now();
    let answer = call.await?;
    Ok((started.elapsed(), answer))
}

/// The times of many calls.
#[derive(Clone, Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// The `n`th of ten even parts, in the order of the calls.
    pub(crate) fn tenth(&self, n: usize) -> Self {
        let of = |n: usize| self.0.len() * n / 10;
        Self(self.0[of(n)..of(n + 1)].to_vec())
    }

    pub(crate) fn total(&self) -> Duration {
        self.0.iter().sum()
    }

    /// In microseconds; 100 gives the longest.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        sorted.get((sorted.len() * percent / 100).min(last)).map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
    }

    /// In microseconds.
    pub(crate) fn median(&self) -> f64 {
        self.percentile(50)
    }
}
