use model::{Entry, Micros};
use prost_types::Timestamp;
use socialgraph::v1::ListedUser;

pub(super) fn timestamp(time: Micros) -> Timestamp {
    let (seconds, nanos) = time.to_parts();
    Timestamp { seconds, nanos }
}

pub(super) fn listed_user(entry: Entry) -> ListedUser {
    ListedUser { user_id: entry.user.get(), followed_at: Some(timestamp(entry.at)) }
}
