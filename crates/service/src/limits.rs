//! Up to how many entries the primaries keep values compact. These are settings of Redis, which not everyone may read: so
//! it is found out by trying.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use keyspace::Partition;
use model::Deadline;
use store::{
    Store, StoreError, Traffic,
    ops::{Compact, EndTrial, TryCompact},
};
use tasks::Tasks;

/// How long it may take to find out the limits of one primary.
const LIMIT: Duration = Duration::from_secs(10);

/// Entries that are tried with one script.
const ENTRIES_OF_CALL: u32 = 128;

/// Up to how many entries a primary keeps values compact; never more than the service makes use of. `None` where it is not
/// known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CompactLimits {
    /// Of a sorted set, at most 128.
    pub sorted_set: Option<u32>,
    /// Of a set of numbers, at most 16,384.
    pub numbers: Option<u32>,
}

impl fmt::Display for CompactLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |limit: Option<u32>| limit.map_or("unknown".to_owned(), |limit| limit.to_string());
        write!(f, "sorted sets {}, sets of numbers {}", text(self.sorted_set), text(self.numbers))
    }
}

/// The limits of each primary, once they are known.
#[derive(Clone, Default)]
pub(crate) struct Limits(Arc<OnceLock<BTreeMap<String, CompactLimits>>>);

impl Limits {
    /// Finds them out in the background.
    pub(crate) fn find(store: Store, tasks: &Tasks) -> Self {
        let found = Self::default();
        let (kept, token) = (found.clone(), tasks.token().clone());
        tasks.spawn_once("compact-limits", async move {
            let finding = async {
                let mut limits = BTreeMap::new();
                for (node, partition) in store.layout().of_nodes {
                    limits.insert(node.clone(), of_node(&store, &node, partition).await);
                }
                let each = limits.iter().map(|(node, limits)| format!("{node}: {limits}")).collect::<Vec<_>>();
                tracing::info!(limits = each.join("; "), "redis keeps values of up to so many entries compact");
                // Set only here.
                let _ = kept.0.set(limits);
            };
            token.run_until_cancelled(finding).await.unwrap_or(());
        });
        found
    }

    /// Those of a primary, as they were at the start.
    pub(crate) fn of(&self, node: &str) -> CompactLimits {
        self.0.get().and_then(|limits| limits.get(node)).copied().unwrap_or_default()
    }
}

async fn of_node(store: &Store, node: &str, partition: Partition) -> CompactLimits {
    let deadline = Deadline::after(LIMIT);
    let mut limits = CompactLimits::default();
    for (kind, setting, wanted, limit) in [
        (Compact::SortedSet, "zset-max-listpack-entries", 128, &mut limits.sorted_set),
        (Compact::Numbers, "set-max-intset-entries", 16_384, &mut limits.numbers),
    ] {
        match most(store, partition, kind, wanted, deadline).await {
            Ok(most) => {
                if most < wanted {
                    tracing::warn!(
                        node,
                        setting,
                        most,
                        wanted,
                        "redis keeps fewer entries compact: long lists take more memory"
                    );
                }
                *limit = Some(most);
            }
            Err(error) => tracing::warn!(node, setting, %error, "cannot find out up to how many entries it is compact"),
        }
    }
    limits
}

/// The most entries of a compact value, up to `wanted`.
async fn most(
    store: &Store,
    partition: Partition,
    kind: Compact,
    wanted: u32,
    deadline: Deadline,
) -> Result<u32, StoreError> {
    let name = format!("{:x}", rand::random::<u64>());
    let mut compact = 0;
    while compact < wanted {
        let last = wanted.min(compact + ENTRIES_OF_CALL);
        let attempt = TryCompact { partition, kind, name: name.clone(), entries: compact + 1..=last };
        compact = store.run(&attempt, Traffic::Bulk, deadline).await?;
        if compact < last {
            return Ok(compact);
        }
    }
    store.run(&EndTrial { partition, name }, Traffic::Bulk, deadline).await?;
    Ok(compact)
}
