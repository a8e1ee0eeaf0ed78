//! Where shards of very long lists have their segments, as far as this instance knows.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use keyspace::{List, Shard};
use model::{Deadline, UserId};
use store::{
    Store, Traffic,
    ops::{Outline, Outlined, Segment},
};

/// Segments come and go slowly, and a script that was told the wrong ones asks for the right ones.
const KEPT: Duration = Duration::from_secs(60);
/// Most shards: with 128 segments each, some 10 MB.
const MOST_SHARDS: usize = 1_024;

/// The segments of shards that were used of late. Clones share the same knowledge.
#[derive(Clone)]
pub(crate) struct Outlines {
    store: Store,
    known: Arc<Mutex<HashMap<(UserId, Shard), Known>>>,
}

struct Known {
    since: Instant,
    segments: Arc<[Segment]>,
}

impl Outlines {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, known: Arc::default() }
    }

    /// The segments of a shard, oldest first, if they are known.
    pub(crate) fn get(&self, user: UserId, shard: Shard) -> Option<Arc<[Segment]>> {
        let known = self.known();
        let known = known.get(&(user, shard)).filter(|known| known.since.elapsed() < KEPT)?;
        Some(known.segments.clone())
    }

    /// Reads the segments of shards. One round trip. What cannot be read stays unknown.
    pub(crate) async fn learn(&self, shards: &[(UserId, Shard)], deadline: Deadline) {
        let list = List::Followers;
        let reads: Vec<_> =
            shards.iter().map(|&(user, shard)| Outline { list, user, shard: Some(shard), first: 0 }).collect();
        let outlines = self.store.run_all(&reads, Traffic::Bulk, deadline).await;
        let mut known = self.known();
        for (&shard, outline) in shards.iter().zip(outlines) {
            let Ok(Outlined::Segments(segments)) = outline else { continue };
            if known.len() >= MOST_SHARDS {
                known.retain(|_, known| known.since.elapsed() < KEPT);
            }
            if known.len() >= MOST_SHARDS {
                // Rather forget all than learn the same ones with every change.
                known.clear();
            }
            known.insert(shard, Known { since: Instant::now(), segments: segments.into() });
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<(UserId, Shard), Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
