use std::collections::BTreeMap;
use std::time::Duration;

use futures::{Stream, StreamExt};
use keyspace::by_partition;
use model::{Deadline, Edge, Micros, UserId, Version, limits::MAX_IMPORT_ERRORS};
use store::{
    Traffic,
    ops::{Apply, Follow, FollowRow, FollowerChange, FollowerRows, RowOutcome},
};

use crate::{Graph, ServiceError, settle::settle};

/// Rows that are written together: large, so that each partition's script gets many.
const CHUNK: usize = 32_768;
/// Chunks that are written side by side, while the next one is read.
const CHUNKS_IN_FLIGHT: usize = 3;
/// Rows of one script.
const MOST_ROWS: usize = 64;
/// How long one chunk may take.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// A row to be imported.
#[derive(Clone, Copy, Debug)]
pub struct ImportRow {
    /// Who follows whom.
    pub edge: Edge,
    /// Since when; `None` for now.
    pub followed_at: Option<Micros>,
}

/// Why a row was not imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFault {
    /// Which row, from 1.
    pub row: u64,
    /// Why.
    pub problem: RowProblem,
}

/// Why a row was not imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowProblem {
    /// Somebody follows themselves.
    SelfReference,
    /// A bad field; says which and what is wrong.
    Invalid(String),
    /// The follower follows as many as they may.
    OverLimit,
}

/// What became of an import's rows. The counts add up to the number of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportSummary {
    /// Made an edge.
    pub created: u64,
    /// The edge was there.
    pub existing: u64,
    /// A later unfollow stands.
    pub superseded: u64,
    /// Somebody follows themselves.
    pub self_reference: u64,
    /// A bad id or time.
    pub invalid: u64,
    /// The follower follows as many as they may.
    pub over_limit: u64,
    /// The first 100 rows that were not imported, by row.
    pub faults: Vec<RowFault>,
}

impl Graph {
    /// Writes a stream of rows, read as fast as they can be written. Fails if the store does; rows before that may have been
    /// written, and importing all again gives the same graph.
    pub async fn import(
        &self,
        rows: impl Stream<Item = Result<ImportRow, RowProblem>> + Send,
        deadline: Option<Deadline>,
    ) -> Result<ImportSummary, ServiceError> {
        let chunks = rows.zip(futures::stream::iter(1_u64..)).chunks(CHUNK);
        let mut written = std::pin::pin!(
            chunks
                .map(|chunk| async move {
                    let limit = Deadline::after(TIME_LIMIT);
                    self.import_chunk(chunk, deadline.map_or(limit, |deadline| deadline.min(limit))).await
                })
                .buffered(CHUNKS_IN_FLIGHT)
        );
        let mut summary = ImportSummary::default();
        while let Some(chunk) = written.next().await {
            summary.add(chunk?);
        }
        Ok(summary)
    }
}

impl Graph {
    async fn import_chunk(
        &self,
        chunk: Vec<(Result<ImportRow, RowProblem>, u64)>,
        deadline: Deadline,
    ) -> Result<ImportSummary, ServiceError> {
        let mut summary = ImportSummary::default();
        let mut rows = Vec::with_capacity(chunk.len());
        for (row, number) in chunk {
            match row {
                Ok(row) => rows.push((number, row)),
                Err(problem) => summary.refuse(number, problem),
            }
        }
        let commits = self.plan_commits(rows);
        let follows: Vec<_> = commits.iter().map(|(follow, _)| follow.clone()).collect();
        let committed = self.inner.store.run_all(&follows, Traffic::Bulk, deadline).await;

        let mut applied = Vec::with_capacity(commits.len());
        let mut changes = Vec::new();
        for ((follow, numbers), committed) in commits.into_iter().zip(committed) {
            let committed = committed?;
            self.inner.seen.raise(follow.partition, committed.version);
            let rows = follow.followers.iter().flat_map(|f| f.rows.iter().map(|row| (f.follower, row.followee)));
            let before = changes.len();
            for (((follower, followee), number), outcome) in rows.zip(numbers).zip(committed.outcomes) {
                match outcome {
                    RowOutcome::Created { followed_at, version } => {
                        summary.created += 1;
                        let edge =
                            Edge::new(follower, followee).map_err(|error| ServiceError::Internal(error.to_string()))?;
                        changes.push((edge, FollowerChange::Present { followed_at, version }));
                    }
                    RowOutcome::Existing { .. } => summary.existing += 1,
                    RowOutcome::Superseded => summary.superseded += 1,
                    RowOutcome::OverLimit => summary.refuse(number, RowProblem::OverLimit),
                }
            }
            if changes.len() > before {
                applied.push((follow.partition, committed.version));
            }
        }
        summary.count_rows();
        self.apply_imported(changes, applied, deadline).await;
        Ok(summary)
    }

    /// One commit for at most 64 rows of one partition, with the numbers of its rows.
    fn plan_commits(&self, rows: Vec<(u64, ImportRow)>) -> Vec<(Follow, Vec<u64>)> {
        let keys = self.inner.store.keys();
        let home = |(_, row): &(u64, ImportRow)| keys.partition(row.edge.follower());
        let batches = by_partition(keys.partitions(), rows, MOST_ROWS, home);
        let commits = batches.into_iter().map(|batch| {
            let mut by_follower: BTreeMap<UserId, Vec<(u64, FollowRow)>> = BTreeMap::new();
            for (number, row) in batch.items {
                let follow = FollowRow { followee: row.edge.followee(), followed_at: row.followed_at };
                by_follower.entry(row.edge.follower()).or_default().push((number, follow));
            }
            let mut numbers = Vec::new();
            let followers = by_follower.into_iter().map(|(follower, rows)| {
                let (row_numbers, rows): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
                numbers.extend(row_numbers);
                FollowerRows { follower, rows }
            });
            let follow = Follow {
                partition: batch.partition,
                followers: followers.collect(),
                source: String::new(),
                max_following: self.inner.settings.max_following,
                seen: self.inner.seen.get(batch.partition),
            };
            (follow, numbers)
        });
        commits.collect()
    }

    /// The second half of a chunk. What fails stays pending, and the relay finishes it.
    async fn apply_imported(
        &self,
        changes: Vec<(Edge, FollowerChange)>,
        applied: Vec<(keyspace::Partition, Version)>,
        deadline: Deadline,
    ) {
        let store = &self.inner.store;
        let keys = store.keys();
        let home = |(edge, _): &(Edge, FollowerChange)| keys.partition(edge.followee());
        let batches = by_partition(keys.partitions(), changes, MOST_ROWS, home);
        let applies: Vec<_> = batches.into_iter().map(|batch| Apply { changes: batch.items }).collect();
        let results = store.run_all(&applies, Traffic::Bulk, deadline).await;
        match results.into_iter().find_map(Result::err) {
            None => settle(store, applied.into_iter()).await,
            Some(error) => tracing::warn!(%error, "second half of imported rows left to the relay"),
        }
    }
}

impl ImportSummary {
    fn refuse(&mut self, row: u64, problem: RowProblem) {
        match problem {
            RowProblem::SelfReference => self.self_reference += 1,
            RowProblem::Invalid(_) => self.invalid += 1,
            RowProblem::OverLimit => self.over_limit += 1,
        }
        self.faults.push(RowFault { row, problem });
    }

    fn add(&mut self, other: Self) {
        self.created += other.created;
        self.existing += other.existing;
        self.superseded += other.superseded;
        self.self_reference += other.self_reference;
        self.invalid += other.invalid;
        self.over_limit += other.over_limit;
        self.faults.extend(other.faults);
        self.faults.sort_by_key(|fault| fault.row);
        self.faults.truncate(MAX_IMPORT_ERRORS);
    }

    fn count_rows(&self) {
        let outcomes = [
            ("created", self.created),
            ("existing", self.existing),
            ("superseded", self.superseded),
            ("self", self.self_reference),
            ("invalid", self.invalid),
            ("over_limit", self.over_limit),
        ];
        for (outcome, rows) in outcomes {
            metrics::counter!("socialgraph_import_rows_total", "outcome" => outcome).increment(rows);
        }
    }
}
