//! Whom users follow, exactly.

use std::collections::BTreeMap;

use keyspace::{List, Partition};
use model::{Entry, Micros, UserId, Version};
use store::{
    Store, Traffic,
    ops::{FindLogPlace, FollowerChange, ListsRead, LogChange, LogPlace, ReadChanges, ShortLists},
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
        let place = store.run(&FindLogPlace(partition), Traffic::Bulk, deadline).await;
        let place = place.map_err(|error| limit.error(error))?;
        let list = whole_list(store, List::Following, user, deadline).await;
        list.outcome.map_err(|error| limit.error(error))?;
        let Some((version, changed)) = changes_of(store, user, place, limit).await? else { continue };
        let unchanged = list.entries.into_iter().filter(|entry| !changed.contains_key(&entry.user));
        let now = changed.iter().filter_map(|(&user, at)| at.map(|at| Entry { at, user }));
        let mut entries: Vec<_> = unchanged.chain(now).collect();
        entries.sort_unstable();
        return Ok((version, entries));
    }
    Err(ServiceError::Unavailable("the log is trimmed faster than a list is read".to_owned()))
}

/// Since when, at the end of the log, a user follows those whom they began or ceased to follow after a place, and the log's last version.
/// `None` if the log no longer tells it all.
async fn changes_of(
    store: &Store,
    user: UserId,
    place: LogPlace,
    limit: Limit,
) -> Result<Option<(Version, BTreeMap<UserId, Option<Micros>>)>, ServiceError> {
    let (mut version, mut changed) = (place.version, BTreeMap::new());
    let mut next = Some(place);
    while let Some(place) = next {
        let part = store.run(&ReadChanges(place), Traffic::Bulk, limit.of_step()).await;
        let part = part.map_err(|error| limit.error(error))?;
        if part.is_trimmed {
            return Ok(None);
        }
        for entry in part.changes {
            version = entry.version;
            for change in entry.changes {
                let LogChange::Edge(edge, change) = change else { continue };
                if edge.follower() != user {
                    continue;
                }
                let since = match change {
                    FollowerChange::Present { followed_at, .. } => Some(followed_at),
                    FollowerChange::Absent { .. } | FollowerChange::Shown { .. } | FollowerChange::Hidden { .. } => {
                        None
                    }
                };
                changed.insert(edge.followee(), since);
            }
        }
        next = part.next;
    }
    Ok(Some((version, changed)))
}
