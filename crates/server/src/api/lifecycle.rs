//! The end of users, and how far it is.

use service::{Graph, OperationName, ServiceError, UserDeletion};
use socialgraph::v1::{
    DeleteUserRequest, DeleteUserResponse, GetOperationRequest, GetOperationResponse, Operation, OperationKind,
    OperationState, get_operation_request::Target,
};
use tonic::{Request, Response, Status};

use super::{convert::timestamp, deadline, fields::Fields, status::status};
use crate::errors::invalid_fields;

pub(super) async fn delete_user(
    graph: &Graph,
    request: Request<DeleteUserRequest>,
) -> Result<Response<DeleteUserResponse>, Status> {
    let deadline = deadline(&request);
    let DeleteUserRequest { user_id } = request.into_inner();
    let mut fields = Fields::default();
    let user = fields.user("user_id", user_id);
    fields.finish()?;
    let deletion = graph.delete_user(user, deadline).await.map_err(status)?;
    Ok(Response::new(DeleteUserResponse { operation: Some(operation(deletion)) }))
}

pub(super) async fn get_operation(
    graph: &Graph,
    request: Request<GetOperationRequest>,
) -> Result<Response<GetOperationResponse>, Status> {
    let deadline = deadline(&request);
    let deletion = match request.into_inner().target {
        Some(Target::UserId(user_id)) => {
            let mut fields = Fields::default();
            let user = fields.user("user_id", user_id);
            fields.finish()?;
            graph.deletion_of(user, deadline).await
        }
        Some(Target::OperationId(id)) => match OperationName::parse(&id) {
            Some(name) => graph.operation(name, deadline).await,
            None => Err(ServiceError::OperationNotFound),
        },
        None => return Err(invalid_fields(vec![("target".to_owned(), "must be set".to_owned())])),
    };
    let deletion = deletion.map_err(status)?;
    Ok(Response::new(GetOperationResponse { operation: Some(operation(deletion)) }))
}

fn operation(deletion: UserDeletion) -> Operation {
    let UserDeletion { name, begun_at, done_at, edges, posts } = deletion;
    let state = if done_at.is_some() { OperationState::Done } else { OperationState::Running };
    Operation {
        operation_id: name.to_string(),
        kind: OperationKind::DeleteUser.into(),
        state: state.into(),
        user_id: name.user.get(),
        begun_at: Some(timestamp(begun_at)),
        done_at: done_at.map(timestamp),
        edges_removed: edges.removed.cast_signed(),
        edges_total: edges.total.cast_signed(),
        posts_removed: posts.removed.cast_signed(),
        posts_total: posts.total.cast_signed(),
    }
}
