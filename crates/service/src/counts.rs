use model::{Deadline, UserId};
use store::{
    Traffic,
    ops::{Count, Counts},
};

use crate::{Graph, ServiceError};

impl Graph {
    /// The counts of each user, in the order given. One round trip.
    pub async fn counts(&self, users: &[UserId], deadline: Deadline) -> Result<Vec<Counts>, ServiceError> {
        let reads: Vec<_> = users.iter().copied().map(Count).collect();
        let counts = self.inner.store.run_all(&reads, Traffic::Interactive, deadline).await;
        Ok(counts.into_iter().collect::<Result<_, _>>()?)
    }
}
