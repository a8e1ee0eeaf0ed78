//! Goes on with operations about users, piece by piece, off the request path.
//!
//! Redis names the work and tells how far it is, so that any instance can go on from there.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{StreamExt, stream::FuturesUnordered};
use model::{Deadline, UserId, UserState};
use store::{
    Store, StoreError, Traffic,
    ops::{ClaimOperation, FindOperation},
};
use tasks::Tasks;
use tokio::time::sleep;

use crate::{
    deleter::{Deleter, Stage},
    followers::Followers,
    mover::Mover,
    running::Running,
    versions::SeenVersions,
    waiting::Waiting,
};

/// Users who are worked at side by side.
const SIDE_BY_SIDE: usize = 2;
/// Chunks of one user before it is another's turn.
const TURN: usize = 16;
/// For how long others leave a user alone, in milliseconds: longer than a chunk.
const LEASE_MILLIS: u64 = 20_000;
/// How long one step of a chunk may take: longer than a failover.
const TIME_LIMIT: Duration = Duration::from_secs(15);
/// The work rests after each chunk for as long as the chunk took, and no longer than this.
const MOST_REST: Duration = Duration::from_millis(250);
/// How long to wait after an error.
const PAUSE: Duration = Duration::from_secs(1);

/// Has operations done. Clones share the same work.
#[derive(Clone)]
pub(crate) struct Operations {
    waiting: Arc<Waiting>,
}

impl Operations {
    pub(crate) fn start(
        store: Store,
        followers: Followers,
        seen: Arc<SeenVersions>,
        running: Running,
        inbox_cap: u32,
        tasks: &Tasks,
    ) -> Self {
        let waiting = Arc::new(Waiting::default());
        let work = Work {
            store: store.clone(),
            deleter: Deleter::new(store.clone(), followers.clone(), seen.clone(), inbox_cap),
            mover: Mover::new(store, followers, seen, inbox_cap),
            running,
            worker: format!("{:016x}", rand::random::<u64>()),
        };
        let (token, users) = (tasks.token().clone(), waiting.clone());
        tasks.spawn("operations", async move {
            token.run_until_cancelled(work.run(&users)).await;
        });
        Self { waiting }
    }

    /// There is an operation about a user, of which there may be something left to do. It may be said again.
    pub(crate) fn begin(&self, user: UserId) {
        self.waiting.add(user);
    }
}

/// What became of a chunk.
pub(crate) enum Chunk {
    /// There is more to do.
    Done,
    /// All is done, or another instance has the work.
    Last,
}

struct Work {
    store: Store,
    deleter: Deleter,
    mover: Mover,
    running: Running,
    worker: String,
}

/// A user whom an operation is about, and where it is if the user is deleted.
struct Task {
    user: UserId,
    stage: Stage,
}

impl Work {
    async fn run(self, waiting: &Waiting) {
        let (mut known, mut queue) = (BTreeSet::new(), VecDeque::new());
        let mut turns = FuturesUnordered::new();
        loop {
            while turns.len() < SIDE_BY_SIDE
                && let Some(task) = queue.pop_front()
            {
                turns.push(Box::pin(self.turn(task)));
            }
            metrics::gauge!("socialgraph_operations_running").set(known.len() as f64);
            tokio::select! {
                users = waiting.next() => {
                    let new = users.into_iter().filter(|&user| known.insert(user));
                    queue.extend(new.map(|user| Task { user, stage: Stage::Following }));
                }
                Some((user, left)) = turns.next(), if !turns.is_empty() => match left {
                    Some(task) => queue.push_back(task),
                    None => {
                        known.remove(&user);
                    }
                },
            }
        }
    }

    /// Some chunks, one after the other. Gives what is left to do.
    async fn turn(&self, mut task: Task) -> (UserId, Option<Task>) {
        let user = task.user;
        for _ in 0..TURN {
            let begun = Instant::now();
            match Box::pin(self.chunk(&mut task)).await {
                Ok(Chunk::Done) => sleep(begun.elapsed().min(MOST_REST)).await,
                Ok(Chunk::Last) => return (user, None),
                Err(error) => {
                    tracing::debug!(%user, %error, "an operation waits");
                    sleep(PAUSE).await;
                }
            }
        }
        (user, Some(task))
    }

    async fn chunk(&self, task: &mut Task) -> Result<Chunk, StoreError> {
        let user = task.user;
        let claim = ClaimOperation { user, worker: self.worker.clone(), millis: LEASE_MILLIS };
        if !self.store.run(&claim, Traffic::Bulk, limit()).await? {
            return Ok(Chunk::Last);
        }
        let _at_work = self.running.begin();
        match self.store.run(&FindOperation(user), Traffic::Bulk, limit()).await? {
            Some(operation) if operation.done_at.is_none() => match operation.state {
                UserState::Deleted => self.deleter.chunk(user, &mut task.stage).await,
                UserState::Active | UserState::Suspended | UserState::Deactivated => {
                    self.mover.chunk(user, operation).await
                }
            },
            Some(_) | None => Ok(Chunk::Last),
        }
    }
}

/// For one step of a chunk.
pub(crate) fn limit() -> Deadline {
    Deadline::after(TIME_LIMIT)
}
