use std::{
    pin::pin,
    sync::{Mutex, PoisonError},
};

use futures::StreamExt;
use model::{Deadline, Edge, ImportId, InvalidImportId, Micros, UserId, limits::MAX_CLOCK_SKEW};
use service::{Graph, ImportRow, ImportSummary, RowFault, RowProblem, SentRow};
use socialgraph::v1::{ErrorReason, ImportEdgesRequest, ImportEdgesResponse, ImportError};
use tonic::{Status, Streaming};

use super::status::status;
use crate::errors::invalid_fields;

/// Writes the rows of a stream. Where the stream breaks, what came before is written, and the break is the answer.
pub(super) async fn import(
    graph: &Graph,
    rows: Streaming<ImportEdgesRequest>,
    deadline: Option<Deadline>,
) -> Result<ImportEdgesResponse, Status> {
    let broken = Mutex::new(None);
    let note = |error| *broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    let mut rows = pin!(rows.peekable());
    let import_id = match rows.as_mut().peek().await {
        Some(Ok(first)) => first.import_id.clone(),
        _ => String::new(),
    };
    let id = import_id_of(&import_id)?;
    let rows = rows
        .map(|row| row.and_then(|row| of_import(row, &import_id)).map_err(&note).ok())
        .take_while(|row| std::future::ready(row.is_some()))
        .filter_map(std::future::ready);
    let imported = match id {
        None => graph.import(rows.map(check), deadline).await.map(|summary| response(summary, 0)),
        Some(id) => {
            graph.import_as(id, rows.map(sent), deadline).await.map(|done| response(done.summary, done.skipped))
        }
    };
    match broken.into_inner().unwrap_or_else(PoisonError::into_inner) {
        None => imported.map_err(status),
        Some(error) => Err(error),
    }
}

fn import_id_of(text: &str) -> Result<Option<ImportId>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    let refused = |error: InvalidImportId| invalid_fields(vec![("import_id".to_owned(), error.to_string())]);
    ImportId::new(text).map(Some).map_err(refused)
}

/// Fails for a row that has the id of another import.
fn of_import(row: ImportEdgesRequest, import_id: &str) -> Result<ImportEdgesRequest, Status> {
    if row.import_id.is_empty() || row.import_id == import_id {
        return Ok(row);
    }
    let text = "must be that of the first row, or empty".to_owned();
    Err(invalid_fields(vec![("import_id".to_owned(), text)]))
}

fn sent(row: ImportEdgesRequest) -> SentRow {
    // No time is told from every time by what no nanoseconds are.
    let (seconds, nanos) = row.followed_at.map_or((0, i64::MIN), |at| (at.seconds, at.nanos.into()));
    SentRow { fields: [row.follower_id, row.followee_id, seconds, nanos], row: check(row) }
}

fn check(row: ImportEdgesRequest) -> Result<ImportRow, RowProblem> {
    let follower = UserId::new(row.follower_id).map_err(|e| RowProblem::Invalid(format!("follower_id: {e}")))?;
    let followee = UserId::new(row.followee_id).map_err(|e| RowProblem::Invalid(format!("followee_id: {e}")))?;
    let edge = Edge::new(follower, followee).map_err(|_| RowProblem::SelfReference)?;
    let Some(at) = row.followed_at else { return Ok(ImportRow { edge, followed_at: None }) };
    let at = Micros::from_parts(at.seconds, at.nanos).map_err(|e| RowProblem::Invalid(format!("followed_at: {e}")))?;
    if at > Micros::now().saturating_add(MAX_CLOCK_SKEW) {
        let skew = MAX_CLOCK_SKEW.as_secs();
        return Err(RowProblem::Invalid(format!("followed_at: is more than {skew} s in the future")));
    }
    Ok(ImportRow { edge, followed_at: Some(at) })
}

fn response(summary: ImportSummary, skipped: u64) -> ImportEdgesResponse {
    ImportEdgesResponse {
        created: summary.created.cast_signed(),
        existing: summary.existing.cast_signed(),
        superseded: summary.superseded.cast_signed(),
        self_: summary.self_reference.cast_signed(),
        invalid: summary.invalid.cast_signed(),
        over_limit: summary.over_limit.cast_signed(),
        unavailable: summary.unavailable.cast_signed(),
        blocked: summary.blocked.cast_signed(),
        errors: summary.faults.into_iter().map(import_error).collect(),
        rows_skipped: skipped.cast_signed(),
    }
}

fn import_error(fault: RowFault) -> ImportError {
    let (reason, message) = match fault.problem {
        RowProblem::SelfReference => (ErrorReason::SelfReference, "a user cannot follow themselves".to_owned()),
        RowProblem::Invalid(message) => (ErrorReason::InvalidField, message),
        RowProblem::OverLimit => (ErrorReason::FollowLimit, "the follower follows as many users as allowed".to_owned()),
        RowProblem::Unavailable => (ErrorReason::UserUnavailable, "a user of the row is not active".to_owned()),
        RowProblem::Blocked => (ErrorReason::Blocked, "one of these users has blocked the other".to_owned()),
    };
    ImportError { row: fault.row.cast_signed(), reason: reason.into(), message }
}
