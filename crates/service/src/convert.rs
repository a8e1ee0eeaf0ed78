//! Makes segments of the long lists of a keyspace of the first format, while it is served.
//!
//! Every list is right at every moment, in part or wholly converted. So nothing is to be kept of how far the work has come: whoever goes
//! on looks at all lists again.

use std::time::Duration;

use futures::future::try_join_all;
use keyspace::Partition;
use model::Deadline;
use store::{
    Store, StoreError, Traffic,
    ops::{ClaimConversion, Convert, EndConversion, ScanKeys},
};
use tasks::Tasks;
use tokio::time::sleep;

/// For how long an instance has the work without a sign of life.
const LEASE: Duration = Duration::from_secs(10);
/// How long to wait after an error, or while another instance has the work.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a call may take.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Converts lists until all are converted.
pub(crate) fn start(store: Store, tasks: &Tasks) {
    let token = tasks.token().clone();
    let conversion = Conversion { store, instance: format!("{:016x}", rand::random::<u64>()) };
    tasks.spawn_once("convert", async move {
        token.run_until_cancelled(conversion.run()).await;
    });
}

struct Conversion {
    store: Store,
    instance: String,
}

/// How a look at all lists ended.
enum Ended {
    /// None had too many entries in its head.
    Clean,
    /// Some had, or slots moved.
    Again,
    /// Another instance has the work.
    Elsewhere,
}

impl Conversion {
    async fn run(self) {
        tracing::info!("lists of the first format are being converted");
        loop {
            match self.look_at_all().await {
                Ok(Ended::Clean) => break,
                Ok(Ended::Again) => {}
                Ok(Ended::Elsewhere) => sleep(PAUSE).await,
                Err(error) => {
                    tracing::warn!(%error, "conversion interrupted");
                    sleep(PAUSE).await;
                }
            }
        }
        tracing::info!("all lists are converted");
    }

    async fn look_at_all(&self) -> Result<Ended, StoreError> {
        if !self.claim().await? {
            return Ok(Ended::Elsewhere);
        }
        let layout = self.store.layout();
        let looks = layout.of_nodes.values().map(|&partition| self.look_at_node(partition));
        let segments: Option<Vec<u64>> = try_join_all(looks).await?.into_iter().collect();
        match segments {
            None => Ok(Ended::Elsewhere),
            Some(segments) if segments.iter().any(|&made| made > 0) || self.store.layout() != layout => {
                Ok(Ended::Again)
            }
            Some(_) => {
                self.store.run(&EndConversion, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await?;
                Ok(Ended::Clean)
            }
        }
    }

    /// Looks at all lists on the node of a partition. Gives how many segments were made; `None` if another instance has the work.
    async fn look_at_node(&self, partition: Partition) -> Result<Option<u64>, StoreError> {
        let (mut cursor, mut made) = (0, 0);
        loop {
            let scan = ScanKeys { partition, cursor, pattern: self.store.keys().pattern() };
            let (next, keys) = self.store.run(&scan, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await?;
            let chains = keys.iter().filter_map(|key| self.store.keys().chain_of(key));
            let mut left: Vec<_> = chains.map(Convert).collect();
            while !left.is_empty() {
                if !self.claim().await? {
                    return Ok(None);
                }
                let done = self.store.run_all(&left, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await;
                let mut again = Vec::new();
                for (convert, converted) in left.into_iter().zip(done) {
                    let converted = converted?;
                    made += converted.segments;
                    if converted.has_more {
                        again.push(convert);
                    } else if converted.segments > 0 {
                        metrics::counter!("socialgraph_converted_lists_total").increment(1);
                    }
                }
                left = again;
            }
            if next == 0 {
                return Ok(Some(made));
            }
            cursor = next;
        }
    }

    async fn claim(&self) -> Result<bool, StoreError> {
        let claim = ClaimConversion { instance: self.instance.clone(), lease: LEASE };
        self.store.run(&claim, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await
    }
}
