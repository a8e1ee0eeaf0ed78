use futures::join;
use keyspace::List;
use model::{Deadline, UserId};
use store::{
    Traffic,
    ops::{Count, CountPosts},
};

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
        let store = &self.inner.store;
        let lists: Vec<_> = users
            .iter()
            .flat_map(|&user| [List::Following, List::Followers].map(|list| Count { list, user }))
            .collect();
        let posts: Vec<_> = users.iter().copied().map(CountPosts).collect();
        let lists = store.run_all(&lists, Traffic::Interactive, deadline);
        let posts = store.run_all(&posts, Traffic::Interactive, deadline);
        let (lists, posts) = join!(lists, posts);
        let lists: Vec<u64> = lists.into_iter().collect::<Result<_, _>>()?;
        let posts: Vec<u64> = posts.into_iter().collect::<Result<_, _>>()?;
        let (pairs, _) = lists.as_chunks::<2>();
        let counts = pairs.iter().zip(posts);
        Ok(counts.map(|(&[following, followers], posts)| Counts { following, followers, posts }).collect())
    }
}
