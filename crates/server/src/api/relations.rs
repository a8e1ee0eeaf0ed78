//! Reads over the lists of several users.

use model::limits::MAX_BATCH_RELATIONSHIPS;
use service::{Common, FollowersQuery, Mutual, MutualsQuery};
use socialgraph::v1::{
    CommonFollower, CommonFollowersRequest, CommonFollowersResponse, GetRelationshipsRequest, GetRelationshipsResponse,
    KnownFollower, KnownFollowersRequest, KnownFollowersResponse, ListMutualsRequest, ListMutualsResponse,
    MutualFollow, Relationship,
};
use tonic::{Request, Response, Status};

use super::{
    Api,
    consistency::freshness,
    convert::{filtered, timestamp},
    deadline,
    fields::Fields,
    status::status,
};

pub(super) async fn get_relationships(
    Api { graph, .. }: &Api,
    request: Request<GetRelationshipsRequest>,
) -> Result<Response<GetRelationshipsResponse>, Status> {
    let deadline = deadline(&request);
    let GetRelationshipsRequest { viewer_id, target_ids, consistency } = request.into_inner();
    let mut fields = Fields::default();
    let viewer = fields.user("viewer_id", viewer_id);
    let targets = fields.users("target_ids", &target_ids, MAX_BATCH_RELATIONSHIPS);
    let freshness = freshness(graph, &mut fields, consistency);
    fields.finish()?;
    let read = || graph.relationships(viewer, &targets, deadline);
    let known = graph.fresh(freshness, deadline, read).await.map_err(status)?;
    let relationships = target_ids.into_iter().zip(known).map(|(target_id, known)| {
        let (following, followed_by) = (known.followed_at.is_some(), known.followed_by_at.is_some());
        Relationship {
            target_id,
            following,
            followed_by,
            mutual: following && followed_by,
            followed_at: known.followed_at.map(timestamp),
            followed_by_at: known.followed_by_at.map(timestamp),
            blocking: known.held.blocked_at.is_some(),
            blocked_by: known.blocked_by_at.is_some(),
            muting: known.held.muted_at.is_some(),
            blocked_at: known.held.blocked_at.map(timestamp),
            blocked_by_at: known.blocked_by_at.map(timestamp),
            muted_at: known.held.muted_at.map(timestamp),
            muted_until: known.held.muted_until.map(timestamp),
        }
    });
    Ok(Response::new(GetRelationshipsResponse { relationships: relationships.collect() }))
}

pub(super) async fn list_mutuals(
    Api { graph, .. }: &Api,
    request: Request<ListMutualsRequest>,
) -> Result<Response<ListMutualsResponse>, Status> {
    let deadline = deadline(&request);
    let request = request.into_inner();
    let mut fields = Fields::default();
    let query = MutualsQuery {
        user: fields.user("user_id", request.user_id),
        order: fields.order(request.order),
        window: fields.window(request.followed_from, request.followed_before),
        viewer: fields.viewer(request.viewer_id),
        page_size: fields.page_size(request.page_size),
        page_token: request.page_token,
    };
    let freshness = freshness(graph, &mut fields, request.consistency);
    fields.finish()?;
    let read = || graph.mutuals(query.clone(), deadline);
    let page = graph.fresh(freshness, deadline, read).await.map_err(status)?;
    let users = page.users.into_iter().map(|Mutual { user, followed_at, followed_by_at }| MutualFollow {
        user_id: user.get(),
        followed_at: Some(timestamp(followed_at)),
        followed_by_at: Some(timestamp(followed_by_at)),
    });
    Ok(Response::new(ListMutualsResponse {
        users: users.collect(),
        filtered_count: filtered(page.filtered),
        next_page_token: page.next_page_token,
    }))
}

pub(super) async fn known_followers(
    Api { graph, .. }: &Api,
    request: Request<KnownFollowersRequest>,
) -> Result<Response<KnownFollowersResponse>, Status> {
    let deadline = deadline(&request);
    let request = request.into_inner();
    let mut fields = Fields::default();
    let query = FollowersQuery {
        by: fields.user("viewer_id", request.viewer_id),
        of: fields.user("user_id", request.user_id),
        viewer: None,
        page_size: fields.page_size(request.page_size),
        page_token: request.page_token,
        time_budget: fields.time_budget(request.time_budget),
    };
    let freshness = freshness(graph, &mut fields, request.consistency);
    fields.finish()?;
    let read = || graph.known_followers(query.clone(), deadline);
    let page = graph.fresh(freshness, deadline, read).await.map_err(status)?;
    let users = page.users.into_iter().map(|Common { user, followed_at, other_followed_at }| KnownFollower {
        user_id: user.get(),
        followed_at: Some(timestamp(followed_at)),
        follower_since: Some(timestamp(other_followed_at)),
    });
    Ok(Response::new(KnownFollowersResponse {
        users: users.collect(),
        total_count: page.total.cast_signed(),
        complete: page.complete,
        next_page_token: page.next_page_token,
    }))
}

pub(super) async fn common_followers(
    Api { graph, .. }: &Api,
    request: Request<CommonFollowersRequest>,
) -> Result<Response<CommonFollowersResponse>, Status> {
    let deadline = deadline(&request);
    let request = request.into_inner();
    let mut fields = Fields::default();
    let query = FollowersQuery {
        by: fields.user("user_id", request.user_id),
        of: fields.user("other_id", request.other_id),
        viewer: fields.viewer(request.viewer_id),
        page_size: fields.page_size(request.page_size),
        page_token: request.page_token,
        time_budget: fields.time_budget(request.time_budget),
    };
    let freshness = freshness(graph, &mut fields, request.consistency);
    fields.finish()?;
    let read = || graph.common_followers(query.clone(), deadline);
    let page = graph.fresh(freshness, deadline, read).await.map_err(status)?;
    let users = page.users.into_iter().map(|Common { user, followed_at, other_followed_at }| CommonFollower {
        user_id: user.get(),
        followed_at: Some(timestamp(followed_at)),
        other_followed_at: Some(timestamp(other_followed_at)),
    });
    Ok(Response::new(CommonFollowersResponse {
        users: users.collect(),
        total_count: page.total.cast_signed(),
        complete: page.complete,
        filtered_count: filtered(page.filtered),
        next_page_token: page.next_page_token,
    }))
}
