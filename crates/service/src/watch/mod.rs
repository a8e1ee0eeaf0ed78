//! Tells of every change of who follows whom, from a position in the log of each partition on.
//!
//! One task of the instance asks for the clocks of the partitions that somebody watches. Each watch has a task that reads the logs
//! which have come further than its own position, and hands what it reads over a short queue. It reads no faster than the queue
//! empties, so that its memory is bounded. A snapshot comes first, if one is wanted; the positions were taken before it.

mod heads;
mod reader;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures::{StreamExt, stream::BoxStream};
use keyspace::Partition;
use model::{Deadline, SnapshotPlace, UserId, WatchPlace};
use store::{
    Store, Traffic,
    ops::{Change, Clock},
};
use tasks::Tasks;
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use self::{
    heads::Heads,
    reader::{End, Reader},
};
use crate::{ExportChunk, Graph, ServiceError, versions::SeenVersions};

/// Batches that wait for a client.
const QUEUE: usize = 4;

/// What is to come of a snapshot.
type Snapshot = BoxStream<'static, Result<ExportChunk, ServiceError>>;

/// What to watch, and from where on. [`Graph::watch_query`] makes it.
#[derive(Clone, Debug)]
pub struct WatchQuery {
    scope: Scope,
    /// `None`: from now.
    place: Option<WatchPlace>,
    with_snapshot: bool,
    checkpoint_interval: Duration,
}

/// Whose changes are watched.
#[derive(Clone, Debug)]
struct Scope {
    /// Empty: everybody's.
    users: BTreeSet<UserId>,
    /// Those of the users, in order. Positions are in the same order.
    partitions: Vec<Partition>,
}

/// Some changes, or a part of the snapshot, and where to go on after them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchBatch {
    /// Some followers with all that they follow, before all changes. Of them changes may come that are not newer than this; they are in it
    /// already.
    pub snapshot: Option<ExportChunk>,
    /// In order for each user. May be empty.
    pub changes: Vec<Change>,
    /// A watch of the same users that begins with it tells of what comes after the changes, without gap or repeat.
    pub resume_token: String,
}

/// A running watch. It ends when it is dropped.
pub struct Watch {
    batches: mpsc::Receiver<WatchBatch>,
    end: oneshot::Receiver<ServiceError>,
}

/// What the watches of an instance share.
pub(crate) struct Watches {
    heads: Arc<Heads>,
    permits: Arc<Semaphore>,
}

impl Watches {
    pub(crate) fn start(store: Store, seen: Arc<SeenVersions>, most: u32, tasks: &Tasks) -> Self {
        reader::show_metrics();
        Self { heads: Heads::start(store, seen, tasks), permits: Arc::new(Semaphore::new(most as usize)) }
    }
}

impl Scope {
    fn bound_to(&self) -> Vec<i64> {
        self.users.iter().map(|user| user.get()).collect()
    }
}

impl Watch {
    /// The next batch, as soon as there is something to tell. An error is the end.
    pub async fn next(&mut self) -> Result<WatchBatch, ServiceError> {
        match self.batches.recv().await {
            Some(batch) => Ok(batch),
            None => {
                Err((&mut self.end).await.unwrap_or_else(|_| ServiceError::Internal("the watch broke off".to_owned())))
            }
        }
    }
}

impl Graph {
    /// What to watch: the changes of some users, or of all if none is named, after a token of a watch of the same users or, if it is
    /// empty, from now on, and then perhaps with a snapshot before them. After an interval without a batch an empty one comes, for its
    /// token.
    pub fn watch_query(
        &self,
        users: impl IntoIterator<Item = UserId>,
        resume_token: &str,
        with_snapshot: bool,
        checkpoint_interval: Duration,
    ) -> Result<WatchQuery, ServiceError> {
        let keys = self.inner.store.keys();
        let users: BTreeSet<UserId> = users.into_iter().collect();
        let partitions = if users.is_empty() {
            keys.partitions().all().collect()
        } else {
            users.iter().map(|&user| keys.partition(user)).collect::<BTreeSet<_>>().into_iter().collect()
        };
        let scope = Scope { users, partitions };
        let open = || self.inner.tokens.open_watch(&scope.bound_to(), scope.partitions.len(), resume_token);
        let place = if resume_token.is_empty() { None } else { Some(open()) };
        let place = place.transpose().map_err(|_| ServiceError::InvalidResumeToken)?;
        Ok(WatchQuery { scope, place, with_snapshot, checkpoint_interval })
    }

    /// Begins to watch. The first batch comes at once and has no changes. `stop` ends the watch, with [`ServiceError::Stopping`];
    /// `deadline` is of the beginning alone.
    pub async fn watch(
        &self,
        query: WatchQuery,
        stop: CancellationToken,
        deadline: Deadline,
    ) -> Result<Watch, ServiceError> {
        let inner = &self.inner;
        let permit = inner.watches.permits.clone().try_acquire_owned().map_err(|_| ServiceError::Overloaded)?;
        let WatchQuery { scope, place, with_snapshot, checkpoint_interval } = query;
        let place = match place {
            Some(place) => place,
            None => {
                let clocks: Vec<_> = scope.partitions.iter().copied().map(Clock).collect();
                let clocks = inner.store.run_all(&clocks, Traffic::Interactive, deadline).await;
                let positions = clocks.into_iter().collect::<Result<_, _>>()?;
                WatchPlace {
                    positions,
                    snapshot: if with_snapshot { SnapshotPlace::Begin } else { SnapshotPlace::Done },
                }
            }
        };
        let snapshot = self.snapshot(&scope, place.snapshot)?;
        let heads = inner.watches.heads.follow(scope.partitions.clone());
        let (sender, batches) = mpsc::channel(QUEUE);
        let (told, end) = oneshot::channel();
        let reader = Reader {
            store: inner.store.clone(),
            tokens: inner.tokens.clone(),
            scope,
            place,
            snapshot,
            changes: Vec::new(),
            heads,
            sender,
            sent_at: Instant::now(),
            checkpoint_interval,
            patience: inner.settings.watch_patience,
            stop,
        };
        inner.tasks.spawn_once("watch", async move {
            if let End::Failed(error) = reader.run().await {
                // Nobody is told who has left.
                let _ = told.send(error);
            }
            drop(permit);
        });
        Ok(Watch { batches, end })
    }

    /// What is left of a snapshot.
    fn snapshot(&self, scope: &Scope, place: SnapshotPlace) -> Result<Option<Snapshot>, ServiceError> {
        let after = match place {
            SnapshotPlace::Begin => None,
            SnapshotPlace::After(last) => Some(last),
            SnapshotPlace::Done => return Ok(None),
        };
        let of = (!scope.users.is_empty()).then_some(&scope.users);
        Ok(Some(self.export_after(after, of, None)?.boxed()))
    }
}
