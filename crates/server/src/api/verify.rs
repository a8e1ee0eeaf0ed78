//! Comparing what is stored twice, and mending it.

use model::limits::{DEFAULT_VERIFIED, MAX_VERIFIED};
use service::{Drift, DriftKind, Graph, VerifiedPage, VerifyQuery};
use socialgraph::admin::v1::{
    self, Findings, RepairUserRequest, RepairUserResponse, VerifyUserRequest, VerifyUserResponse,
};
use tonic::{Request, Response, Status};

use super::{convert::timestamp, deadline, fields::Fields, status::status};

pub(super) async fn verify_user(
    graph: &Graph,
    request: Request<VerifyUserRequest>,
) -> Result<Response<VerifyUserResponse>, Status> {
    let deadline = deadline(&request);
    let VerifyUserRequest { user_id, page_size, page_token } = request.into_inner();
    let query = query(user_id, page_size, page_token, false)?;
    let page = graph.verify_user(query, deadline).await.map_err(status)?;
    let (findings, next_page_token) = findings(page);
    Ok(Response::new(VerifyUserResponse { findings: Some(findings), next_page_token }))
}

pub(super) async fn repair_user(
    graph: &Graph,
    request: Request<RepairUserRequest>,
) -> Result<Response<RepairUserResponse>, Status> {
    let deadline = deadline(&request);
    let RepairUserRequest { user_id, page_size, page_token } = request.into_inner();
    let query = query(user_id, page_size, page_token, true)?;
    let page = graph.verify_user(query, deadline).await.map_err(status)?;
    let (findings, next_page_token) = findings(page);
    Ok(Response::new(RepairUserResponse { findings: Some(findings), next_page_token }))
}

fn query(user_id: i64, page_size: i32, page_token: String, repair: bool) -> Result<VerifyQuery, Status> {
    let mut fields = Fields::default();
    let user = fields.user("user_id", user_id);
    let edges = fields.number_of("page_size", page_size, DEFAULT_VERIFIED, MAX_VERIFIED);
    fields.finish()?;
    Ok(VerifyQuery { user, edges, page_token, repair })
}

fn findings(page: VerifiedPage) -> (Findings, String) {
    let findings = Findings {
        drifts: page.drifts.into_iter().map(drift).collect(),
        drift_count: page.drift_count.cast_signed(),
        edges_checked: page.edges.cast_signed(),
        edges_in_flight: page.in_flight.cast_signed(),
        counts_unknown: i32::try_from(page.unknown_lengths).unwrap_or(i32::MAX),
    };
    (findings, page.next_page_token)
}

fn drift(drift: Drift) -> v1::Drift {
    let Drift { kind, follower, followee, followed_at, listed_at, count, is_repaired } = drift;
    let kind = match kind {
        DriftKind::MissingFollower => v1::DriftKind::MissingFollower,
        DriftKind::GhostFollower => v1::DriftKind::GhostFollower,
        DriftKind::WrongTime => v1::DriftKind::WrongTime,
        DriftKind::MissingId => v1::DriftKind::MissingId,
        DriftKind::StrayId => v1::DriftKind::StrayId,
        DriftKind::WrongCount => v1::DriftKind::WrongCount,
    };
    v1::Drift {
        kind: kind.into(),
        follower_id: follower.map_or(0, model::UserId::get),
        followee_id: followee.map_or(0, model::UserId::get),
        followed_at: followed_at.map(timestamp),
        listed_at: listed_at.map(timestamp),
        counted: count.map(|(counted, _)| counted),
        entries: count.map(|(_, entries)| entries.cast_signed()),
        repaired: is_repaired,
    }
}
