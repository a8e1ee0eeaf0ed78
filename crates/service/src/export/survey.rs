//! Who follows somebody.

use std::collections::{BTreeMap, BTreeSet};

use futures::{
    Stream, StreamExt, TryStreamExt,
    stream::{select_all, try_unfold},
};
use keyspace::{Keyspace, Partition};
use model::UserId;
use store::{
    Store, StoreError, Traffic,
    ops::{Clock, LogPart, ReadLog, ScanKeys, ShortLists},
};

use super::Limit;
use crate::ServiceError;

/// How often all keys are looked through before it is given up.
const ATTEMPTS: usize = 10;

/// Everyone who may follow somebody and is still to be read, by partition and id: 8 bytes each, and up to as many to spare.
///
/// SCAN meets every key that is there all along, unless slots move. But the keys of one list may take turns while they are looked for, as
/// a short list becomes a long one. So whoever is named in the logs since the look began is counted in.
pub(super) struct Survey {
    /// The partitions after the present one, the last first.
    partitions: Vec<(Partition, Vec<UserId>)>,
    partition: Option<Partition>,
    /// Of the present partition, by id.
    users: Vec<UserId>,
    read: usize,
}

impl Survey {
    /// Looks for all followers after one.
    pub(super) async fn make(store: &Store, after: Option<UserId>, limit: Limit) -> Result<Self, ServiceError> {
        for _ in 0..ATTEMPTS {
            if let Some(found) = attempt(store, after, limit).await.map_err(|error| limit.error(error))? {
                return Ok(Self { partitions: found, partition: None, users: Vec::new(), read: 0 });
            }
            tracing::info!("slots moved, or logs were trimmed, while an export looked for followers: again");
        }
        Err(ServiceError::Unavailable("slots move all the time".to_owned()))
    }

    /// Those of some users who come after one.
    pub(super) fn of(keys: &Keyspace, users: &BTreeSet<UserId>, after: Option<UserId>) -> Self {
        let last = after.map(|user| (keys.partition(user), user));
        let mut of_partitions = BTreeMap::<_, Vec<_>>::new();
        for &user in users {
            let partition = keys.partition(user);
            if last.is_none_or(|last| (partition, user) > last) {
                of_partitions.entry(partition).or_default().push(user);
            }
        }
        let partitions = of_partitions.into_iter().rev().collect();
        Self { partitions, partition: None, users: Vec::new(), read: 0 }
    }

    /// The first who are still to be read, of one partition, at most [`ShortLists::MOST_USERS`].
    pub(super) fn first(&mut self) -> Option<(Partition, &[UserId])> {
        while self.read == self.users.len() {
            let (partition, users) = self.partitions.pop()?;
            (self.partition, self.users, self.read) = (Some(partition), users, 0);
            self.users.sort_unstable();
            self.users.dedup();
        }
        let left = &self.users[self.read..];
        Some((self.partition?, &left[..left.len().min(ShortLists::MOST_USERS)]))
    }

    /// The first so many of these are read.
    pub(super) fn skip(&mut self, users: usize) {
        self.read += users;
    }
}

/// Who was found, the last partition first. `None`: somebody may have been missed.
async fn attempt(
    store: &Store,
    after: Option<UserId>,
    limit: Limit,
) -> Result<Option<Vec<(Partition, Vec<UserId>)>>, StoreError> {
    let layout = store.layout();
    let first = after.map(|user| store.keys().partition(user));
    let wanted = store.keys().partitions().all().skip_while(|&partition| first.is_some_and(|first| partition < first));
    let mut found: Vec<_> = wanted.map(|partition| (partition, Vec::new())).collect();
    let clocks: Vec<_> = found.iter().map(|(partition, _)| Clock(*partition)).collect();
    let begins = store.run_all(&clocks, Traffic::Bulk, limit.of_step()).await;
    let reads = clocks.iter().zip(begins).map(|(clock, begin)| Ok(ReadLog { partition: clock.0, after: begin? }));
    let reads = reads.collect::<Result<_, StoreError>>()?;
    let begin = found.first().map_or(0, |(partition, _)| partition.get());
    let mut add = |user: UserId| {
        let partition = store.keys().partition(user);
        let is_after = first.zip(after).is_none_or(|last| (partition, user) > last);
        let at = usize::from(partition.get()).checked_sub(begin.into());
        if let Some((_, users)) = at.and_then(|at| found.get_mut(at)).filter(|_| is_after) {
            users.push(user);
        }
    };
    let scans = layout.of_nodes.values().map(|&partition| scan(store.clone(), partition, limit).boxed());
    let mut scans = select_all(scans);
    while let Some(users) = scans.try_next().await? {
        users.into_iter().for_each(&mut add);
    }
    let is_complete = read_logs(store, reads, limit, &mut add).await?;
    found.reverse();
    Ok((is_complete && store.layout() == layout).then_some(found))
}

/// Followers on the node of a partition. Some more than once.
fn scan(
    store: Store,
    partition: Partition,
    limit: Limit,
) -> impl Stream<Item = Result<Vec<UserId>, StoreError>> + Send {
    try_unfold(Some(0), move |cursor| {
        let store = store.clone();
        async move {
            let Some(cursor) = cursor else { return Ok(None) };
            let scan = ScanKeys { partition, cursor, pattern: store.keys().following_pattern() };
            let (next, keys) = store.run(&scan, Traffic::Bulk, limit.of_step()).await?;
            let users = keys.iter().filter_map(|key| store.keys().follower_of(key)).collect();
            Ok(Some((users, (next != 0).then_some(next))))
        }
    })
}

/// Finds whose follows changed since. Gives whether the logs still tell it all.
async fn read_logs(
    store: &Store,
    mut reads: Vec<ReadLog>,
    limit: Limit,
    add: &mut impl FnMut(UserId),
) -> Result<bool, StoreError> {
    while !reads.is_empty() {
        let mut next = Vec::new();
        let parts = store.run_all(&reads, Traffic::Bulk, limit.of_step()).await;
        for (read, part) in reads.into_iter().zip(parts) {
            let LogPart::Entries(entries) = part? else { return Ok(false) };
            entries.iter().flat_map(|entry| &entry.changes).for_each(|change| add(change.kind.user()));
            next.extend(read.next(&entries));
        }
        reads = next;
    }
    Ok(true)
}
