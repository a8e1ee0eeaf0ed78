use std::time::Duration;

use model::SelfReference;
use store::{StoreError, ops::Refusal};
use thiserror::Error;

/// Why a call could not be answered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ServiceError {
    /// Both ends of an edge are the same user.
    #[error(transparent)]
    SelfReference(#[from] SelfReference),
    /// The follower follows as many users as they may.
    #[error("a user may follow at most {max} users")]
    FollowLimit {
        /// The most that anyone may follow.
        max: u32,
    },
    /// The user blocks, or mutes, as many users as they may.
    #[error("a user may {verb} at most {max} users")]
    RelationLimit {
        /// What the user does to them.
        verb: &'static str,
        /// The most.
        max: u32,
    },
    /// The follower made as many follows in the last hour as they may.
    #[error("a user may follow at most {max} users an hour")]
    RateLimited {
        /// The most.
        max: u32,
        /// When there may be another one.
        retry_after: Duration,
    },
    /// Of two users of the call one has blocked the other.
    #[error("one of these users has blocked the other")]
    Blocked,
    /// A mute would end before it begins.
    #[error("must be in the future")]
    PastEnd,
    /// A user of the call is not active any more.
    #[error("a user of this call is not active")]
    UserUnavailable,
    /// There is no such operation.
    #[error("there is no such operation")]
    OperationNotFound,
    /// There is no such post.
    #[error("there is no such post")]
    PostNotFound,
    /// The author has published another content under the same id, or its post was deleted lately. The name of the request's field that holds it.
    #[error("{0}: another content was published under this id, or its post was deleted lately")]
    IdReused(&'static str),
    /// The first rows of an import are not those that were imported under its id. How many these are.
    #[error("import_id: the first {0} rows are not those that were imported under this id")]
    ImportIdReused(u64),
    /// Another call goes on with the import.
    #[error("another call has taken this import over")]
    ImportTakenOver,
    /// The time of a post is too far in the future.
    #[error("must be at most 10 s in the future")]
    FuturePost,
    /// The page token was altered or belongs to another request.
    #[error("the page token was altered or belongs to another request")]
    InvalidPageToken,
    /// The token to go on with was altered or belongs to another keyspace.
    #[error("the token was altered or belongs to another request")]
    InvalidResumeToken,
    /// The write that a consistency token names was lost when Redis failed over.
    #[error("the write that the consistency token names was lost")]
    LostWrite,
    /// Too much of the same kind is under way: searches, exports, or posts of one author. Nothing was done.
    #[error("too much of this kind is under way")]
    Overloaded,
    /// Changes after the place where a watch is to go on may not be in the log any more.
    #[error("changes after this position were trimmed from the log; read the graph anew, and watch from now on")]
    PositionExpired,
    /// A client does not take what it is sent.
    #[error("the client did not take what it was sent in time; go on with the last resume token")]
    SlowClient,
    /// The instance stops.
    #[error("the server stops; go on with the last resume token")]
    Stopping,
    /// Redis cannot be reached. A write may have happened; repeating it is safe.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The caller's deadline passed. A write may have happened; repeating it is safe.
    #[error("the deadline passed")]
    Deadline,
    /// A mistake of ours, of the configuration, or of what is stored.
    #[error("internal: {0}")]
    Internal(String),
}

impl From<StoreError> for ServiceError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(text) => Self::Unavailable(text),
            StoreError::Deadline => Self::Deadline,
            StoreError::Refused(text) => Self::Internal(text),
        }
    }
}

impl From<Refusal> for ServiceError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unavailable => Self::UserUnavailable,
            Refusal::Blocked => Self::Blocked,
        }
    }
}

impl ServiceError {
    /// The error of work under a time limit of ours, when the caller has time left.
    pub(crate) fn of_own_limit(error: StoreError) -> Self {
        if error == StoreError::Deadline { Self::Unavailable("no answer in time".to_owned()) } else { error.into() }
    }
}
