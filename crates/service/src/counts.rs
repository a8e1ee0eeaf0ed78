use keyspace::List;
use model::{Deadline, UserId};
use store::{Traffic, ops::Count};

use crate::{Graph, ServiceError};

/// The lengths of a user's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// How many users they follow.
    pub following: u64,
    /// How many users follow them.
    pub followers: u64,
    /// How many posts they have published.
    pub posts: u64,
}

impl Graph {
    /// The counts of each user, in the order given. One round trip.
    pub async fn counts(&self, users: &[UserId], deadline: Deadline) -> Result<Vec<Counts>, ServiceError> {
        let reads: Vec<_> = users
            .iter()
            .flat_map(|&user| [List::Following, List::Followers].map(|list| Count { list, user }))
            .collect();
        let counts = self.inner.store.run_all(&reads, Traffic::Interactive, deadline).await;
        let counts: Vec<u64> = counts.into_iter().collect::<Result<_, _>>()?;
        let (pairs, _) = counts.as_chunks::<2>();
        Ok(pairs.iter().map(|&[following, followers]| Counts { following, followers, posts: 0 }).collect())
    }
}
