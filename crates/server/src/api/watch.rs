//! Watches of changes.

use std::pin::Pin;

use futures::{Stream, stream::unfold};
use model::{
    Micros,
    limits::{CHECKPOINT_INTERVAL_RANGE, DEFAULT_CHECKPOINT_INTERVAL, MAX_WATCHED_USERS},
};
use service::{Change, ChangeKind, ExportChunk, Mark, Watch, WatchBatch};
use socialgraph::v1::{
    BlockBegan, BlockEnded, FollowBegan, FollowEnded, MuteBegan, MuteEnded, RelationshipChange, RelationshipSnapshot,
    UserStateWasSet, UserWasDeleted, WatchRelationshipsRequest, WatchRelationshipsResponse,
    relationship_change::Change as Told,
};
use tonic::{Request, Response, Status};

use super::{
    Api,
    convert::{exported_follower, timestamp},
    deadline,
    fields::Fields,
    lifecycle::user_state,
    status::status,
};

/// What a watch answers.
pub(super) type Messages = Pin<Box<dyn Stream<Item = Result<WatchRelationshipsResponse, Status>> + Send>>;

pub(super) async fn watch(
    api: &Api,
    request: Request<WatchRelationshipsRequest>,
) -> Result<Response<Messages>, Status> {
    let deadline = deadline(&request);
    let WatchRelationshipsRequest { resume_token, user_ids, snapshot, checkpoint_interval } = request.into_inner();
    let mut fields = Fields::default();
    let users = if user_ids.is_empty() { Vec::new() } else { fields.users("user_ids", &user_ids, MAX_WATCHED_USERS) };
    let interval = fields.duration(
        "checkpoint_interval",
        checkpoint_interval,
        DEFAULT_CHECKPOINT_INTERVAL,
        CHECKPOINT_INTERVAL_RANGE,
    );
    fields.finish()?;
    let query = api.graph.watch_query(users, &resume_token, snapshot, interval).map_err(status)?;
    let watch = api.graph.watch(query, api.stop_streams.clone(), deadline).await.map_err(status)?;
    Ok(Response::new(Box::pin(unfold(Some(watch), next))))
}

/// The next message; after an error there is none.
async fn next(watch: Option<Watch>) -> Option<(Result<WatchRelationshipsResponse, Status>, Option<Watch>)> {
    let mut watch = watch?;
    Some(match watch.next().await {
        Ok(batch) => (Ok(response(batch)), Some(watch)),
        Err(error) => (Err(status(error)), None),
    })
}

fn response(batch: WatchBatch) -> WatchRelationshipsResponse {
    WatchRelationshipsResponse {
        snapshot: batch.snapshot.map(snapshot),
        changes: batch.changes.into_iter().map(change).collect(),
        resume_token: batch.resume_token,
    }
}

fn snapshot(chunk: ExportChunk) -> RelationshipSnapshot {
    let followers = chunk.followers.into_iter().map(exported_follower).collect();
    RelationshipSnapshot { followers, version: chunk.version.0.cast_signed() }
}

fn change(Change { version, kind }: Change) -> RelationshipChange {
    RelationshipChange {
        change: Some(told(kind)),
        version: version.0.cast_signed(),
        changed_at: Micros::new(version.0).ok().map(timestamp),
    }
}

fn told(kind: ChangeKind) -> Told {
    match kind {
        ChangeKind::Followed { edge, followed_at, source, restored } => Told::Followed(FollowBegan {
            follower_id: edge.follower().get(),
            followee_id: edge.followee().get(),
            followed_at: Some(timestamp(followed_at)),
            source,
            restored,
        }),
        ChangeKind::Unfollowed { edge, followed_at, put_aside } => Told::Unfollowed(FollowEnded {
            follower_id: edge.follower().get(),
            followee_id: edge.followee().get(),
            followed_at: Some(timestamp(followed_at)),
            put_aside,
        }),
        ChangeKind::StateSet(user, state) => {
            Told::UserStateSet(UserStateWasSet { user_id: user.get(), state: user_state(state).into() })
        }
        ChangeKind::Deleted(user) => Told::UserDeleted(UserWasDeleted { user_id: user.get() }),
        ChangeKind::Marked { mark, user, other, since, until } => {
            let (user_id, other_id, since) = (user.get(), other.get(), Some(timestamp(since)));
            match mark {
                Mark::Block => Told::Blocked(BlockBegan { user_id, blocked_id: other_id, blocked_at: since }),
                Mark::Mute => Told::Muted(MuteBegan {
                    user_id,
                    muted_id: other_id,
                    muted_at: since,
                    muted_until: until.map(timestamp),
                }),
            }
        }
        ChangeKind::Unmarked { mark, user, other, since } => {
            let (user_id, other_id, since) = (user.get(), other.get(), Some(timestamp(since)));
            match mark {
                Mark::Block => Told::Unblocked(BlockEnded { user_id, blocked_id: other_id, blocked_at: since }),
                Mark::Mute => Told::Unmuted(MuteEnded { user_id, muted_id: other_id, muted_at: since }),
            }
        }
    }
}
