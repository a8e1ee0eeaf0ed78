//! Blocks and mutes.

use model::{Edge, Micros};
use service::{Graph, Mark, Marked, MarksPage, MarksQuery};
use socialgraph::v1::{
    BlockRequest, BlockResponse, BlockedUser, Consistency, ListBlockedRequest, ListBlockedResponse, ListMutedRequest,
    ListMutedResponse, MuteRequest, MuteResponse, MutedUser, UnblockRequest, UnblockResponse, UnmuteRequest,
    UnmuteResponse,
};
use tonic::{Request, Response, Status};

use super::{
    consistency::freshness,
    convert::timestamp,
    deadline,
    fields::{Fields, pair},
    status::status,
};

pub(super) async fn block(graph: &Graph, request: Request<BlockRequest>) -> Result<Response<BlockResponse>, Status> {
    let deadline = deadline(&request);
    let BlockRequest { user_id, blocked_id } = request.into_inner();
    let edge = pair(Fields::default(), ("user_id", user_id), ("blocked_id", blocked_id))?;
    let blocked = graph.block(edge, deadline).await.map_err(status)?;
    Ok(Response::new(BlockResponse {
        created: blocked.created,
        blocked_at: Some(timestamp(blocked.since)),
        consistency_token: blocked.consistency_token,
        followers_pending: blocked.followers_pending,
    }))
}

pub(super) async fn unblock(
    graph: &Graph,
    request: Request<UnblockRequest>,
) -> Result<Response<UnblockResponse>, Status> {
    let deadline = deadline(&request);
    let UnblockRequest { user_id, blocked_id } = request.into_inner();
    let edge = pair(Fields::default(), ("user_id", user_id), ("blocked_id", blocked_id))?;
    let ended = graph.unmark(Mark::Block, edge, deadline).await.map_err(status)?;
    Ok(Response::new(UnblockResponse { removed: ended.removed, consistency_token: ended.consistency_token }))
}

pub(super) async fn list_blocked(
    graph: &Graph,
    request: Request<ListBlockedRequest>,
) -> Result<Response<ListBlockedResponse>, Status> {
    let deadline = deadline(&request);
    let ListBlockedRequest { user_id, page_size, page_token, consistency } = request.into_inner();
    let page = list(graph, (Mark::Block, user_id), page_size, page_token, consistency, deadline).await?;
    let users = page
        .users
        .into_iter()
        .map(|Marked { entry, .. }| BlockedUser { user_id: entry.user.get(), blocked_at: Some(timestamp(entry.at)) });
    Ok(Response::new(ListBlockedResponse { users: users.collect(), next_page_token: page.next_page_token }))
}

pub(super) async fn mute(graph: &Graph, request: Request<MuteRequest>) -> Result<Response<MuteResponse>, Status> {
    let deadline = deadline(&request);
    let MuteRequest { user_id, muted_id, muted_until } = request.into_inner();
    let mut fields = Fields::default();
    let until = muted_until.map(|until| fields.time("muted_until", until, Micros::MAX));
    let edge: Edge = pair(fields, ("user_id", user_id), ("muted_id", muted_id))?;
    let muted = graph.mute(edge, until, deadline).await.map_err(status)?;
    Ok(Response::new(MuteResponse {
        created: muted.created,
        muted_at: Some(timestamp(muted.since)),
        consistency_token: muted.consistency_token,
    }))
}

pub(super) async fn unmute(graph: &Graph, request: Request<UnmuteRequest>) -> Result<Response<UnmuteResponse>, Status> {
    let deadline = deadline(&request);
    let UnmuteRequest { user_id, muted_id } = request.into_inner();
    let edge = pair(Fields::default(), ("user_id", user_id), ("muted_id", muted_id))?;
    let ended = graph.unmark(Mark::Mute, edge, deadline).await.map_err(status)?;
    Ok(Response::new(UnmuteResponse { removed: ended.removed, consistency_token: ended.consistency_token }))
}

pub(super) async fn list_muted(
    graph: &Graph,
    request: Request<ListMutedRequest>,
) -> Result<Response<ListMutedResponse>, Status> {
    let deadline = deadline(&request);
    let ListMutedRequest { user_id, page_size, page_token, consistency } = request.into_inner();
    let page = list(graph, (Mark::Mute, user_id), page_size, page_token, consistency, deadline).await?;
    let users = page.users.into_iter().map(|Marked { entry, until }| MutedUser {
        user_id: entry.user.get(),
        muted_at: Some(timestamp(entry.at)),
        muted_until: until.map(timestamp),
    });
    Ok(Response::new(ListMutedResponse { users: users.collect(), next_page_token: page.next_page_token }))
}

async fn list(
    graph: &Graph,
    (mark, user_id): (Mark, i64),
    page_size: i32,
    page_token: String,
    consistency: Option<Consistency>,
    deadline: model::Deadline,
) -> Result<MarksPage, Status> {
    let mut fields = Fields::default();
    let user = fields.user("user_id", user_id);
    let query = MarksQuery { mark, user, page_size: fields.page_size(page_size), page_token };
    let freshness = freshness(graph, &mut fields, consistency);
    fields.finish()?;
    graph.fresh(freshness, deadline, || graph.marks(query.clone(), deadline)).await.map_err(status)
}
