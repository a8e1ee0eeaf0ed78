//! The set by which a long list of followees is probed.

use std::collections::BTreeSet;

use keyspace::List;
use model::{Edge, UserId};
use store::{
    StoreError, Traffic,
    ops::{CheckIds, IdState, Outlined, ScanIds},
};

use super::{Check, Drift, DriftKind};
use crate::lists::{outline, read_segments};

/// Most looks into segments of one script.
const MOST_LOOKS: usize = 1_024;

impl Check<'_> {
    /// Compares the set with the segments, and sets it right.
    pub(super) async fn check_ids(&mut self) -> Result<(), StoreError> {
        let (sealed, segments) = self.sealed().await?;
        let ids = self.ids().await?;
        // Others change both meanwhile; what differs is looked at again, both in one script.
        let suspects: Vec<UserId> = sealed.symmetric_difference(&ids).copied().collect();
        for followees in suspects.chunks((MOST_LOOKS / segments.max(1)).clamp(1, MOST_LOOKS)) {
            let check = CheckIds { user: self.user, followees: followees.to_vec(), mend: self.repair };
            let states = self.inner.store.run(&check, Traffic::Bulk, self.deadline).await?;
            for (&followee, state) in followees.iter().zip(states) {
                let kind = match state {
                    IdState::Right => continue,
                    IdState::Missing => DriftKind::MissingId,
                    IdState::Stray => DriftKind::StrayId,
                };
                let Ok(edge) = Edge::new(self.user, followee) else { continue };
                let drift = Drift::of_edge(kind, edge, None, None);
                self.found.add(Drift { is_repaired: self.repair, ..drift });
            }
        }
        Ok(())
    }

    /// Who is in the segments of the list, and how many these are.
    async fn sealed(&self) -> Result<(BTreeSet<UserId>, usize), StoreError> {
        let store = &self.inner.store;
        let list = List::Following;
        let Outlined::Segments(segments) = outline(store, list, self.user, None, self.deadline).await? else {
            return Ok((BTreeSet::new(), 0));
        };
        let whole = read_segments(store, list, self.user, &segments, self.deadline).await;
        whole.outcome?;
        let bound = segments.last().map(|segment| segment.bound);
        let sealed = whole.entries.into_iter().filter(|entry| bound.is_some_and(|bound| *entry <= bound));
        Ok((sealed.map(|entry| entry.user).collect(), segments.len()))
    }

    async fn ids(&self) -> Result<BTreeSet<UserId>, StoreError> {
        let (mut ids, mut cursor) = (BTreeSet::new(), 0);
        loop {
            let scan = ScanIds { user: self.user, cursor };
            let (next, users) = self.inner.store.run(&scan, Traffic::Bulk, self.deadline).await?;
            ids.extend(users);
            match next {
                0 => return Ok(ids),
                next => cursor = next,
            }
        }
    }
}
