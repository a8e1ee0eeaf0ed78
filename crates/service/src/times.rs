//! Since when somebody follows others, however long their list is.

use std::collections::HashMap;

use keyspace::List;
use model::{Deadline, Entry, Micros, Order, UserId, Window};
use store::{
    Store, StoreError, Traffic,
    ops::{Probe, Probed},
};

use crate::lists::Walk;

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

/// Reads a list of whom somebody follows until some were found, and gives since when. `None`: not followed any more.
pub(crate) async fn find_times(
    store: &Store,
    follower: UserId,
    followees: impl Iterator<Item = UserId>,
    deadline: Deadline,
) -> Result<HashMap<UserId, Option<Micros>>, StoreError> {
    let mut times: HashMap<_, _> = followees.map(|followee| (followee, None)).collect();
    let mut missing = times.len();
    if missing == 0 {
        return Ok(times);
    }
    let walk = Walk { list: List::Following, user: follower, order: Order::NewestFirst, window: Window::ALL };
    let take = |entries: Vec<Entry>| {
        for entry in entries {
            if let Some(time) = times.get_mut(&entry.user) {
                missing -= usize::from(time.replace(entry.at).is_none());
            }
        }
        missing > 0
    };
    walk.each_slice(store, deadline, take).await?;
    Ok(times)
}
