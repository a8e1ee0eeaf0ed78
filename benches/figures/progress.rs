//! What is seen while rows go by.

use std::{
    fs,
    pin::pin,
    time::{Duration, Instant},
};

use tokio::time::interval;

const SAMPLES_EVERY: Duration = Duration::from_millis(50);
pub(crate) const MIB: u64 = 1024 * 1024;

/// How many rows there were when, and the memory of this process, which is client and server.
pub(crate) struct Progress {
    started: Instant,
    /// Rising.
    samples: Vec<Sample>,
}

#[derive(Clone, Copy)]
struct Sample {
    seconds: f64,
    rows: f64,
    resident: u64,
}

impl Progress {
    /// Nothing seen yet.
    pub(crate) fn start() -> Self {
        let first = Sample { seconds: 0.0, rows: 0.0, resident: resident_bytes() };
        Self { started: Instant::now(), samples: vec![first] }
    }

    /// Does some work, and looks at it while it runs: `rows` tells how many there were.
    pub(crate) async fn of<T>(work: impl Future<Output = T>, rows: impl Fn() -> u64) -> (Self, T) {
        let (mut progress, before) = (Self::start(), rows());
        let mut working = pin!(work);
        let mut ticks = interval(SAMPLES_EVERY);
        let done = loop {
            tokio::select! {
                done = &mut working => break done,
                _ = ticks.tick() => progress.sample(rows() - before),
            }
        };
        progress.sample(rows() - before);
        (progress, done)
    }

    /// Notes that there were so many rows.
    pub(crate) fn sample(&mut self, rows: u64) {
        let seconds = self.started.elapsed().as_secs_f64();
        self.samples.push(Sample { seconds, rows: rows as f64, resident: resident_bytes() });
    }

    /// From the start to the last sample.
    pub(crate) fn seconds(&self) -> f64 {
        self.samples.last().map_or(f64::NAN, |last| last.seconds)
    }

    pub(crate) fn memory_before(&self) -> u64 {
        self.samples.first().map_or(0, |first| first.resident)
    }

    pub(crate) fn most_memory(&self) -> u64 {
        self.samples.iter().map(|sample| sample.resident).max().unwrap_or(0)
    }

    /// Rows a second of each of `parts` even parts of the rows. Rows are counted in large pieces, and thought of as even in between.
    pub(crate) fn rates(&self, rows: u64, parts: u64) -> Vec<f64> {
        let mut steps: Vec<Sample> = Vec::new();
        for &sample in &self.samples {
            if steps.last().is_none_or(|last| sample.rows > last.rows) {
                steps.push(sample);
            }
        }
        let time_of = |count: f64| {
            let after = steps.partition_point(|step| step.rows < count).clamp(1, steps.len() - 1);
            let (before, after) = (steps[after - 1], steps[after]);
            before.seconds + (after.seconds - before.seconds) * (count - before.rows) / (after.rows - before.rows)
        };
        let part = rows as f64 / parts as f64;
        (0..parts).map(|n| part / (time_of((n + 1) as f64 * part) - time_of(n as f64 * part))).collect()
    }

    /// The memory at the end of each of those parts.
    pub(crate) fn memory_at(&self, rows: u64, parts: u64) -> Vec<u64> {
        let at = |n: u64| self.samples.partition_point(|sample| sample.rows < (rows * n / parts) as f64);
        let last = self.samples.len() - 1;
        (1..=parts).map(|n| self.samples[at(n).min(last)].resident).collect()
    }
}

fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}
