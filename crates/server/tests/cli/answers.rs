//! What the server of these tests answers.

use std::time::Duration;

use prost_types::Timestamp;
use socialgraph::{
    admin::v1::{InspectUserResponse, RedisKey},
    v1::*,
};
use tokio_stream::StreamExt;
use tonic::{Code, Status, Streaming};
use tonic_types::{ErrorDetails, StatusExt};

use crate::server::{BREAKING, BREAKS_ONCE, Fake};

/// The second page of this user's lists fails.
pub(crate) const FAILING: i64 = 14;
/// Entries of every list.
pub(crate) const ENTRIES: i64 = 1_201;

/// A time that is told apart by its microseconds.
pub(crate) fn time(micros: i64) -> Option<Timestamp> {
    Some(Timestamp { seconds: 1_700_000_000, nanos: i32::try_from(micros * 1_000).unwrap() })
}

pub(crate) fn refuse(field: &str) -> Status {
    let mut details = ErrorDetails::new();
    details.set_error_info("INVALID_FIELD", socialgraph::ERROR_DOMAIN, []);
    details.add_bad_request_violation(field, "must be greater than 0");
    Status::with_error_details(Code::InvalidArgument, format!("{field} is bad"), details)
}

pub(crate) fn unavailable() -> Status {
    let mut details = ErrorDetails::new();
    details.set_error_info("STORE_UNAVAILABLE", socialgraph::ERROR_DOMAIN, []);
    details.set_retry_info(Some(Duration::from_millis(1_500)));
    Status::with_error_details(Code::Unavailable, "the store is away", details)
}

/// An export of three followers that breaks after the first and the second, and another one that fails for good after the first.
pub(crate) fn exported(token: &str, is_first: bool) -> Vec<Result<ExportEdgesResponse, Status>> {
    let chunk = |follower_id: i64| ExportEdgesResponse {
        followers: vec![ExportedFollower {
            follower_id,
            followees: [10, 9].map(|user_id| ListedUser { user_id, followed_at: time(follower_id) }).to_vec(),
        }],
        partition: 1,
        version: 7,
        resume_token: follower_id.to_string(),
    };
    match token {
        "" if is_first => vec![Ok(chunk(1)), Err(unavailable())],
        "" => vec![Ok(chunk(1)), Err(refuse("resume_token"))],
        "1" => vec![Ok(chunk(2)), Err(unavailable())],
        _ => vec![Ok(chunk(3))],
    }
}

/// A watch that breaks after a token, and after another ends with an error for good.
pub(crate) fn watched(token: &str) -> Vec<Result<WatchRelationshipsResponse, Status>> {
    let change = |version: i64, change| RelationshipChange { change, version, changed_at: time(version) };
    let message = |token: &str, changes| WatchRelationshipsResponse {
        changes,
        resume_token: token.to_owned(),
        ..WatchRelationshipsResponse::default()
    };
    let began = |source: &str, restored| {
        relationship_change::Change::Followed(FollowBegan {
            follower_id: 1,
            followee_id: 2,
            followed_at: time(3),
            source: source.to_owned(),
            restored,
        })
    };
    let ended = |put_aside| {
        let ended = FollowEnded { follower_id: 1, followee_id: 2, followed_at: time(3), put_aside };
        relationship_change::Change::Unfollowed(ended)
    };
    let state = UserStateWasSet { user_id: 2, state: UserState::Suspended.into() };
    let state = relationship_change::Change::UserStateSet(state);
    let deleted = relationship_change::Change::UserDeleted(UserWasDeleted { user_id: 1 });
    let blocked = BlockBegan { user_id: 1, blocked_id: 2, blocked_at: time(3) };
    let unblocked = BlockEnded { user_id: 1, blocked_id: 2, blocked_at: time(3) };
    let muted = |muted_until| MuteBegan { user_id: 1, muted_id: 2, muted_at: time(3), muted_until };
    let unmuted = MuteEnded { user_id: 1, muted_id: 2, muted_at: time(3) };
    let marks = [
        relationship_change::Change::Blocked(blocked),
        relationship_change::Change::Unblocked(unblocked),
        relationship_change::Change::Muted(muted(None)),
        relationship_change::Change::Muted(muted(time(4))),
        relationship_change::Change::Unmuted(unmuted),
    ];
    let marks = std::iter::zip(12.., marks).map(|(version, mark)| change(version, Some(mark)));
    let followees = [10, 9].map(|user_id| ListedUser { user_id, followed_at: time(1) }).to_vec();
    let snapshot = RelationshipSnapshot { followers: vec![ExportedFollower { follower_id: 5, followees }], version: 6 };
    match token {
        "" => vec![
            Ok(WatchRelationshipsResponse { snapshot: Some(snapshot), ..message("a", vec![]) }),
            Ok(message("b", vec![change(7, Some(began("", false))), change(8, Some(ended(false)))])),
            Err(unavailable()),
        ],
        _ => vec![
            Ok(message(
                "c",
                vec![change(9, Some(began("contacts", false))), change(10, Some(deleted)), change(11, None)],
            )),
            Ok(message("d", marks.collect())),
            Ok(message(
                "e",
                vec![change(17, Some(state)), change(18, Some(ended(true))), change(19, Some(began("", true)))],
            )),
            Err(refuse("resume_token")),
        ],
    }
}

/// The entries of a page and the token of the next; a token is the number of entries before it.
pub(crate) fn page(user: i64, page_size: i32, token: &str) -> Result<(Vec<i64>, String), Status> {
    let start: i64 = if token.is_empty() { 0 } else { token.parse().unwrap() };
    if user == FAILING && start > 0 {
        return Err(unavailable());
    }
    let size = if page_size == 0 { 50 } else { i64::from(page_size) };
    let end = (start + size).min(ENTRIES);
    Ok(((start + 1..=end).collect(), if end < ENTRIES { end.to_string() } else { String::new() }))
}

pub(crate) fn listed((ids, token): (Vec<i64>, String)) -> (Vec<ListedUser>, String) {
    (ids.into_iter().map(|user_id| ListedUser { user_id, followed_at: time(user_id) }).collect(), token)
}

/// An item of a feed, in full if asked for. The post of a multiple of 3 is no text, and the last one is long.
pub(crate) fn item(id: i64, full: bool) -> FeedItem {
    let content = match id {
        ENTRIES => "é".repeat(1_000).into_bytes(),
        id if id % 3 == 0 => vec![0xff; 3],
        id => format!("post\n{id}").into_bytes(),
    };
    let attributes = [("lang", "en"), ("kind", "note\x1b")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    let post = Post {
        post_id: id,
        author_id: id + 1,
        content: content.into(),
        attributes: attributes.into(),
        published_at: time(id),
        like_count: 3,
        liked_by_viewer: true,
    };
    FeedItem { post_id: id, author_id: id + 1, published_at: time(id), post: full.then_some(post) }
}

/// A post as it was published.
pub(crate) fn published(request: PublishPostRequest) -> PublishPostResponse {
    let post = Post {
        post_id: 5,
        author_id: request.author_id,
        content: request.content,
        attributes: request.attributes,
        published_at: time(7),
        ..Post::default()
    };
    PublishPostResponse {
        post: Some(post),
        delivery: Delivery::Push.into(),
        audience: 2,
        consistency_token: "token-1".to_owned(),
        created: true,
    }
}

/// A row of a batch of follows. Oneself is refused.
pub(crate) fn follow_result(follower_id: i64, followee_id: i64) -> FollowResult {
    if followee_id != follower_id {
        return FollowResult { followee_id, created: true, followed_at: time(7), ..FollowResult::default() };
    }
    FollowResult {
        followee_id,
        reason: ErrorReason::SelfReference.into(),
        message: "refused".to_owned(),
        ..FollowResult::default()
    }
}

/// Posts of even ids are there.
pub(crate) fn post_result(PostName { author_id, post_id }: PostName) -> PostResult {
    let post = item(post_id, true).post.filter(|_| post_id % 2 == 0);
    PostResult { author_id, post_id, post }
}

pub(crate) fn operation(user_id: i64, state: OperationState) -> Operation {
    Operation {
        operation_id: format!("delete-user/{user_id}/1"),
        kind: OperationKind::DeleteUser.into(),
        state: state.into(),
        user_id,
        begun_at: time(7),
        done_at: time(8).filter(|_| state == OperationState::Done),
        edges_removed: 3,
        edges_total: 5,
        posts_removed: 0,
        posts_total: 0,
        edges_moved: 0,
        user_state: UserState::Unspecified.into(),
    }
}

pub(crate) fn inspected() -> InspectUserResponse {
    let following = RedisKey {
        key: "{p7}:following:1".to_owned(),
        exists: true,
        encoding: "listpack".to_owned(),
        bytes: 1_024,
        entries: Some(12),
        ..RedisKey::default()
    };
    let log = RedisKey { key: "{p7}:log".to_owned(), shared: true, ..RedisKey::default() };
    InspectUserResponse {
        partition: 7,
        hash_tag: "p7".to_owned(),
        slot: 1_234,
        node: "127.0.0.1:7000".to_owned(),
        compact_sorted_set_entries: Some(60),
        compact_number_set_entries: None,
        keys: vec![following, log],
    }
}

impl Fake {
    /// Takes the rows of an import, and answers what became of each.
    pub(crate) async fn import(&self, mut rows: Streaming<ImportEdgesRequest>) -> Result<ImportEdgesResponse, Status> {
        let mut answer = ImportEdgesResponse::default();
        let mut row = 0;
        while let Some(edge) = rows.next().await {
            let edge = edge?;
            row += 1;
            self.rows.lock().unwrap().push(edge.clone());
            let is_first =
                |rows: &[ImportEdgesRequest]| rows.iter().filter(|row| row.import_id == BREAKS_ONCE).count() == 1;
            let reason = match edge {
                edge if edge.import_id == BREAKS_ONCE && is_first(&self.rows()) => return Err(unavailable()),
                ImportEdgesRequest { follower_id: BREAKING, .. } => return Err(unavailable()),
                edge if edge.follower_id <= 0 || edge.followee_id <= 0 => {
                    answer.invalid += 1;
                    ErrorReason::InvalidField
                }
                edge if edge.follower_id == edge.followee_id => {
                    answer.self_ += 1;
                    ErrorReason::SelfReference
                }
                _ => {
                    answer.created += 1;
                    continue;
                }
            };
            if answer.errors.len() < 100 {
                answer.errors.push(ImportError { row, reason: reason.into(), message: "refused".to_owned() });
            }
        }
        Ok(answer)
    }
}
