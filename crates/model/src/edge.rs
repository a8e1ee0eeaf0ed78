use thiserror::Error;

use crate::UserId;

/// A follow: `follower` follows `followee`, who is another user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edge {
    follower: UserId,
    followee: UserId,
}

/// Both ends of an edge are the same user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a user cannot follow themselves")]
pub struct SelfReference;

impl Edge {
    /// An edge between two different users.
    pub fn new(follower: UserId, followee: UserId) -> Result<Self, SelfReference> {
        if follower == followee { Err(SelfReference) } else { Ok(Self { follower, followee }) }
    }

    /// Who follows.
    pub const fn follower(self) -> UserId {
        self.follower
    }

    /// Who is followed.
    pub const fn followee(self) -> UserId {
        self.followee
    }
}
