//! Goes on with operations about users, piece by piece, off the request path.
//!
//! Redis names the work and tells how far it is, so that any instance can go on from there.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{StreamExt, stream::FuturesUnordered};
use model::{Deadline, UserState};
use store::{
    Store, StoreError, Traffic,
    ops::{ClaimOperation, Duty, FindOperation},
};
use tasks::Tasks;
use tokio::time::sleep;

use crate::{
    deleter::{Deleter, Stage},
    followers::Followers,
    likes::forget_deleted,
    mover::Mover,
    running::Running,
    turner::Turner,
    versions::SeenVersions,
    waiting::Waiting,
};

/// Users about whom there is work side by side.
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
    waiting: Arc<Waiting<Duty>>,
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
            mover: Mover::new(store.clone(), followers, seen, inbox_cap),
            turner: Turner::new(store),
            running,
            worker: format!("{:016x}", rand::random::<u64>()),
        };
        let (token, duties) = (tasks.token().clone(), waiting.clone());
        tasks.spawn("operations", async move {
            token.run_until_cancelled(work.run(&duties)).await;
        });
        Self { waiting }
    }

    /// There is something about a user that may not be done yet. It may be said again.
    pub(crate) fn begin(&self, duty: Duty) {
        self.waiting.add(duty);
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
    turner: Turner,
    running: Running,
    worker: String,
}

/// What is to be done, and where it is if the user is deleted.
struct Task {
    duty: Duty,
    stage: Stage,
}

impl Work {
    async fn run(self, waiting: &Waiting<Duty>) {
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
                duties = waiting.next() => {
                    let new = duties.into_iter().filter(|&duty| known.insert(duty));
                    queue.extend(new.map(|duty| Task { duty, stage: Stage::Following }));
                }
                Some((duty, left)) = turns.next(), if !turns.is_empty() => match left {
                    Some(task) => queue.push_back(task),
                    None => {
                        known.remove(&duty);
                    }
                },
            }
        }
    }

    /// Some chunks, one after the other. Gives what is left to do.
    async fn turn(&self, mut task: Task) -> (Duty, Option<Task>) {
        let duty = task.duty;
        for _ in 0..TURN {
            let begun = Instant::now();
            match Box::pin(self.chunk(&mut task)).await {
                Ok(Chunk::Done) => sleep(begun.elapsed().min(MOST_REST)).await,
                Ok(Chunk::Last) => return (duty, None),
                Err(error) => {
                    tracing::debug!(%duty, %error, "an operation waits");
                    sleep(PAUSE).await;
                }
            }
        }
        (duty, Some(task))
    }

    async fn chunk(&self, task: &mut Task) -> Result<Chunk, StoreError> {
        let claim = ClaimOperation { duty: task.duty, worker: self.worker.clone(), millis: LEASE_MILLIS };
        if !self.store.run(&claim, Traffic::Bulk, limit()).await? {
            return Ok(Chunk::Last);
        }
        let _at_work = self.running.begin();
        let user = match task.duty {
            Duty::User(user) => user,
            Duty::Delivery(author) => return self.turner.chunk(author).await,
            Duty::Likes(author, post) => return forget_deleted(&self.store, author, post).await,
        };
        match self.store.run(&FindOperation(user), Traffic::Bulk, limit()).await? {
            Some(operation) if operation.done_at.is_none() => match operation.state {
                UserState::Deleted => self.deleter.chunk(user, &mut task.stage).await,
                UserState::Active | UserState::Suspended | UserState::Deactivated => {
                    self.mover.chunk(user, &operation).await
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
