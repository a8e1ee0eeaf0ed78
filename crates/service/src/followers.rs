//! The second half of writes: lists of followers, wherever their parts lie.

use std::{collections::BTreeMap, sync::Arc};

use keyspace::{Shard, by_partition};
use model::{Deadline, Edge, Micros, UserId};
use store::{
    Store, StoreError, Traffic,
    ops::{Apply, ApplyToShard, FollowerChange, MOST_ROWS, Recount, Refused, Routed, Shown},
};

use crate::{
    outlines::Outlines,
    settle::settle,
    spread::Spreader,
    versions::SeenVersions,
    withdraw::{Withdrawals, withdraw},
};

/// Makes lists of followers follow committed changes. Clones share the same work.
#[derive(Clone)]
pub(crate) struct Followers {
    store: Store,
    spreader: Spreader,
    outlines: Outlines,
    seen: Arc<SeenVersions>,
}

impl Followers {
    pub(crate) fn new(store: Store, spreader: Spreader, seen: Arc<SeenVersions>) -> Self {
        Self { outlines: Outlines::new(store.clone()), store, spreader, seen }
    }

    /// Applies all changes, or gives an error: then some may be applied, and all may be applied again. One round trip; more for what
    /// lies deep in long lists.
    ///
    /// Gives the additions that the followees' partitions refused. Their edges are withdrawn when this is answered: the changes
    /// count as applied.
    pub(crate) async fn apply(
        &self,
        changes: Vec<(Edge, FollowerChange)>,
        traffic: Traffic,
        deadline: Deadline,
    ) -> Result<Vec<Refused>, StoreError> {
        let (refused, _none) = self.apply_to_lists(changes, traffic, deadline).await?;
        if !refused.is_empty() {
            Box::pin(self.withdraw(&refused, traffic, deadline)).await?;
        }
        Ok(refused)
    }

    /// Applies [`FollowerChange::Shown`] as [`Followers::apply`] does, and gives what the followees' partitions know of the followees.
    pub(crate) async fn show(
        &self,
        changes: Vec<(Edge, FollowerChange)>,
        traffic: Traffic,
        deadline: Deadline,
    ) -> Result<Vec<Shown>, StoreError> {
        let (refused, shown) = self.apply_to_lists(changes, traffic, deadline).await?;
        if !refused.is_empty() {
            self.withdraw(&refused, traffic, deadline).await?;
        }
        Ok(shown)
    }

    /// The first half of withdrawals.
    pub(crate) async fn withdraw_edges(
        &self,
        edges: impl IntoIterator<Item = (Edge, Micros)>,
        traffic: Traffic,
        deadline: Deadline,
    ) -> Result<Withdrawals, StoreError> {
        withdraw(&self.store, &self.seen, edges, traffic, deadline).await
    }

    /// Withdraws what was refused. Also takes it out of the lists, where it may be from before.
    async fn withdraw(&self, refused: &[Refused], traffic: Traffic, deadline: Deadline) -> Result<(), StoreError> {
        let edges = refused.iter().map(|refused| (refused.edge, refused.followed_at));
        let withdrawals = self.withdraw_edges(edges, traffic, deadline).await?;
        metrics::counter!("socialgraph_follows_withdrawn_total").increment(withdrawals.changes().count() as u64);
        match self.apply_to_lists(withdrawals.changes().collect(), traffic, deadline).await {
            Ok(_none) => settle(&self.store, withdrawals.committed.into_iter()).await,
            Err(error) => tracing::debug!(%error, "second half of withdrawals left to the relay"),
        }
        Ok(())
    }

    async fn apply_to_lists(
        &self,
        changes: Vec<(Edge, FollowerChange)>,
        traffic: Traffic,
        deadline: Deadline,
    ) -> Result<(Vec<Refused>, Vec<Shown>), StoreError> {
        let results = if changes.len() == 1 {
            vec![self.store.run(&Apply::new(changes), traffic, deadline).await]
        } else {
            let keys = self.store.keys();
            let home = |(edge, _): &(Edge, FollowerChange)| keys.partition(edge.followee());
            let batches = by_partition(keys.partitions(), changes, MOST_ROWS, home);
            let applies: Vec<_> = batches.into_iter().map(|batch| Apply::new(batch.items)).collect();
            self.store.run_all(&applies, traffic, deadline).await
        };
        let (mut routed, mut refused, mut shown, mut outcome) = (Vec::new(), Vec::new(), Vec::new(), Ok(()));
        for result in results {
            match result {
                Ok(applied) => {
                    routed.extend(applied.routed);
                    refused.extend(applied.refused);
                    shown.extend(applied.shown);
                    applied.large.into_iter().for_each(|user| self.spreader.spread(user));
                }
                Err(error) => outcome = Err(error),
            }
        }
        if !routed.is_empty() {
            self.apply_to_shards(routed, traffic, deadline).await?;
        }
        outcome.map(|()| (refused, shown))
    }

    /// The lengths of lists follow their shards before this is answered, and so before a change counts as applied.
    async fn apply_to_shards(
        &self,
        routed: Vec<Routed>,
        traffic: Traffic,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let mut of_shards: BTreeMap<(UserId, Shard), Vec<(Edge, FollowerChange)>> = BTreeMap::new();
        for Routed { shard, edge, change } in routed {
            of_shards.entry((edge.followee(), shard)).or_default().push((edge, change));
        }
        let (mut applies, mut of_applies, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        for ((user, shard), changes) in of_shards {
            let segments = self.outlines.get(user, shard).unwrap_or_else(|| {
                unknown.push((user, shard));
                Arc::default()
            });
            for changes in changes.chunks(MOST_ROWS) {
                applies.push(ApplyToShard { shard, changes: changes.to_vec(), segments: segments.clone() });
                of_applies.push((user, shard));
            }
        }
        let applying = self.store.run_all(&applies, traffic, deadline);
        let (growths, ()) = futures::join!(applying, self.outlines.learn(&unknown, deadline));
        let mut recounts = Vec::with_capacity(growths.len());
        for ((user, shard), growth) in of_applies.into_iter().zip(growths) {
            recounts.push(Recount { user, shard, growth: growth? });
        }
        self.store.run_all(&recounts, traffic, deadline).await.into_iter().collect()
    }
}
