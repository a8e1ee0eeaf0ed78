use std::sync::{Mutex, PoisonError};

use futures::StreamExt;
use model::{Deadline, Edge, Micros, UserId, limits::MAX_CLOCK_SKEW};
use service::{Graph, ImportRow, ImportSummary, RowFault, RowProblem};
use socialgraph::v1::{ErrorReason, ImportEdgesRequest, ImportEdgesResponse, ImportError};
use tonic::{Status, Streaming};

use super::status::status;

/// Writes the rows of a stream. Where the stream breaks, what came before is written, and the break is the answer.
pub(super) async fn import(
    graph: &Graph,
    rows: Streaming<ImportEdgesRequest>,
    deadline: Option<Deadline>,
) -> Result<ImportEdgesResponse, Status> {
    let broken = Mutex::new(None);
    let rows = rows
        .map(|row| row.map_err(|error| *broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(error)).ok())
        .take_while(|row| std::future::ready(row.is_some()))
        .filter_map(|row| std::future::ready(row.map(check)));
    let summary = graph.import(rows, deadline).await.map_err(status)?;
    match broken.into_inner().unwrap_or_else(PoisonError::into_inner) {
        None => Ok(response(summary)),
        Some(error) => Err(error),
    }
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

fn response(summary: ImportSummary) -> ImportEdgesResponse {
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
