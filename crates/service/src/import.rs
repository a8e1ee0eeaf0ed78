use std::{collections::HashMap, pin::pin, time::Duration};

use futures::{Stream, StreamExt, future::ready, stream::iter};
use keyspace::{Batch, Partition, PartitionCount};
use model::{Deadline, Edge, Micros, Version, limits::MAX_IMPORT_ERRORS};
use store::{
    Traffic,
    ops::{Follow, FollowRow, FollowerChange, FollowerRows, MOST_ROWS, Refusal, RowOutcome},
};

use crate::{Graph, ServiceError, running::Piece, settle::settle};

/// Full scripts that are written together: many, so that the scripts of the second half, whose rows are mixed anew, get
/// many rows as well.
const CHUNK: usize = 512;
/// Chunks that are written side by side: one in its first half, and the others in their second. With more, changes would be pending
/// for longer than the relays of other instances wait.
const CHUNKS_IN_FLIGHT: usize = 2;
/// How long one chunk may take: longer than a failover.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(15);

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
    /// The follower or the followee is not active.
    Unavailable,
    /// One of the two blocks the other.
    Blocked,
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
    /// The follower or the followee is not active.
    pub unavailable: u64,
    /// One of the two blocks the other.
    pub blocked: u64,
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
        self.import_from(1, rows, deadline).await
    }

    /// The same of rows the first of which has a number.
    pub(crate) async fn import_from(
        &self,
        first: u64,
        rows: impl Stream<Item = Result<ImportRow, RowProblem>> + Send,
        deadline: Option<Deadline>,
    ) -> Result<ImportSummary, ServiceError> {
        let mut gathering = Gathering::new(self.inner.store.keys().partitions());
        let rows = rows.zip(iter(first..)).map(Some).chain(iter([None]));
        let chunks = rows.filter_map(move |row| {
            ready(match row {
                Some((row, number)) => gathering.add(row, number),
                None => gathering.finish(),
            })
        });
        // First halves one after the other: of two rows of one edge the first wins.
        let graph = self.clone();
        let committed = chunks.then(move |chunk| {
            let limit = Deadline::after(TIME_LIMIT);
            let deadline = deadline.map_or(limit, |deadline| deadline.min(limit));
            graph.clone().commit_chunk(chunk, deadline)
        });
        let graph = self.clone();
        let applied = committed.map(move |committed| {
            let graph = graph.clone();
            async move { Ok(graph.apply_chunk(committed?).await) }
        });
        let mut written = pin!(applied.buffered(CHUNKS_IN_FLIGHT));
        let mut summary = ImportSummary::default();
        while let Some(chunk) = written.next().await {
            let chunk: Result<_, ServiceError> = chunk;
            summary.add(chunk?);
        }
        Ok(summary)
    }
}

/// A row with its number.
type Numbered = (u64, ImportRow);

/// Rows that wait for others of their partition, over all of the stream: so every script but the last ones is full.
struct Gathering {
    open: Vec<Vec<Numbered>>,
    full: Vec<Batch<Numbered>>,
    refused: ImportSummary,
    partitions: PartitionCount,
}

/// Rows that are written together.
struct Chunk {
    /// At most 64 rows each.
    batches: Vec<Batch<Numbered>>,
    /// Rows that are not to be written.
    refused: ImportSummary,
}

impl Gathering {
    fn new(partitions: PartitionCount) -> Self {
        let open = partitions.all().map(|_| Vec::new()).collect();
        Self { open, full: Vec::new(), refused: ImportSummary::default(), partitions }
    }

    /// Takes a row; gives a chunk when there is one.
    fn add(&mut self, row: Result<ImportRow, RowProblem>, number: u64) -> Option<Chunk> {
        match row {
            Err(problem) => {
                self.refused.refuse(number, problem);
                // Rows come in order, so that the first are kept.
                self.refused.faults.truncate(MAX_IMPORT_ERRORS);
            }
            Ok(row) => {
                let partition = self.partitions.partition(row.edge.follower());
                let rows = &mut self.open[usize::from(partition.get())];
                rows.push((number, row));
                if rows.len() == MOST_ROWS {
                    self.full.push(Batch { partition, items: std::mem::take(rows) });
                }
            }
        }
        (self.full.len() == CHUNK).then(|| self.take_full())
    }

    fn take_full(&mut self) -> Chunk {
        Chunk { batches: std::mem::take(&mut self.full), refused: std::mem::take(&mut self.refused) }
    }

    /// All that is left, at the end of the stream.
    fn finish(&mut self) -> Option<Chunk> {
        let mut chunk = self.take_full();
        let open = self.partitions.all().zip(self.open.iter_mut().map(std::mem::take));
        let open = open.filter(|(_, rows)| !rows.is_empty());
        chunk.batches.extend(open.map(|(partition, items)| Batch { partition, items }));
        (!chunk.batches.is_empty() || chunk.refused != ImportSummary::default()).then_some(chunk)
    }
}

/// Batches with the number of their round, by round: of a partition one each, for a script that is sent again could be overtaken by
/// the partition's next one.
fn in_rounds(batches: Vec<Batch<Numbered>>) -> Vec<(usize, Batch<Numbered>)> {
    let mut batches_before: HashMap<Partition, usize> = HashMap::new();
    let numbered = batches.into_iter().map(|batch| {
        let before = batches_before.entry(batch.partition).or_default();
        *before += 1;
        (*before, batch)
    });
    let mut rounds: Vec<_> = numbered.collect();
    rounds.sort_by_key(|(round, _)| *round);
    rounds
}

/// A chunk whose first half is written.
struct CommittedChunk {
    summary: ImportSummary,
    changes: Vec<(Edge, FollowerChange)>,
    /// The numbers of the rows that the changes are of.
    numbers: Vec<(Edge, u64)>,
    applied: Vec<(Partition, Version)>,
    deadline: Deadline,
    _running: Piece,
}

impl Graph {
    async fn commit_chunk(self, chunk: Chunk, deadline: Deadline) -> Result<CommittedChunk, ServiceError> {
        let running = self.inner.running.begin();
        let Chunk { batches, refused: mut summary } = chunk;
        let rounds = in_rounds(batches).into_iter().map(|(round, batch)| (round, self.commit(batch)));
        let (rounds, batches): (Vec<_>, Vec<_>) = rounds.unzip();
        let (follows, numbers): (Vec<_>, Vec<_>) = batches.into_iter().unzip();
        let mut committed = Vec::with_capacity(follows.len());
        for round in rounds.chunk_by(|one, next| one == next) {
            let follows = &follows[committed.len()..committed.len() + round.len()];
            committed.extend(self.inner.store.run_all(follows, Traffic::Bulk, deadline).await);
        }

        let mut applied = Vec::with_capacity(follows.len());
        let mut changes = Vec::with_capacity(follows.len() * MOST_ROWS);
        let mut numbers_of_edges = Vec::with_capacity(follows.len() * MOST_ROWS);
        for ((follow, numbers), committed) in follows.iter().zip(numbers).zip(committed) {
            let committed = committed.map_err(ServiceError::of_own_limit)?;
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
                        numbers_of_edges.push((edge, number));
                    }
                    RowOutcome::Existing { .. } => summary.existing += 1,
                    RowOutcome::Superseded => summary.superseded += 1,
                    RowOutcome::OverLimit => summary.refuse(number, RowProblem::OverLimit),
                    RowOutcome::Unavailable => summary.refuse(number, RowProblem::Unavailable),
                    RowOutcome::Blocked => summary.refuse(number, RowProblem::Blocked),
                    RowOutcome::TooMany { .. } => {
                        return Err(ServiceError::Internal("an import was told to slow down".to_owned()));
                    }
                }
            }
            if changes.len() > before {
                applied.push((follow.partition, committed.version));
            }
        }
        Ok(CommittedChunk { summary, changes, numbers: numbers_of_edges, applied, deadline, _running: running })
    }

    /// The commit of a batch, with the numbers of its rows.
    fn commit(&self, Batch { partition, items: mut batch }: Batch<Numbered>) -> (Follow, Vec<u64>) {
        batch.sort_by_key(|(_, row)| row.edge.follower());
        let followers = batch.chunk_by(|(_, one), (_, next)| one.edge.follower() == next.edge.follower());
        let followers = followers.map(|rows| FollowerRows {
            follower: rows[0].1.edge.follower(),
            rows: rows
                .iter()
                .map(|(_, row)| FollowRow { followee: row.edge.followee(), followed_at: row.followed_at })
                .collect(),
        });
        let follow = Follow {
            partition,
            followers: followers.collect(),
            source: String::new(),
            max_following: self.inner.settings.max_following,
            per_hour: 0,
            seen: self.inner.seen.get(partition),
        };
        (follow, batch.into_iter().map(|(number, _)| number).collect())
    }

    /// The second half of a chunk. What fails stays pending, and the relay finishes it, or withdraws it.
    async fn apply_chunk(&self, chunk: CommittedChunk) -> ImportSummary {
        let CommittedChunk { mut summary, changes, numbers, applied, deadline, _running } = chunk;
        match self.inner.followers.apply(changes, Traffic::Bulk, deadline).await {
            Ok(refused) => {
                settle(&self.inner.store, applied.into_iter()).await;
                let refused: HashMap<Edge, Refusal> = refused.iter().map(|row| (row.edge, row.refusal)).collect();
                for (edge, number) in numbers {
                    if let Some(&refusal) = refused.get(&edge) {
                        summary.created -= 1;
                        summary.refuse(number, refusal.into());
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "second half of imported rows left to the relay"),
        }
        summary.count_rows();
        summary
    }
}

impl From<Refusal> for RowProblem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unavailable => Self::Unavailable,
            Refusal::Blocked => Self::Blocked,
        }
    }
}

impl ImportSummary {
    fn refuse(&mut self, row: u64, problem: RowProblem) {
        match problem {
            RowProblem::SelfReference => self.self_reference += 1,
            RowProblem::Invalid(_) => self.invalid += 1,
            RowProblem::OverLimit => self.over_limit += 1,
            RowProblem::Unavailable => self.unavailable += 1,
            RowProblem::Blocked => self.blocked += 1,
        }
        self.faults.push(RowFault { row, problem });
        if self.faults.len() == 2 * MAX_IMPORT_ERRORS {
            self.cut_faults();
        }
    }

    /// Keeps the first by row.
    fn cut_faults(&mut self) {
        self.faults.sort_by_key(|fault| fault.row);
        self.faults.truncate(MAX_IMPORT_ERRORS);
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.created += other.created;
        self.existing += other.existing;
        self.superseded += other.superseded;
        self.self_reference += other.self_reference;
        self.invalid += other.invalid;
        self.over_limit += other.over_limit;
        self.unavailable += other.unavailable;
        self.blocked += other.blocked;
        self.faults.extend(other.faults);
        self.cut_faults();
    }

    fn count_rows(&self) {
        let outcomes = [
            ("created", self.created),
            ("existing", self.existing),
            ("superseded", self.superseded),
            ("self", self.self_reference),
            ("invalid", self.invalid),
            ("over_limit", self.over_limit),
            ("unavailable", self.unavailable),
            ("blocked", self.blocked),
        ];
        for (outcome, rows) in outcomes {
            metrics::counter!("socialgraph_import_rows_total", "outcome" => outcome).increment(rows);
        }
    }
}
