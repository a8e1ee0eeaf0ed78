//! How fresh reads are.

use futures::join;
use keyspace::Partition;
use model::{Deadline, InvalidToken, Version};
use store::{
    StoreError, Traffic,
    ops::{Clock, Written, WrittenSoFar},
};
use tokio::time::timeout;

use crate::{Graph, ServiceError};

/// How fresh a read must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// As fresh as the last acknowledged write: what every read gives, for all of them go to primaries.
    Latest,
    /// Not older than a write, whose second half it sees as well; fails if that write was lost.
    AtLeast(Write),
}

/// A write that a consistency token names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    partition: Partition,
    version: Version,
    is_applied: bool,
}

impl Graph {
    /// The write that a consistency token names.
    pub fn write_of(&self, token: &str) -> Result<Write, InvalidToken> {
        let write = self.inner.tokens.open_consistency(token)?;
        let partition = self.inner.store.keys().partitions().get_partition(write.partition).ok_or(InvalidToken)?;
        Ok(Write { partition, version: write.version, is_applied: write.is_applied })
    }

    /// What a read gives that is fresh enough. The write is looked for beside the read, which takes no more round trips; only where its second
    /// half is pending, that is finished first, and then the read is done again.
    pub async fn fresh<T, R>(
        &self,
        freshness: Freshness,
        deadline: Deadline,
        read: impl Fn() -> R,
    ) -> Result<T, ServiceError>
    where
        R: Future<Output = Result<T, ServiceError>>,
    {
        let Freshness::AtLeast(write) = freshness else { return read().await };
        self.inner.seen.raise(write.partition, write.version);
        let (written, answer) = join!(self.written(write, String::new(), deadline), read());
        let written = written?;
        let answer = answer?;
        if written.pending.is_empty() && written.next.is_empty() {
            return Ok(answer);
        }
        self.finish_until(write, written, deadline).await?;
        read().await
    }

    /// Fails if the write was lost; tells what up to it may lack its second half.
    async fn written(&self, write: Write, after: String, deadline: Deadline) -> Result<WrittenSoFar, ServiceError> {
        let store = &self.inner.store;
        let Write { partition, version, is_applied } = write;
        let written = if is_applied {
            let clock = store.run(&Clock(partition), Traffic::Interactive, deadline).await?;
            WrittenSoFar { clock, pending: Vec::new(), next: String::new() }
        } else {
            store.run(&Written { partition, version, after }, Traffic::Interactive, deadline).await?
        };
        if written.clock < version { Err(ServiceError::LostWrite) } else { Ok(written) }
    }

    /// Finishes what is pending, as the relay does.
    async fn finish_until(
        &self,
        write: Write,
        mut written: WrittenSoFar,
        deadline: Deadline,
    ) -> Result<(), ServiceError> {
        loop {
            let finish = self.inner.relay.finish(write.partition, written.pending);
            let finished = timeout(deadline.remaining(), Box::pin(finish)).await;
            finished.map_err(|_| StoreError::Deadline)?.map_err(ServiceError::of_own_limit)?;
            if written.next.is_empty() {
                return Ok(());
            }
            written = self.written(write, written.next, deadline).await?;
        }
    }
}
