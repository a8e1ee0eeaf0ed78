//! Operations about users, and how far they are.

use socialgraph::v1::{
    DeleteUserRequest, GetOperationRequest, Operation, SetUserStateRequest, UserState, get_operation_request::Target,
};

use super::caller::Caller;

/// Begins to delete a user.
pub(crate) async fn delete(caller: &Caller, user_id: i64) -> Operation {
    let request = DeleteUserRequest { user_id };
    let answer = caller.call(request, |mut c, r| async move { c.delete_user(r).await }).await.message;
    answer.operation.expect("an operation")
}

/// Sets the state of a user.
pub(crate) async fn set_state(caller: &Caller, user_id: i64, state: UserState) -> Operation {
    let request = SetUserStateRequest { user_id, state: state.into() };
    let answer = caller.call(request, |mut c, r| async move { c.set_user_state(r).await }).await.message;
    answer.operation.expect("an operation")
}

/// The operation that is about a user.
pub(crate) async fn of(caller: &Caller, user_id: i64) -> Operation {
    let request = GetOperationRequest { target: Some(Target::UserId(user_id)) };
    let answer = caller.call(request, |mut c, r| async move { c.get_operation(r).await }).await.message;
    answer.operation.expect("an operation")
}
