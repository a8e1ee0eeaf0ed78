use keyspace::List;
use model::{Deadline, Micros, UserId};
use store::{Store, StoreError};

use crate::lists::whole_list;

/// Everyone whose posts are in a reader's feed: those followed, each with the time of following, and the reader.
pub(super) async fn followed(
    store: &Store,
    reader: UserId,
    deadline: Deadline,
) -> Result<Vec<(UserId, Option<Micros>)>, StoreError> {
    let following = whole_list(store, List::Following, reader, deadline).await;
    following.outcome?;
    let followees = following.entries.into_iter().map(|entry| (entry.user, Some(entry.at)));
    Ok([(reader, None)].into_iter().chain(followees).collect())
}
