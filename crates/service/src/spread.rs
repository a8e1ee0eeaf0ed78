//! Moves the oldest segments of very long lists of followers into shards in other partitions, so that no partition has a star alone.
//!
//! A list is right at every moment: a segment is copied to where nobody looks for it, and then given over in one step, if it has not
//! changed since. Of instances that work at one list, the last to take the work has it.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use model::{Deadline, UserId};
use store::{
    Store, StoreError, Traffic,
    ops::{Adopt, HandOver, Spread, SpreadStep},
};
use tasks::Tasks;
use tokio::time::timeout;

use crate::waiting::Waiting;

/// How many segments stay in the user's partition: the newest ones, which pages and deliveries begin with.
const STAYS: u32 = 64;
/// Of how many segments, of up to 128 followers each, a shard is made. Changes may split them later.
const FULL: u32 = 128;
/// Segments of one list that are moved before it is another list's turn.
const TURN: usize = 64;
/// For how long others leave a list alone.
const LEASE: Duration = Duration::from_secs(10);
/// How long to wait after an error, or while another instance has the work.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a step may take.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Spreads lists off the request path. Clones share the same work.
#[derive(Clone)]
pub(crate) struct Spreader {
    waiting: Arc<Waiting<UserId>>,
}

impl Spreader {
    pub(crate) fn start(store: Store, tasks: &Tasks) -> Self {
        let waiting = Arc::new(Waiting::default());
        let work = Work { store, waiting: waiting.clone(), worker: format!("{:016x}", rand::random::<u64>()) };
        let token = tasks.token().clone();
        tasks.spawn("spreader", async move {
            token.run_until_cancelled(work.run()).await;
        });
        Self { waiting }
    }

    /// A list of followers has so many segments that some may have to move. It may be said again.
    pub(crate) fn spread(&self, user: UserId) {
        self.waiting.add(user);
    }
}

struct Work {
    store: Store,
    waiting: Arc<Waiting<UserId>>,
    worker: String,
}

/// How work at one list ended.
enum Turn {
    /// There may be more to do.
    Over,
    /// There is nothing more to do.
    Done,
    /// Another instance has the work, or had it and died.
    Elsewhere,
}

impl Work {
    async fn run(self) {
        let mut later = BTreeSet::new();
        loop {
            let mut lists = match later.is_empty() {
                true => self.waiting.next().await,
                false => timeout(PAUSE, self.waiting.next()).await.unwrap_or_default(),
            };
            lists.append(&mut later);
            for user in lists {
                match self.turn(user).await {
                    Ok(Turn::Over) => self.waiting.add(user),
                    Ok(Turn::Done) => {}
                    Ok(Turn::Elsewhere) => {
                        later.insert(user);
                    }
                    Err(error) => {
                        tracing::debug!(%user, %error, "list of followers not spread yet");
                        later.insert(user);
                    }
                }
            }
        }
    }

    /// Moves some segments.
    async fn turn(&self, user: UserId) -> Result<Turn, StoreError> {
        let spread = Spread { user, worker: self.worker.clone(), lease: LEASE, stays: STAYS, full: FULL };
        for _ in 0..TURN {
            let deadline = Deadline::after(TIME_LIMIT);
            let spreading = match self.store.run(&spread, Traffic::Bulk, deadline).await? {
                SpreadStep::Move(spreading) => spreading,
                SpreadStep::Elsewhere => return Ok(Turn::Elsewhere),
                SpreadStep::Done => return Ok(Turn::Done),
            };
            if !self.store.run(&Adopt(&spreading), Traffic::Bulk, deadline).await? {
                return Ok(Turn::Elsewhere);
            }
            // If it has changed meanwhile, the next step copies it again.
            if self.store.run(&HandOver(&spreading), Traffic::Bulk, deadline).await? {
                metrics::counter!("socialgraph_spread_segments_total").increment(1);
            }
        }
        Ok(Turn::Over)
    }
}
