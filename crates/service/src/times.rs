//! Since when somebody follows others, however long their list is.

use std::collections::HashMap;

use keyspace::List;
use model::{Deadline, Micros, UserId};
use store::{
    Store, StoreError, Traffic,
    ops::{Probe, Probed},
};

use crate::lists::whole_list;

/// Answers probes. One round trip; two where an edge is in a segment of a long list; and where many are, the whole list is read.
pub(crate) async fn follow_times(
    store: &Store,
    probes: &[Probe],
    traffic: Traffic,
    deadline: Deadline,
) -> Result<Vec<Vec<Option<Micros>>>, StoreError> {
    let answers = store.run_all(probes, traffic, deadline).await;
    let mut times = Vec::with_capacity(probes.len());
    for (probe, answer) in probes.iter().zip(answers) {
        let probed = answer?;
        let pairs = || probe.followees.iter().copied().zip(probed.iter().copied());
        let unknown = pairs().filter(|&(_, probed)| probed == Probed::Sometime).map(|(followee, _)| followee);
        let found = find_times(store, probe.follower, unknown, deadline).await?;
        let time = |(followee, probed)| match probed {
            Probed::Not => None,
            Probed::Since(time) => Some(time),
            Probed::Sometime => found.get(&followee).copied().flatten(),
        };
        times.push(pairs().map(time).collect());
    }
    Ok(times)
}

/// Reads the list of whom somebody follows, and gives since when they follow some. `None`: not any more.
async fn find_times(
    store: &Store,
    follower: UserId,
    followees: impl Iterator<Item = UserId>,
    deadline: Deadline,
) -> Result<HashMap<UserId, Option<Micros>>, StoreError> {
    let mut times: HashMap<_, _> = followees.map(|followee| (followee, None)).collect();
    if times.is_empty() {
        return Ok(times);
    }
    let following = whole_list(store, List::Following, follower, deadline).await;
    following.outcome?;
    for entry in following.entries {
        if let Some(time) = times.get_mut(&entry.user) {
            *time = Some(entry.at);
        }
    }
    Ok(times)
}
