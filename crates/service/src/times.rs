//! Since when somebody follows others, however long their list is.

use std::collections::HashMap;

use keyspace::{List, by_partition};
use model::{Deadline, Micros, UserId};
use store::{
    Store, StoreError, Traffic,
    ops::{MOST_SEGMENTS, Probe, ProbeFollowers, Probed, ProbedAll, Segment},
};

use crate::lists::{read_segments, whole_list};

/// Followers of one script.
const MOST_FOLLOWERS: usize = 64;

/// Answers probes. One round trip; two where edges are in segments of a long list, which is read as a whole where many are.
pub(crate) async fn follow_times(
    store: &Store,
    probes: &[Probe],
    traffic: Traffic,
    deadline: Deadline,
) -> Result<Vec<Vec<Option<Micros>>>, StoreError> {
    let answers = store.run_all(probes, traffic, deadline).await;
    let mut times = Vec::with_capacity(probes.len());
    for (probe, answer) in probes.iter().zip(answers) {
        let ProbedAll { of_each, segments } = answer?;
        let pairs = || probe.followees.iter().copied().zip(of_each.iter().copied());
        let unknown = pairs().filter(|&(_, probed)| probed == Probed::Sometime).map(|(followee, _)| followee);
        let found = find_times(store, probe.follower, unknown, &segments, deadline).await?;
        let time = |(followee, probed)| match probed {
            Probed::Not => None,
            Probed::Since(time) => Some(time),
            Probed::Sometime => found.get(&followee).copied().flatten(),
        };
        times.push(pairs().map(time).collect());
    }
    Ok(times)
}

/// What is known of whether each of some users follows a user, and the last error. Those in partitions that gave none are missing. One
/// round trip.
pub(crate) async fn probe_followers(
    store: &Store,
    followers: impl IntoIterator<Item = UserId>,
    followee: UserId,
    traffic: Traffic,
    deadline: Deadline,
) -> (Vec<(UserId, Probed)>, Result<(), StoreError>) {
    let keys = store.keys();
    let batches = by_partition(keys.partitions(), followers, MOST_FOLLOWERS, |&follower| keys.partition(follower));
    let probes: Vec<_> = batches.into_iter().map(|batch| ProbeFollowers { followers: batch.items, followee }).collect();
    let (mut known, mut outcome) = (Vec::new(), Ok(()));
    for (probe, answer) in probes.iter().zip(store.run_all(&probes, traffic, deadline).await) {
        match answer {
            Ok(answer) => known.extend(probe.followers.iter().copied().zip(answer)),
            Err(error) => outcome = Err(error),
        }
    }
    (known, outcome)
}

/// Reads the list of whom somebody follows, and gives since when they follow some. `None`: not any more.
async fn find_times(
    store: &Store,
    follower: UserId,
    followees: impl Iterator<Item = UserId>,
    segments: &[Segment],
    deadline: Deadline,
) -> Result<HashMap<UserId, Option<Micros>>, StoreError> {
    let mut times: HashMap<_, _> = followees.map(|followee| (followee, None)).collect();
    if times.is_empty() {
        return Ok(times);
    }
    let following = match segments.len() {
        1..MOST_SEGMENTS => read_segments(store, List::Following, follower, segments, deadline).await,
        // Not told, or not all.
        _ => whole_list(store, List::Following, follower, deadline).await,
    };
    following.outcome?;
    for entry in following.entries {
        if let Some(time) = times.get_mut(&entry.user) {
            *time = Some(entry.at);
        }
    }
    Ok(times)
}
