use model::{Entry, Micros, UserId};
use prost_types::Timestamp;
use socialgraph::v1::{ExportedFollower, ListedUser};

pub(super) fn timestamp(time: Micros) -> Timestamp {
    let (seconds, nanos) = time.to_parts();
    Timestamp { seconds, nanos }
}

pub(super) fn listed_user(entry: Entry) -> ListedUser {
    ListedUser { user_id: entry.user.get(), followed_at: Some(timestamp(entry.at)) }
}

/// Somebody with all that they follow.
pub(super) fn exported_follower((follower, followees): (UserId, Vec<Entry>)) -> ExportedFollower {
    ExportedFollower { follower_id: follower.get(), followees: followees.into_iter().map(listed_user).collect() }
}

/// How many rows of a page are left out: never more than a page has.
pub(super) fn filtered(rows: u64) -> i32 {
    i32::try_from(rows).unwrap_or(i32::MAX)
}
