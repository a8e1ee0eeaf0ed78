//! Many follows or unfollows of one user: requests as the service takes them, and its answers as the contract has them.

use model::{UserId, limits::MAX_BATCH_ROWS};
use service::{Batch, FollowedRow, ServiceError, UnfollowedRow};
use socialgraph::v1::{
    BatchFollowRequest, BatchFollowResponse, BatchUnfollowRequest, BatchUnfollowResponse, ErrorReason, FollowResult,
    UnfollowResult,
};
use tonic::{Request, Response, Status};

use super::{
    Api,
    convert::timestamp,
    deadline,
    fields::Fields,
    status::{row_error, status},
};

pub(super) async fn follow(
    api: &Api,
    request: Request<BatchFollowRequest>,
) -> Result<Response<BatchFollowResponse>, Status> {
    let deadline = deadline(&request);
    let BatchFollowRequest { follower_id, followee_ids, source } = request.into_inner();
    let mut fields = Fields::default();
    fields.source(&source);
    let (follower, followees) = users(fields, follower_id, &followee_ids)?;
    let batch = api.graph.batch_follow(follower, &followees, source, deadline).await.map_err(status)?;
    let Batch { rows, consistency_token, followers_pending } = batch;
    let results = followee_ids.into_iter().zip(rows).map(|(followee_id, row)| {
        let (done, reason, message) = told(row)?;
        let created = done.is_some_and(|row: FollowedRow| row.created);
        let followed_at = done.map(|row| timestamp(row.followed_at));
        Ok(FollowResult { followee_id, created, followed_at, reason, message })
    });
    let results = results.collect::<Result<_, Status>>()?;
    Ok(Response::new(BatchFollowResponse { results, consistency_token, followers_pending }))
}

pub(super) async fn unfollow(
    api: &Api,
    request: Request<BatchUnfollowRequest>,
) -> Result<Response<BatchUnfollowResponse>, Status> {
    let deadline = deadline(&request);
    let BatchUnfollowRequest { follower_id, followee_ids } = request.into_inner();
    let (follower, followees) = users(Fields::default(), follower_id, &followee_ids)?;
    let batch = api.graph.batch_unfollow(follower, &followees, deadline).await.map_err(status)?;
    let Batch { rows, consistency_token, followers_pending } = batch;
    let results = followee_ids.into_iter().zip(rows).map(|(followee_id, row)| {
        let (done, reason, message) = told(row)?;
        let removed = done.is_some_and(|row: UnfollowedRow| row.removed);
        Ok(UnfollowResult { followee_id, removed, reason, message })
    });
    let results = results.collect::<Result<_, Status>>()?;
    Ok(Response::new(BatchUnfollowResponse { results, consistency_token, followers_pending }))
}

fn users(mut fields: Fields, follower_id: i64, followee_ids: &[i64]) -> Result<(UserId, Vec<UserId>), Status> {
    let follower = fields.user("follower_id", follower_id);
    let followees = fields.users("followee_ids", followee_ids, MAX_BATCH_ROWS);
    fields.finish()?;
    Ok((follower, followees))
}

/// What was done, or else why not. The status of the whole call if a row must not tell.
fn told<T>(row: Result<T, ServiceError>) -> Result<(Option<T>, i32, String), Status> {
    match row {
        Ok(done) => Ok((Some(done), ErrorReason::Unspecified.into(), String::new())),
        Err(error) => row_error(error).map(|(reason, message)| (None, reason.into(), message)),
    }
}
