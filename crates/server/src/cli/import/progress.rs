//! How far an import is: rows that the server's back-pressure let through.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use futures::{Stream, StreamExt, stream};
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use socialgraph::v1::ImportEdgesRequest;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::parse::Batch;

/// Counts rows as the connection takes them.
#[derive(Clone)]
pub(super) struct Progress {
    sent: Arc<AtomicU64>,
    line: Arc<AtomicU64>,
    bar: ProgressBar,
}

impl Progress {
    /// A bar is drawn on standard error if that is a terminal and `visible`.
    pub(super) fn start(size: Option<u64>, visible: bool) -> Self {
        // A terminal is told by the library: elsewhere it draws nothing.
        let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let sent = Arc::new(AtomicU64::new(0));
        let bar = ProgressBar::with_draw_target(size, target).with_style(style(size.is_some(), Arc::clone(&sent)));
        Self { sent, line: Arc::default(), bar }
    }

    /// The rows of the batches, each counted when it is taken.
    pub(super) fn count(&self, batches: mpsc::Receiver<Batch>) -> impl Stream<Item = ImportEdgesRequest> + use<> {
        let this = self.clone();
        let sent = Arc::clone(&self.sent);
        ReceiverStream::new(batches)
            .flat_map(move |batch| {
                this.bar.set_position(batch.bytes);
                this.line.store(batch.line, Ordering::Relaxed);
                stream::iter(batch.rows)
            })
            .inspect(move |_| {
                sent.fetch_add(1, Ordering::Relaxed);
            })
    }

    /// Rows taken so far.
    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// The line of the last of them, or one of the next thousand.
    pub(super) fn line(&self) -> u64 {
        self.line.load(Ordering::Relaxed)
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn style(sized: bool, sent: Arc<AtomicU64>) -> ProgressStyle {
    let template = if sized {
        "{wide_bar} {bytes}/{total_bytes}  {rows}  eta {eta}"
    } else {
        "{spinner} {bytes}  {rows}  {elapsed}"
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).with_key(
        "rows",
        move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let sent = sent.load(Ordering::Relaxed);
            // Nothing is left to do when a terminal cannot be written.
            let _ = write!(out, "{} rows  {}/s", HumanCount(sent), HumanCount(super::rate(sent, state.elapsed())));
        },
    )
}
