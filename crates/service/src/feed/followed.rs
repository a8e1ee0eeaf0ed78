use keyspace::List;
use model::{Deadline, Micros, Order, UserId, Window};
use store::{Store, StoreError};

use crate::lists::Walk;

/// Entries of one read.
const MOST_ENTRIES: usize = 998;

/// Everyone whose posts are in a reader's feed: those followed, each with the time of following, and the reader.
pub(super) async fn followed(
    store: &Store,
    reader: UserId,
    deadline: Deadline,
) -> Result<Vec<(UserId, Option<Micros>)>, StoreError> {
    let walk = Walk { list: List::Following, user: reader, order: Order::NewestFirst, window: Window::ALL };
    let mut authors = vec![(reader, None)];
    let mut after = None;
    loop {
        let slice = walk.slice(store, after, MOST_ENTRIES, deadline).await?;
        authors.extend(slice.entries.iter().map(|entry| (entry.user, Some(entry.at))));
        match slice.next {
            Some(next) => after = Some(next),
            None => return Ok(authors),
        }
    }
}
