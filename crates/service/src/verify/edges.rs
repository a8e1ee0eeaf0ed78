//! Edges: whether the followee's list follows the truth, which the follower's partition has.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use keyspace::{List, by_partition};
use model::{Edge, Entry, Micros};
use store::{
    StoreError, Traffic,
    ops::{LookUpRow, MOST_ROWS, Probe, Restate},
};
use tokio::time::sleep;

use super::{
    Check, Drift, DriftKind,
    lookup::{Pending, times_anywhere, times_at},
};
use crate::{settle::settle, times::follow_times};

/// How often an edge is looked at that seems to be wrong, while it changes.
const ROUNDS: usize = 4;
/// How long to wait before the next look: most changes are applied and settled by then.
const PAUSE: Duration = Duration::from_millis(100);

/// An edge of which one end tells something that the other does not.
#[derive(Clone, Copy, Debug)]
struct Suspect {
    edge: Edge,
    /// The time that the one end tells.
    at: Micros,
}

/// What a followee's list has of a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Listed {
    /// Whether it has the follower with the true time.
    is_true: bool,
    /// Another time that it has the follower with.
    other: Option<Micros>,
}

fn drift_of(edge: Edge, truth: Option<Micros>, listed: Listed) -> Option<Drift> {
    let kind = match (truth, listed) {
        (Some(_), Listed { is_true: true, other: None }) | (None, Listed { other: None, .. }) => return None,
        (Some(_), Listed { is_true: false, other: None }) => DriftKind::MissingFollower,
        (Some(_), Listed { is_true: false, other: Some(_) }) => DriftKind::WrongTime,
        (Some(_), Listed { is_true: true, other: Some(_) }) | (None, Listed { other: Some(_), .. }) => {
            DriftKind::GhostFollower
        }
    };
    Some(Drift::of_edge(kind, edge, truth, listed.other))
}

impl Check<'_> {
    /// Looks for each entry of one list in the list at the other end.
    pub(super) async fn check_edges(&mut self, list: List, entries: &[Entry]) -> Result<(), StoreError> {
        let user = self.user;
        let other_end = match list {
            List::Following => List::Followers,
            List::Followers => List::Following,
        };
        let row = |entry: &Entry| place(other_end, entry.user, Entry { at: entry.at, user });
        let rows: Vec<_> = entries.iter().map(row).collect();
        let times = times_at(&self.inner.store, &rows, self.deadline).await?;
        let suspects = entries.iter().zip(times).filter(|&(entry, time)| time != Some(entry.at));
        let suspects = suspects.filter_map(|(&Entry { at, user: other }, _)| {
            let edge = match list {
                List::Following => Edge::new(user, other),
                List::Followers => Edge::new(other, user),
            };
            Some(Suspect { edge: edge.ok()?, at })
        });
        let drifts = self.judge(suspects.collect()).await?;
        let is_repaired = self.repair && !drifts.is_empty();
        if is_repaired {
            self.mend(&drifts).await?;
        }
        for drift in drifts {
            self.found.add(Drift { is_repaired, ..drift });
        }
        Ok(())
    }

    /// Which of the suspects are wrong for good. A difference counts if it lasts over two looks at the list, the truth stays the same
    /// before, between and after them, and between them no change of the edge was pending: then all that was committed had been
    /// applied, and as no time ever comes back, it was not another change either that made it.
    async fn judge(&mut self, mut open: Vec<Suspect>) -> Result<Vec<Drift>, StoreError> {
        let store = &self.inner.store;
        let of_follower = |suspect: &Suspect| store.keys().partition(suspect.edge.follower());
        let mut drifts = Vec::new();
        for round in 0..ROUNDS {
            if open.is_empty() {
                break;
            }
            if round > 0 {
                sleep(PAUSE).await;
            }
            let truths = self.truths(&open).await?;
            let listed = self.listed(&open, &truths).await?;
            let truths_between = self.truths(&open).await?;
            let pending = Pending::read(store, open.iter().map(of_follower).collect(), self.deadline).await?;
            let listed_again = self.listed(&open, &truths).await?;
            let truths_after = self.truths(&open).await?;
            let mut number = 0..;
            open.retain(|suspect| {
                let Some(at) = number.next() else { return true };
                let Some(drift) = drift_of(suspect.edge, truths[at], listed_again[at]) else { return false };
                let is_stable = truths[at] == truths_between[at] && truths[at] == truths_after[at];
                if !is_stable || listed[at] != listed_again[at] || pending.has(suspect.edge, of_follower(suspect)) {
                    return true;
                }
                drifts.push(drift);
                false
            });
        }
        self.found.in_flight += open.len() as u64;
        Ok(drifts)
    }

    /// Since when the followers follow, as their own lists have it.
    async fn truths(&self, suspects: &[Suspect]) -> Result<Vec<Option<Micros>>, StoreError> {
        let store = &self.inner.store;
        let row = |suspect: &Suspect| {
            place(List::Following, suspect.edge.follower(), Entry { at: suspect.at, user: suspect.edge.followee() })
        };
        let rows: Vec<_> = suspects.iter().map(row).collect();
        let mut truths = times_at(store, &rows, self.deadline).await?;
        let mut unknown: BTreeMap<_, Vec<(usize, Edge)>> = BTreeMap::new();
        for (index, suspect) in
            suspects.iter().enumerate().filter(|&(index, suspect)| truths[index] != Some(suspect.at))
        {
            unknown.entry(suspect.edge.follower()).or_default().push((index, suspect.edge));
        }
        let probes: Vec<_> = unknown
            .iter()
            .map(|(&follower, edges)| Probe {
                follower,
                followees: edges.iter().map(|(_, edge)| edge.followee()).collect(),
            })
            .collect();
        let times = follow_times(store, &probes, Traffic::Bulk, self.deadline).await?;
        for ((index, _), time) in unknown.into_values().flatten().zip(times.into_iter().flatten()) {
            truths[index] = time;
        }
        Ok(truths)
    }

    /// What the followees' lists have of the followers.
    async fn listed(&self, suspects: &[Suspect], truths: &[Option<Micros>]) -> Result<Vec<Listed>, StoreError> {
        let store = &self.inner.store;
        let row = |edge: Edge, at: Micros| place(List::Followers, edge.followee(), Entry { at, user: edge.follower() });
        let at_suspected: Vec<_> = suspects.iter().map(|suspect| row(suspect.edge, suspect.at)).collect();
        let at_truth =
            suspects.iter().zip(truths).map(|(suspect, truth)| row(suspect.edge, truth.unwrap_or(suspect.at)));
        let at_truth = times_at(store, &at_truth.collect::<Vec<_>>(), self.deadline).await?;
        let at_suspected = times_at(store, &at_suspected, self.deadline).await?;
        let mut all: Vec<_> = truths
            .iter()
            .zip(at_truth.into_iter().zip(at_suspected))
            .map(|(&truth, (one, other))| {
                let is_true = truth.is_some() && one == truth;
                Listed { is_true, other: one.filter(|_| one != truth).or_else(|| other.filter(|_| other != truth)) }
            })
            .collect();
        let lost = |listed: &Listed| !listed.is_true && listed.other.is_none();
        let searched: Vec<usize> = (0..all.len()).filter(|&index| lost(&all[index])).collect();
        let rows: Vec<_> = searched.iter().map(|&index| row(suspects[index].edge, suspects[index].at)).collect();
        let times = times_anywhere(store, &rows, self.deadline).await?;
        for (index, time) in searched.into_iter().zip(times) {
            all[index].other = time.filter(|_| time != truths[index]);
        }
        Ok(all)
    }

    /// Has the lists of followers follow what is true of the edges now. What is to go goes first: a later removal of the same edge
    /// would keep it from coming back.
    async fn mend(&self, drifts: &[Drift]) -> Result<(), StoreError> {
        let edges = |time: fn(&Drift) -> Option<Micros>| {
            let edges = drifts
                .iter()
                .filter_map(move |drift| Some((Edge::new(drift.follower?, drift.followee?).ok()?, time(drift)?)));
            edges.collect::<BTreeSet<_>>()
        };
        self.restate(edges(|drift| drift.listed_at)).await?;
        self.restate(edges(|drift| drift.followed_at)).await
    }

    /// Commits anew what the followers' lists have of edges, each with a time, and applies it.
    async fn restate(&self, edges: BTreeSet<(Edge, Micros)>) -> Result<(), StoreError> {
        let inner = self.inner;
        let keys = inner.store.keys();
        let home = |(edge, _): &(Edge, Micros)| keys.partition(edge.follower());
        let batches = by_partition(keys.partitions(), edges, MOST_ROWS, home);
        let operations: Vec<_> = batches
            .into_iter()
            .map(|batch| Restate::new(batch.partition, batch.items, inner.seen.get(batch.partition)))
            .collect();
        let results = inner.store.run_all(&operations, Traffic::Bulk, self.deadline).await;
        let (mut changes, mut committed) = (Vec::new(), Vec::new());
        for (operation, result) in operations.iter().zip(results) {
            let restated = result?;
            inner.seen.raise(operation.partition, restated.version);
            committed.push((operation.partition, restated.version));
            changes.extend(restated.changes);
        }
        inner.followers.apply(changes, Traffic::Bulk, self.deadline).await?;
        settle(&inner.store, committed.into_iter()).await;
        Ok(())
    }
}

fn place(list: List, user: model::UserId, entry: Entry) -> LookUpRow {
    LookUpRow { list, user, shard: None, entry }
}
