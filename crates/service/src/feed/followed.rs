use keyspace::List;
use model::{Deadline, Entry, Micros, Order, UserId, Window};
use store::{Store, StoreError};

use crate::lists::Walk;

/// Everyone whose posts are in a reader's feed: those followed, each with the time of following, and the reader.
pub(super) async fn followed(
    store: &Store,
    reader: UserId,
    deadline: Deadline,
) -> Result<Vec<(UserId, Option<Micros>)>, StoreError> {
    let walk = Walk { list: List::Following, user: reader, order: Order::NewestFirst, window: Window::ALL };
    let mut authors = vec![(reader, None)];
    let take = |entries: Vec<Entry>| {
        authors.extend(entries.iter().map(|entry| (entry.user, Some(entry.at))));
        true
    };
    walk.each_slice(store, deadline, take).await?;
    Ok(authors)
}
