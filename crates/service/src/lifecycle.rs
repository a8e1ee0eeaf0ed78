//! The states of users, and the operations that follow, which go on behind the calls that began them.

use std::fmt;

use model::{Deadline, Micros, UserId, UserState, Version};
use store::{
    Traffic,
    ops::{self, Count, DeleteUser, FindOperation, SetState},
};

use crate::{Graph, ServiceError};

/// The work that a new state of a user makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserOperation {
    /// The name of the operation.
    pub name: OperationName,
    /// What it makes of the user.
    pub state: UserState,
    /// When it was committed. From then on the user has that state.
    pub begun_at: Micros,
    /// When all was done; `None`: there is more to do.
    pub done_at: Option<Micros>,
    /// Edges that are moved, or of a deleted user removed, of both directions.
    pub edges: Progress,
    /// Posts of a deleted user that are removed.
    pub posts: Progress,
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How many are done.
    pub done: u64,
    /// How many there were.
    pub total: u64,
}

/// Names an operation: what it does, which user's, and which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationName {
    /// The user whom it is about.
    pub user: UserId,
    is_deletion: bool,
    version: Version,
}

impl OperationName {
    /// Reads what [`Display`](fmt::Display) wrote; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once('/')?;
        let (user, version) = rest.split_once('/')?;
        let (user, version) = (UserId::new(user.parse().ok()?).ok()?, Version(version.parse().ok()?));
        let name = Self { user, is_deletion: kind == "delete-user", version };
        (name.to_string() == text).then_some(name)
    }
}

impl fmt::Display for OperationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_deletion { "delete-user" } else { "set-user-state" };
        write!(f, "{kind}/{}/{}", self.user, self.version)
    }
}

impl Graph {
    /// Begins to delete a user, and gives the operation that does it. Again, it gives the same one.
    ///
    /// Two round trips. Once the first is answered the user is deleted for others' calls; whatever becomes of this process, some
    /// instance removes what there is of the user.
    pub async fn delete_user(&self, user: UserId, deadline: Deadline) -> Result<UserOperation, ServiceError> {
        let seen = self.inner.seen.get(self.inner.store.keys().partition(user));
        let operation = self.inner.store.run(&DeleteUser { user, seen }, Traffic::Interactive, deadline).await?;
        self.go_on_with(user, &operation);
        self.with_progress(user, operation, deadline).await
    }

    /// Makes a user active, suspended or deactivated, and gives the operation that moves their edges; `None` if the user has that state,
    /// and had no other lately. Fails for a deleted user.
    ///
    /// One round trip. Once it is answered the user has the state; whatever becomes of this process, some instance moves the edges.
    pub async fn set_user_state(
        &self,
        user: UserId,
        state: UserState,
        deadline: Deadline,
    ) -> Result<Option<UserOperation>, ServiceError> {
        let seen = self.inner.seen.get(self.inner.store.keys().partition(user));
        let operation = self.inner.store.run(&SetState { user, state, seen }, Traffic::Interactive, deadline).await?;
        let Some(operation) = operation else { return Ok(None) };
        if operation.state == UserState::Deleted {
            return Err(ServiceError::UserUnavailable);
        }
        self.go_on_with(user, &operation);
        self.with_progress(user, operation, deadline).await.map(Some)
    }

    /// The last operation about a user; fails if there was none lately. One round trip; two for a deletion that goes on.
    pub async fn operation_of(&self, user: UserId, deadline: Deadline) -> Result<UserOperation, ServiceError> {
        let found = self.inner.store.run(&FindOperation(user), Traffic::Interactive, deadline).await?;
        self.with_progress(user, found.ok_or(ServiceError::OperationNotFound)?, deadline).await
    }

    /// The same by the operation's name.
    pub async fn operation(&self, name: OperationName, deadline: Deadline) -> Result<UserOperation, ServiceError> {
        let operation = self.operation_of(name.user, deadline).await?;
        if operation.name == name { Ok(operation) } else { Err(ServiceError::OperationNotFound) }
    }

    fn go_on_with(&self, user: UserId, operation: &ops::UserOperation) {
        let inner = &self.inner;
        inner.seen.raise(inner.store.keys().partition(user), operation.version);
        if operation.done_at.is_none() {
            inner.operations.begin(ops::Duty::User(user));
        }
    }

    async fn with_progress(
        &self,
        user: UserId,
        operation: ops::UserOperation,
        deadline: Deadline,
    ) -> Result<UserOperation, ServiceError> {
        let ops::UserOperation { state, version, edges, posts, moved, done_at, place: _ } = operation;
        let is_deletion = state == UserState::Deleted;
        let [edges_done, posts_done] = match done_at {
            Some(_) => [edges, posts],
            None if is_deletion => {
                // What is removed is what is no longer there: nothing is added since the commit.
                let left = self.inner.store.run(&Count(user), Traffic::Interactive, deadline).await?;
                [edges.saturating_sub(left.following + left.followers), posts.saturating_sub(left.posts)]
            }
            // Those that are new, or were walked over again, count as well.
            None => [moved.min(edges), 0],
        };
        Ok(UserOperation {
            name: OperationName { user, is_deletion, version },
            state,
            begun_at: Micros::new(version.0).map_err(|error| ServiceError::Internal(error.to_string()))?,
            done_at,
            edges: Progress { done: edges_done, total: edges },
            posts: Progress { done: posts_done, total: posts },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written_and_in_no_other_way() {
        for (is_deletion, expected) in
            [(true, "delete-user/42/1700000000000000"), (false, "set-user-state/42/1700000000000000")]
        {
            let name =
                OperationName { user: UserId::new(42).unwrap(), is_deletion, version: Version(1_700_000_000_000_000) };
            assert_eq!(name.to_string(), expected);
            assert_eq!(OperationName::parse(expected), Some(name));
        }
        for other in [
            "",
            "delete-user/42",
            "delete-user/042/5",
            "delete-user/0/5",
            "delete-user/4/5/6",
            "x/4/5",
            "delete-user/+4/5",
        ] {
            assert_eq!(OperationName::parse(other), None, "{other}");
        }
    }
}
