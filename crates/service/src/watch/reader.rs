use std::{convert::Infallible, time::Duration};

use futures::StreamExt;
use model::{Deadline, SnapshotPlace, TokenKey, WatchPlace};
use store::{
    Store, StoreError, Traffic,
    ops::{Change, LogEntry, LogPart, ReadLog},
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{Scope, Snapshot, WatchBatch, heads::Following};
use crate::{ExportChunk, ServiceError};

/// Logs that are read side by side. Each read gives at most 1,024 changes.
const SIDE_BY_SIDE: usize = 16;
/// How long such a read may take.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// Changes of a batch, with which it is sent. What was committed at once stays together, so that there may be 63 more.
const FULL: usize = 500;

const OPEN: &str = "socialgraph_watches";
const CHANGES: &str = "socialgraph_watch_changes_total";
const ENDED: &str = "socialgraph_watches_ended_total";
const REASONS: [&str; 5] = ["client", "slow", "expired", "stopping", "failed"];

/// Shows the metrics from the start.
pub(super) fn show_metrics() {
    metrics::gauge!(OPEN).increment(0.0);
    REASONS.into_iter().for_each(|reason| metrics::counter!(ENDED, "reason" => reason).increment(0));
}

/// Why a watch ends.
pub(super) enum End {
    /// The client has left.
    Left,
    /// The client is to be told.
    Failed(ServiceError),
}

impl End {
    fn reason(&self) -> &'static str {
        match self {
            Self::Left => "client",
            Self::Failed(ServiceError::SlowClient) => "slow",
            Self::Failed(ServiceError::PositionExpired) => "expired",
            Self::Failed(ServiceError::Stopping) => "stopping",
            Self::Failed(_) => "failed",
        }
    }
}

/// Reads the logs for one client.
pub(super) struct Reader {
    pub(super) store: Store,
    pub(super) tokens: TokenKey,
    pub(super) scope: Scope,
    /// How far all is sent, or is in `changes`.
    pub(super) place: WatchPlace,
    pub(super) snapshot: Option<Snapshot>,
    /// What is read and not sent yet.
    pub(super) changes: Vec<Change>,
    pub(super) heads: Following,
    pub(super) sender: mpsc::Sender<WatchBatch>,
    pub(super) sent_at: Instant,
    pub(super) checkpoint_interval: Duration,
    /// How long the client may leave the queue full.
    pub(super) patience: Duration,
    pub(super) stop: CancellationToken,
}

impl Reader {
    pub(super) async fn run(mut self) -> End {
        metrics::gauge!(OPEN).increment(1.0);
        let end = match self.go_on().await {
            Err(end) => end,
            Ok(never) => match never {},
        };
        metrics::gauge!(OPEN).decrement(1.0);
        metrics::counter!(ENDED, "reason" => end.reason()).increment(1);
        end
    }

    async fn go_on(&mut self) -> Result<Infallible, End> {
        self.send(None).await?;
        if let Some(snapshot) = self.snapshot.take() {
            self.send_snapshot(snapshot).await?;
        }
        loop {
            tokio::select! {
                () = self.stop.cancelled() => {
                    let last = self.batch(None);
                    // A client that lags behind has an older token.
                    let _ = self.sender.try_send(last);
                    return Err(End::Failed(ServiceError::Stopping));
                }
                () = self.sender.closed() => return Err(End::Left),
                () = sleep_until(self.sent_at + self.checkpoint_interval) => self.send(None).await?,
                () = self.heads.changed() => self.catch_up().await?,
            }
        }
    }

    async fn send_snapshot(&mut self, mut snapshot: Snapshot) -> Result<(), End> {
        loop {
            let chunk = tokio::select! {
                chunk = snapshot.next() => chunk,
                () = self.stop.cancelled() => return Err(End::Failed(ServiceError::Stopping)),
                () = self.sender.closed() => return Err(End::Left),
            };
            match chunk.transpose().map_err(End::Failed)? {
                Some(chunk) => {
                    self.place.snapshot = SnapshotPlace::After(chunk.last);
                    self.send(Some(chunk)).await?;
                }
                None => {
                    self.place.snapshot = SnapshotPlace::Done;
                    return self.send(None).await;
                }
            }
        }
    }

    /// Reads the logs that have come further than this watch has.
    async fn catch_up(&mut self) -> Result<(), End> {
        let clocks = self.heads.clocks().map_err(End::Failed)?;
        let mut behind: Vec<usize> = (0..clocks.len()).filter(|&at| clocks[at] > self.place.positions[at]).collect();
        while !behind.is_empty() {
            let mut with_more = Vec::new();
            for group in behind.chunks(SIDE_BY_SIDE) {
                if self.stop.is_cancelled() || self.sender.is_closed() {
                    return self.flush().await;
                }
                with_more.extend(self.read(group).await?);
            }
            behind = with_more;
        }
        self.flush().await
    }

    /// Reads what comes next in some partitions, named by their place in the scope. Gives those that may have more.
    async fn read(&mut self, group: &[usize]) -> Result<Vec<usize>, End> {
        let reads: Vec<_> = group
            .iter()
            .map(|&at| ReadLog { partition: self.scope.partitions[at], after: self.place.positions[at] })
            .collect();
        let logs = self.store.run_all(&reads, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await;
        let mut with_more = Vec::new();
        for ((&at, read), log) in group.iter().zip(reads).zip(logs) {
            match log {
                Ok(LogPart::Entries(entries)) => {
                    with_more.extend(read.next(&entries).map(|_more| at));
                    for entry in entries {
                        self.take(at, entry).await?;
                    }
                }
                Ok(LogPart::Trimmed) => return Err(End::Failed(ServiceError::PositionExpired)),
                Err(error @ StoreError::Refused(_)) => return Err(End::Failed(error.into())),
                // It is read again when the clocks are known again.
                Err(error @ (StoreError::Unavailable(_) | StoreError::Deadline)) => {
                    tracing::debug!(partition = %self.scope.partitions[at], %error, "changes not read");
                }
            }
        }
        Ok(with_more)
    }

    async fn take(&mut self, at: usize, entry: LogEntry) -> Result<(), End> {
        let users = &self.scope.users;
        let wanted = |change: &Change| users.is_empty() || users.contains(&change.kind.user());
        self.changes.extend(entry.changes.into_iter().filter(wanted));
        self.place.positions[at] = entry.version;
        if self.changes.len() >= FULL { self.send(None).await } else { Ok(()) }
    }

    /// Sends what was read, if it is anything.
    async fn flush(&mut self) -> Result<(), End> {
        if self.changes.is_empty() { Ok(()) } else { self.send(None).await }
    }

    /// Sends what was read, waiting for the client.
    async fn send(&mut self, snapshot: Option<ExportChunk>) -> Result<(), End> {
        let batch = self.batch(snapshot);
        let changes = batch.changes.len() as u64;
        let sent = tokio::select! {
            sent = timeout(self.patience, self.sender.send(batch)) => sent,
            () = self.stop.cancelled() => return Err(End::Failed(ServiceError::Stopping)),
        };
        match sent {
            Ok(Ok(())) => {
                metrics::counter!(CHANGES).increment(changes);
                self.sent_at = Instant::now();
                Ok(())
            }
            Ok(Err(_)) => Err(End::Left),
            Err(_) => Err(End::Failed(ServiceError::SlowClient)),
        }
    }

    fn batch(&mut self, snapshot: Option<ExportChunk>) -> WatchBatch {
        let resume_token = self.tokens.seal_watch(&self.scope.bound_to(), &self.place);
        WatchBatch { snapshot, changes: std::mem::take(&mut self.changes), resume_token }
    }
}
