//! Whom users follow, exactly.

use std::collections::BTreeMap;

use keyspace::{List, Partition};
use model::{Entry, Micros, UserId, Version};
use store::{
    Store, Traffic,
    ops::{ChangeKind, Clock, ListsRead, LogPart, ReadLog, ShortLists},
};

use super::Limit;
use crate::{ServiceError, lists::whole_list};

/// How often a long list is read before it is given up.
const ATTEMPTS: usize = 3;

/// Somebody with whom they follow, oldest first.
type Follower = (UserId, Vec<Entry>);

/// Reads the lists of the first of some users of one partition, of one or more, all at one version.
pub(super) async fn read_some(
    store: &Store,
    partition: Partition,
    users: &[UserId],
    limit: Limit,
) -> Result<(Version, Vec<Follower>), ServiceError> {
    let read = ShortLists { partition, users: users.to_vec() };
    match store.run(&read, Traffic::Bulk, limit.of_step()).await.map_err(|error| limit.error(error))? {
        ListsRead::Lists(version, lists) => Ok((version, users.iter().copied().zip(lists).collect())),
        ListsRead::Long => {
            let Some(&user) = users.first() else { return Ok((Version::default(), Vec::new())) };
            let (version, followees) = read_long(store, partition, user, limit).await?;
            Ok((version, vec![(user, followees)]))
        }
    }
}

/// Reads a list that takes several scripts. What changes meanwhile is taken from the log.
async fn read_long(
    store: &Store,
    partition: Partition,
    user: UserId,
    limit: Limit,
) -> Result<(Version, Vec<Entry>), ServiceError> {
    for _ in 0..ATTEMPTS {
        let deadline = limit.of_step();
        let begin = store.run(&Clock(partition), Traffic::Bulk, deadline).await;
        let begin = begin.map_err(|error| limit.error(error))?;
        let list = whole_list(store, List::Following, user, deadline).await;
        list.outcome.map_err(|error| limit.error(error))?;
        let Some((version, changed)) = changes_of(store, user, ReadLog { partition, after: begin }, limit).await?
        else {
            continue;
        };
        let unchanged = list.entries.into_iter().filter(|entry| !changed.contains_key(&entry.user));
        let now = changed.iter().filter_map(|(&user, at)| at.map(|at| Entry { at, user }));
        let mut entries: Vec<_> = unchanged.chain(now).collect();
        entries.sort_unstable();
        return Ok((version, entries));
    }
    Err(ServiceError::Unavailable("the log is trimmed faster than a list is read".to_owned()))
}

/// Since when, at the end of the log, a user follows those whom they began or ceased to follow after a position, and the log's last
/// version. `None` if the log no longer tells it all.
async fn changes_of(
    store: &Store,
    user: UserId,
    read: ReadLog,
    limit: Limit,
) -> Result<Option<(Version, BTreeMap<UserId, Option<Micros>>)>, ServiceError> {
    let (mut version, mut changed) = (read.after, BTreeMap::new());
    let mut next = Some(read);
    while let Some(read) = next {
        let part = store.run(&read, Traffic::Bulk, limit.of_step()).await;
        let LogPart::Entries(entries) = part.map_err(|error| limit.error(error))? else { return Ok(None) };
        next = read.next(&entries);
        for entry in entries {
            version = entry.version;
            for change in entry.changes.into_iter().filter(|change| change.kind.user() == user) {
                match change.kind {
                    ChangeKind::Followed { edge, followed_at, .. } => {
                        changed.insert(edge.followee(), Some(followed_at));
                    }
                    ChangeKind::Unfollowed { edge, .. } => {
                        changed.insert(edge.followee(), None);
                    }
                    ChangeKind::StateSet(..)
                    | ChangeKind::Deleted(_)
                    | ChangeKind::Marked { .. }
                    | ChangeKind::Unmarked { .. } => {}
                }
            }
        }
    }
    Ok(Some((version, changed)))
}
