//! The length of a list: the number that is kept of it, beside its entries.

use std::time::Duration;

use keyspace::List;
use store::{
    StoreError, Traffic,
    ops::{Segment, Tallied, Tally},
};
use tokio::time::sleep;

use super::{Check, Drift, DriftKind};

/// How often the shards of a list are counted, while they change.
const ROUNDS: usize = 4;
const PAUSE: Duration = Duration::from_millis(50);

impl Check<'_> {
    /// Compares the count of a list with its length, and sets it right.
    pub(super) async fn check_length(&mut self, list: List) -> Result<(), StoreError> {
        for round in 0..ROUNDS {
            if round > 0 {
                sleep(PAUSE).await;
            }
            let Some(tallied) = self.tally(list, None).await? else { break };
            let Some(in_shards) = self.count_shards(list, &tallied).await? else { continue };
            let entries = tallied.entries + in_shards;
            if tallied.kept == entries.cast_signed() {
                return Ok(());
            }
            let head = tallied.head;
            let mut drift = Drift {
                kind: DriftKind::WrongCount,
                follower: (list == List::Following).then_some(self.user),
                followee: (list == List::Followers).then_some(self.user),
                followed_at: None,
                listed_at: None,
                count: Some((head.cast_signed() + tallied.kept, head + entries)),
                is_repaired: false,
            };
            if self.repair {
                // Not set right if shards changed since: then it is counted anew.
                let facts = tallied.facts.clone();
                let set = self.tally(list, Some((in_shards, facts))).await?;
                if set.is_none_or(|set| set.facts != tallied.facts) {
                    continue;
                }
                drift.is_repaired = true;
            }
            self.found.add(drift);
            return Ok(());
        }
        self.found.unknown_lengths += 1;
        Ok(())
    }

    /// How many entries the shards of a list have; `None` if one has changed, and the list has not counted that yet. As the revision
    /// of a shard gets higher with each change, all are as they were when the list was looked at.
    async fn count_shards(&self, list: List, home: &Tallied) -> Result<Option<u64>, StoreError> {
        let user = self.user;
        let tally =
            |segment: &Segment| Tally { list, user, shard: segment.shard(), bound: Some(segment.bound), mend: None };
        let tallies: Vec<_> = home.shards.iter().map(tally).collect();
        let mut entries = 0;
        for (segment, tallied) in
            home.shards.iter().zip(self.inner.store.run_all(&tallies, Traffic::Bulk, self.deadline).await)
        {
            let counted = segment.shard().map(|shard| home.counted_revision(shard));
            match tallied? {
                Some(tallied) if Some(tallied.revision()) == counted => entries += tallied.entries,
                _ => return Ok(None),
            }
        }
        Ok(Some(entries))
    }

    async fn tally(&self, list: List, mend: Option<(u64, String)>) -> Result<Option<Tallied>, StoreError> {
        let tally = Tally { list, user: self.user, shard: None, bound: None, mend };
        self.inner.store.run(&tally, Traffic::Bulk, self.deadline).await
    }
}
