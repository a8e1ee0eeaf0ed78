//! The states of users, their end, and how far the work is that follows.

use model::UserState;
use service::{Graph, OperationName, ServiceError, UserOperation};
use socialgraph::v1::{
    DeleteUserRequest, DeleteUserResponse, GetOperationRequest, GetOperationResponse, Operation, OperationKind,
    OperationState, SetUserStateRequest, SetUserStateResponse, UserState as State, get_operation_request::Target,
};
use tonic::{Request, Response, Status};

use super::{convert::timestamp, deadline, fields::Fields, status::status};
use crate::errors::invalid_fields;

pub(super) async fn set_user_state(
    graph: &Graph,
    request: Request<SetUserStateRequest>,
) -> Result<Response<SetUserStateResponse>, Status> {
    let deadline = deadline(&request);
    let SetUserStateRequest { user_id, state } = request.into_inner();
    let mut fields = Fields::default();
    let user = fields.user("user_id", user_id);
    let state = match fields.one_of("state", state) {
        State::Active => UserState::Active,
        State::Suspended => UserState::Suspended,
        State::Deactivated => UserState::Deactivated,
        State::Unspecified => {
            fields.refuse("state", "must be set");
            UserState::Active
        }
    };
    fields.finish()?;
    let set = graph.set_user_state(user, state, deadline).await.map_err(status)?;
    Ok(Response::new(SetUserStateResponse { operation: set.map(operation) }))
}

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
    let found = match request.into_inner().target {
        Some(Target::UserId(user_id)) => {
            let mut fields = Fields::default();
            let user = fields.user("user_id", user_id);
            fields.finish()?;
            graph.operation_of(user, deadline).await
        }
        Some(Target::OperationId(id)) => match OperationName::parse(&id) {
            Some(name) => graph.operation(name, deadline).await,
            None => Err(ServiceError::OperationNotFound),
        },
        None => return Err(invalid_fields(vec![("target".to_owned(), "must be set".to_owned())])),
    };
    let found = found.map_err(status)?;
    Ok(Response::new(GetOperationResponse { operation: Some(operation(found)) }))
}

fn operation(operation: UserOperation) -> Operation {
    let UserOperation { name, state, begun_at, done_at, edges, posts } = operation;
    let is_deletion = state == UserState::Deleted;
    let kind = if is_deletion { OperationKind::DeleteUser } else { OperationKind::SetUserState };
    let progress = if done_at.is_some() { OperationState::Done } else { OperationState::Running };
    let [edges_removed, edges_moved] = if is_deletion { [edges.done, 0] } else { [0, edges.done] };
    Operation {
        operation_id: name.to_string(),
        kind: kind.into(),
        state: progress.into(),
        user_id: name.user.get(),
        begun_at: Some(timestamp(begun_at)),
        done_at: done_at.map(timestamp),
        edges_removed: edges_removed.cast_signed(),
        edges_total: edges.total.cast_signed(),
        posts_removed: posts.done.cast_signed(),
        posts_total: posts.total.cast_signed(),
        edges_moved: edges_moved.cast_signed(),
        user_state: user_state(state).into(),
    }
}

/// Of a deleted user there is another kind of operation, and no state.
pub(super) fn user_state(state: UserState) -> State {
    match state {
        UserState::Active => State::Active,
        UserState::Suspended => State::Suspended,
        UserState::Deactivated => State::Deactivated,
        UserState::Deleted => State::Unspecified,
    }
}
