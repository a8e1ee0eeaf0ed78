//! Imports with an id, which go on where they broke.

use std::{
    hash::Hasher,
    pin::pin,
    sync::atomic::{AtomicU64, Ordering},
};

use futures::{Stream, StreamExt};
use model::{Deadline, ImportId};
use siphasher::sip::SipHasher24;
use store::{
    Operation, Traffic,
    ops::{BeginImport, Checkpoint, SaveImport},
};

use crate::{
    Graph, ImportRow, ImportSummary, RowProblem, ServiceError,
    import::TIME_LIMIT,
    import_text::{read_summary, write_summary},
};

/// After how many rows all of them are written and a checkpoint is made: with fewer, scripts would mostly not be full.
const ROWS_OF_PIECE: usize = 262_144;

/// A row of an import as it was sent.
#[derive(Clone, Debug)]
pub struct SentRow {
    /// Its fields. The same row has the same ones whenever it is sent.
    pub fields: [i64; 4],
    /// What it says.
    pub row: Result<ImportRow, RowProblem>,
}

/// What became of an import's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumedImport {
    /// Of all rows, those that were skipped included.
    pub summary: ImportSummary,
    /// How many of the first rows were imported before.
    pub skipped: u64,
}

/// What was read of the rows.
#[derive(Default)]
struct Read {
    rows: AtomicU64,
    content: AtomicU64,
}

impl Read {
    fn take(&self, row: &SentRow) {
        let mut hasher = SipHasher24::new_with_keys(self.content(), 0);
        row.fields.iter().for_each(|field| hasher.write(&field.to_be_bytes()));
        self.content.store(hasher.finish(), Ordering::Relaxed);
        self.rows.fetch_add(1, Ordering::Relaxed);
    }

    fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    fn content(&self) -> u64 {
        self.content.load(Ordering::Relaxed)
    }
}

impl Graph {
    /// Imports as [`Graph::import`] does, but skips the rows that were wholly written under this id before. Fails before it writes
    /// anything if the first rows are not those.
    pub async fn import_as(
        &self,
        id: ImportId,
        rows: impl Stream<Item = SentRow> + Send,
        deadline: Option<Deadline>,
    ) -> Result<ResumedImport, ServiceError> {
        let owner = format!("{:016x}", rand::random::<u64>());
        let begin = BeginImport { id: id.clone(), owner: owner.clone() };
        let checkpoint = self.note(&begin, deadline).await?;
        let mut summary = read_summary(&checkpoint.counts, &checkpoint.faults)
            .ok_or_else(|| ServiceError::Internal(format!("the checkpoint of import {id} cannot be read")))?;
        let (read, mut rows) = (Read::default(), pin!(rows.peekable()));
        while read.rows() < checkpoint.rows {
            let row = rows.next().await.ok_or(ServiceError::ImportIdReused(checkpoint.rows))?;
            read.take(&row);
        }
        if read.content() != checkpoint.content {
            return Err(ServiceError::ImportIdReused(checkpoint.rows));
        }
        while rows.as_mut().peek().await.is_some() {
            let first = read.rows() + 1;
            let piece = rows.as_mut().take(ROWS_OF_PIECE).inspect(|row| read.take(row)).map(|row| row.row);
            summary.add(self.import_from(first, piece, deadline).await?);
            let (counts, faults) = write_summary(&summary);
            let checkpoint = Checkpoint { rows: read.rows(), content: read.content(), counts, faults };
            let save = SaveImport { id: id.clone(), owner: owner.clone(), checkpoint };
            if !self.note(&save, deadline).await? {
                return Err(ServiceError::ImportTakenOver);
            }
            metrics::counter!("socialgraph_import_checkpoints_total").increment(1);
        }
        Ok(ResumedImport { summary, skipped: checkpoint.rows })
    }

    async fn note<O: Operation>(&self, note: &O, deadline: Option<Deadline>) -> Result<O::Output, ServiceError> {
        let limit = Deadline::after(TIME_LIMIT);
        let limit = deadline.map_or(limit, |deadline| deadline.min(limit));
        self.inner.store.run(note, Traffic::Bulk, limit).await.map_err(ServiceError::of_own_limit)
    }
}
