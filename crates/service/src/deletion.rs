//! The end of users, as an operation that goes on behind the call that began it.

use std::fmt;

use model::{Deadline, Micros, UserId, Version};
use store::{
    Traffic,
    ops::{Count, DeleteUser, Deletion, FindDeletion},
};

use crate::{Graph, ServiceError};

/// What the names of these operations begin with.
const PREFIX: &str = "delete-user";

/// The end of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserDeletion {
    /// The name of the operation.
    pub name: OperationName,
    /// When it was committed: from then on nobody follows the user, and the user follows nobody and publishes nothing.
    pub begun_at: Micros,
    /// When all was removed; `None`: there is more to remove.
    pub done_at: Option<Micros>,
    /// Edges that are removed, of both directions.
    pub edges: DeletionProgress,
    /// Posts that are removed.
    pub posts: DeletionProgress,
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeletionProgress {
    /// How many are removed.
    pub removed: u64,
    /// How many there were.
    pub total: u64,
}

/// Names an operation: which user's, and which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationName {
    /// The user whom it is about.
    pub user: UserId,
    version: Version,
}

impl OperationName {
    /// Reads what [`Display`](fmt::Display) wrote; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (user, version) = text.strip_prefix(PREFIX)?.strip_prefix('/')?.split_once('/')?;
        let name = Self { user: UserId::new(user.parse().ok()?).ok()?, version: Version(version.parse().ok()?) };
        (name.to_string() == text).then_some(name)
    }
}

impl fmt::Display for OperationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}/{}/{}", self.user, self.version)
    }
}

impl Graph {
    /// Begins to delete a user, and gives the operation that does it. Again, it gives the same one.
    ///
    /// Two round trips. Once the first is answered the user is deleted for others' calls; whatever becomes of this process, some
    /// instance removes what there is of the user.
    pub async fn delete_user(&self, user: UserId, deadline: Deadline) -> Result<UserDeletion, ServiceError> {
        let inner = &self.inner;
        let partition = inner.store.keys().partition(user);
        let commit = DeleteUser { user, seen: inner.seen.get(partition) };
        let deletion = inner.store.run(&commit, Traffic::Interactive, deadline).await?;
        inner.seen.raise(partition, deletion.version);
        if deletion.done_at.is_none() {
            inner.deleter.begin(user);
        }
        self.with_progress(user, deletion, deadline).await
    }

    /// The deletion of a user; fails if there is none. Two round trips; one if it is done.
    pub async fn deletion_of(&self, user: UserId, deadline: Deadline) -> Result<UserDeletion, ServiceError> {
        let found = self.inner.store.run(&FindDeletion(user), Traffic::Interactive, deadline).await?;
        self.with_progress(user, found.ok_or(ServiceError::OperationNotFound)?, deadline).await
    }

    /// The same by the operation's name.
    pub async fn operation(&self, name: OperationName, deadline: Deadline) -> Result<UserDeletion, ServiceError> {
        let deletion = self.deletion_of(name.user, deadline).await?;
        if deletion.name == name { Ok(deletion) } else { Err(ServiceError::OperationNotFound) }
    }

    /// What is removed is what is no longer there: nothing is added since the commit.
    async fn with_progress(
        &self,
        user: UserId,
        deletion: Deletion,
        deadline: Deadline,
    ) -> Result<UserDeletion, ServiceError> {
        let [edges_left, posts_left] = match deletion.done_at {
            Some(_) => [0, 0],
            None => {
                let counts = self.inner.store.run(&Count(user), Traffic::Interactive, deadline).await?;
                [counts.following + counts.followers, counts.posts]
            }
        };
        let progress = |total: u64, left| DeletionProgress { removed: total.saturating_sub(left), total };
        Ok(UserDeletion {
            name: OperationName { user, version: deletion.version },
            begun_at: Micros::new(deletion.version.0).map_err(|error| ServiceError::Internal(error.to_string()))?,
            done_at: deletion.done_at,
            edges: progress(deletion.edges, edges_left),
            posts: progress(deletion.posts, posts_left),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written_and_in_no_other_way() {
        let name = OperationName { user: UserId::new(42).unwrap(), version: Version(1_700_000_000_000_000) };
        let text = name.to_string();
        assert_eq!(text, "delete-user/42/1700000000000000");
        assert_eq!(OperationName::parse(&text), Some(name));
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
