//! SetUserState: edges are put aside, and come back.

mod mixed;
mod moves;
mod random;

pub(crate) const CASES: usize = mixed::CASES + moves::CASES + random::CASES;

use socialgraph::v1::{
    GetOperationRequest, Operation, OperationState, SetUserStateRequest, UserState, get_operation_request::Target,
};

use crate::support::{Api, Listed, eventually};

/// Sets a state and gives the operation, if there is one.
async fn set(api: &Api, user_id: i64, state: UserState) -> Option<Operation> {
    let request = SetUserStateRequest { user_id, state: state.into() };
    api.social().set_user_state(request).await.unwrap().into_inner().operation
}

/// The end of the last operation about a user.
async fn done(api: &Api, user: i64) -> Operation {
    eventually("the edges are moved", async || {
        let request = GetOperationRequest { target: Some(Target::UserId(user)) };
        let operation = api.social().get_operation(request).await.unwrap().into_inner().operation.unwrap();
        (operation.state() == OperationState::Done).then_some(operation)
    })
    .await
}

/// Sets a state and waits until all edges are moved.
async fn set_wholly(api: &Api, user: i64, state: UserState) -> Operation {
    set(api, user, state).await;
    done(api, user).await
}

/// Both lists of users, which have as many entries as are counted.
async fn lists(api: &Api, users: impl IntoIterator<Item = i64>) -> Vec<(i64, Vec<Listed>, Vec<Listed>)> {
    let mut lists = Vec::new();
    for user in users {
        let (following, followers) = (api.following(user).await, api.followers(user).await);
        assert_eq!(api.count(user).await, (following.len() as i64, followers.len() as i64), "counts of {user}");
        lists.push((user, following, followers));
    }
    lists
}
