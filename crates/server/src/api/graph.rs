use model::{
    Deadline,
    limits::{MAX_BATCH_COUNTS, MAX_BATCH_TARGETS},
};
use service::{CommonOrder, CommonQuery, List, ListPage, ListQuery};
use socialgraph::v1::{
    BatchFollowRequest, BatchFollowResponse, BatchGetCountsRequest, BatchGetCountsResponse, BatchGetPostsRequest,
    BatchGetPostsResponse, BatchIsFollowingRequest, BatchIsFollowingResponse, BatchUnfollowRequest,
    BatchUnfollowResponse, BlockRequest, BlockResponse, CommonFollow, CommonFollowersRequest, CommonFollowersResponse,
    CommonFollowsOrder, CommonFollowsRequest, CommonFollowsResponse, DeletePostRequest, DeletePostResponse,
    DeleteUserRequest, DeleteUserResponse, DismissRecommendationRequest, DismissRecommendationResponse,
    ExportEdgesRequest, FollowRequest, FollowResponse, FollowState, GetDeliveryRequest, GetDeliveryResponse,
    GetOperationRequest, GetOperationResponse, GetRelationshipsRequest, GetRelationshipsResponse, ImportEdgesRequest,
    ImportEdgesResponse, IsFollowingRequest, IsFollowingResponse, KnownFollowersRequest, KnownFollowersResponse,
    LikePostRequest, LikePostResponse, ListBlockedRequest, ListBlockedResponse, ListFollowersRequest,
    ListFollowersResponse, ListFollowingRequest, ListFollowingResponse, ListMutedRequest, ListMutedResponse,
    ListMutualsRequest, ListMutualsResponse, ListUserPostsRequest, ListUserPostsResponse, MuteRequest, MuteResponse,
    PublishPostRequest, PublishPostResponse, RecommendFollowsRequest, RecommendFollowsResponse, ScrollFeedRequest,
    ScrollFeedResponse, SetUserStateRequest, SetUserStateResponse, UnblockRequest, UnblockResponse, UnfollowRequest,
    UnfollowResponse, UnlikePostRequest, UnlikePostResponse, UnmuteRequest, UnmuteResponse, UserCounts,
    WatchRelationshipsRequest, social_graph_server::SocialGraph,
};
use tonic::{Request, Response, Status, Streaming};

use super::{
    Api, batches, blocks,
    consistency::freshness,
    convert::{filtered, listed_user, timestamp},
    deadline, export, feed,
    fields::{Fields, edge},
    lifecycle, posts, recommend, relations,
    status::status,
    watch,
};

#[tonic::async_trait]
impl SocialGraph for Api {
    async fn follow(&self, request: Request<FollowRequest>) -> Result<Response<FollowResponse>, Status> {
        let deadline = deadline(&request);
        let FollowRequest { follower_id, followee_id, source } = request.into_inner();
        let mut fields = Fields::default();
        fields.source(&source);
        let edge = edge(fields, follower_id, followee_id)?;
        let followed = self.graph.follow(edge, source, deadline).await.map_err(status)?;
        Ok(Response::new(FollowResponse {
            created: followed.created,
            followed_at: Some(timestamp(followed.followed_at)),
            consistency_token: followed.consistency_token,
            followers_pending: followed.followers_pending,
        }))
    }

    async fn unfollow(&self, request: Request<UnfollowRequest>) -> Result<Response<UnfollowResponse>, Status> {
        let deadline = deadline(&request);
        let UnfollowRequest { follower_id, followee_id, feed_policy } = request.into_inner();
        let mut fields = Fields::default();
        let policy = feed::policy(&mut fields, feed_policy);
        let edge = edge(fields, follower_id, followee_id)?;
        let unfollowed = self.graph.unfollow(edge, policy, deadline).await.map_err(status)?;
        Ok(Response::new(UnfollowResponse {
            removed: unfollowed.removed,
            consistency_token: unfollowed.consistency_token,
            followers_pending: unfollowed.followers_pending,
        }))
    }

    async fn batch_follow(
        &self,
        request: Request<BatchFollowRequest>,
    ) -> Result<Response<BatchFollowResponse>, Status> {
        batches::follow(self, request).await
    }

    async fn batch_unfollow(
        &self,
        request: Request<BatchUnfollowRequest>,
    ) -> Result<Response<BatchUnfollowResponse>, Status> {
        batches::unfollow(self, request).await
    }

    async fn is_following(
        &self,
        request: Request<IsFollowingRequest>,
    ) -> Result<Response<IsFollowingResponse>, Status> {
        let deadline = deadline(&request);
        let IsFollowingRequest { follower_id, followee_id, consistency } = request.into_inner();
        let mut fields = Fields::default();
        let follower = fields.user("follower_id", follower_id);
        let followee = fields.user("followee_id", followee_id);
        let freshness = freshness(&self.graph, &mut fields, consistency);
        fields.finish()?;
        let read = || self.graph.is_following(follower, followee, deadline);
        let since = self.graph.fresh(freshness, deadline, read).await.map_err(status)?;
        Ok(Response::new(IsFollowingResponse { following: since.is_some(), followed_at: since.map(timestamp) }))
    }

    async fn batch_is_following(
        &self,
        request: Request<BatchIsFollowingRequest>,
    ) -> Result<Response<BatchIsFollowingResponse>, Status> {
        let deadline = deadline(&request);
        let BatchIsFollowingRequest { follower_id, followee_ids, consistency } = request.into_inner();
        let mut fields = Fields::default();
        let follower = fields.user("follower_id", follower_id);
        let followees = fields.users("followee_ids", &followee_ids, MAX_BATCH_TARGETS);
        let freshness = freshness(&self.graph, &mut fields, consistency);
        fields.finish()?;
        let read = || self.graph.batch_is_following(follower, followees.clone(), deadline);
        let times = self.graph.fresh(freshness, deadline, read).await.map_err(status)?;
        let states = followee_ids.into_iter().zip(times).map(|(followee_id, since)| FollowState {
            followee_id,
            following: since.is_some(),
            followed_at: since.map(timestamp),
        });
        Ok(Response::new(BatchIsFollowingResponse { states: states.collect() }))
    }

    async fn common_follows(
        &self,
        request: Request<CommonFollowsRequest>,
    ) -> Result<Response<CommonFollowsResponse>, Status> {
        let deadline = deadline(&request);
        let request = request.into_inner();
        let mut fields = Fields::default();
        let query = CommonQuery {
            user: fields.user("user_id", request.user_id),
            other: fields.user("other_id", request.other_id),
            order: match fields.one_of("order", request.order) {
                CommonFollowsOrder::Unspecified | CommonFollowsOrder::UserNewestFirst => CommonOrder::User,
                CommonFollowsOrder::OtherNewestFirst => CommonOrder::Other,
            },
            viewer: fields.viewer(request.viewer_id),
            page_size: fields.page_size(request.page_size),
            page_token: request.page_token,
            time_budget: fields.time_budget(request.time_budget),
        };
        let freshness = freshness(&self.graph, &mut fields, request.consistency);
        fields.finish()?;
        let read = || self.graph.common_follows(query.clone(), deadline);
        let page = self.graph.fresh(freshness, deadline, read).await.map_err(status)?;
        let users = page.users.into_iter().map(|common| CommonFollow {
            user_id: common.user.get(),
            followed_at: Some(timestamp(common.followed_at)),
            other_followed_at: Some(timestamp(common.other_followed_at)),
        });
        Ok(Response::new(CommonFollowsResponse {
            users: users.collect(),
            total_count: page.total.cast_signed(),
            complete: page.complete,
            filtered_count: filtered(page.filtered),
            next_page_token: page.next_page_token,
        }))
    }

    async fn get_relationships(
        &self,
        request: Request<GetRelationshipsRequest>,
    ) -> Result<Response<GetRelationshipsResponse>, Status> {
        relations::get_relationships(self, request).await
    }

    async fn list_mutuals(
        &self,
        request: Request<ListMutualsRequest>,
    ) -> Result<Response<ListMutualsResponse>, Status> {
        relations::list_mutuals(self, request).await
    }

    async fn known_followers(
        &self,
        request: Request<KnownFollowersRequest>,
    ) -> Result<Response<KnownFollowersResponse>, Status> {
        relations::known_followers(self, request).await
    }

    async fn common_followers(
        &self,
        request: Request<CommonFollowersRequest>,
    ) -> Result<Response<CommonFollowersResponse>, Status> {
        relations::common_followers(self, request).await
    }

    async fn list_following(
        &self,
        request: Request<ListFollowingRequest>,
    ) -> Result<Response<ListFollowingResponse>, Status> {
        let deadline = deadline(&request);
        let request = request.into_inner();
        let page = self.list(List::Following, request, deadline).await?;
        let users = page.entries.into_iter().map(listed_user).collect();
        let (filtered_count, next_page_token) = (filtered(page.filtered), page.next_page_token);
        Ok(Response::new(ListFollowingResponse { users, filtered_count, next_page_token }))
    }

    async fn list_followers(
        &self,
        request: Request<ListFollowersRequest>,
    ) -> Result<Response<ListFollowersResponse>, Status> {
        let deadline = deadline(&request);
        let request = request.into_inner();
        let request = ListFollowingRequest {
            user_id: request.user_id,
            order: request.order,
            followed_from: request.followed_from,
            followed_before: request.followed_before,
            page_size: request.page_size,
            page_token: request.page_token,
            consistency: request.consistency,
            viewer_id: request.viewer_id,
        };
        let page = self.list(List::Followers, request, deadline).await?;
        let users = page.entries.into_iter().map(listed_user).collect();
        let (filtered_count, next_page_token) = (filtered(page.filtered), page.next_page_token);
        Ok(Response::new(ListFollowersResponse { users, filtered_count, next_page_token }))
    }

    async fn recommend_follows(
        &self,
        request: Request<RecommendFollowsRequest>,
    ) -> Result<Response<RecommendFollowsResponse>, Status> {
        recommend::recommend(self, request).await
    }

    async fn dismiss_recommendation(
        &self,
        request: Request<DismissRecommendationRequest>,
    ) -> Result<Response<DismissRecommendationResponse>, Status> {
        recommend::dismiss(self, request).await
    }

    async fn publish_post(
        &self,
        request: Request<PublishPostRequest>,
    ) -> Result<Response<PublishPostResponse>, Status> {
        let deadline = deadline(&request);
        let post = feed::new_post(request.into_inner())?;
        let published = self.graph.publish(post, deadline).await.map_err(status)?;
        Ok(Response::new(feed::published(published)))
    }

    async fn delete_post(&self, request: Request<DeletePostRequest>) -> Result<Response<DeletePostResponse>, Status> {
        posts::delete_post(self, request).await
    }

    async fn like_post(&self, request: Request<LikePostRequest>) -> Result<Response<LikePostResponse>, Status> {
        posts::like_post(self, request).await
    }

    async fn unlike_post(&self, request: Request<UnlikePostRequest>) -> Result<Response<UnlikePostResponse>, Status> {
        posts::unlike_post(self, request).await
    }

    async fn get_delivery(
        &self,
        request: Request<GetDeliveryRequest>,
    ) -> Result<Response<GetDeliveryResponse>, Status> {
        posts::get_delivery(self, request).await
    }

    async fn batch_get_posts(
        &self,
        request: Request<BatchGetPostsRequest>,
    ) -> Result<Response<BatchGetPostsResponse>, Status> {
        posts::batch_get_posts(self, request).await
    }

    async fn list_user_posts(
        &self,
        request: Request<ListUserPostsRequest>,
    ) -> Result<Response<ListUserPostsResponse>, Status> {
        posts::list_user_posts(self, request).await
    }

    async fn scroll_feed(&self, request: Request<ScrollFeedRequest>) -> Result<Response<ScrollFeedResponse>, Status> {
        let deadline = deadline(&request);
        let (query, freshness) = feed::feed_query(&self.graph, request.into_inner())?;
        let read = || self.graph.scroll(query.clone(), deadline);
        let page = self.graph.fresh(freshness, deadline, read).await.map_err(status)?;
        Ok(Response::new(feed::feed_page(page)))
    }

    async fn batch_get_counts(
        &self,
        request: Request<BatchGetCountsRequest>,
    ) -> Result<Response<BatchGetCountsResponse>, Status> {
        let deadline = deadline(&request);
        let BatchGetCountsRequest { user_ids, consistency } = request.into_inner();
        let mut fields = Fields::default();
        let users = fields.users("user_ids", &user_ids, MAX_BATCH_COUNTS);
        let freshness = freshness(&self.graph, &mut fields, consistency);
        fields.finish()?;
        let read = || self.graph.counts(&users, deadline);
        let counts = self.graph.fresh(freshness, deadline, read).await.map_err(status)?;
        let counts = user_ids.into_iter().zip(counts).map(|(user_id, counts)| UserCounts {
            user_id,
            following: counts.following.cast_signed(),
            followers: counts.followers.cast_signed(),
            posts: counts.posts.cast_signed(),
        });
        Ok(Response::new(BatchGetCountsResponse { counts: counts.collect() }))
    }

    async fn import_edges(
        &self,
        request: Request<Streaming<ImportEdgesRequest>>,
    ) -> Result<Response<ImportEdgesResponse>, Status> {
        let deadline = request.extensions().get().copied();
        super::import::import(&self.graph, request.into_inner(), deadline).await.map(Response::new)
    }

    type ExportEdgesStream = export::Chunks;

    async fn export_edges(&self, request: Request<ExportEdgesRequest>) -> Result<Response<export::Chunks>, Status> {
        export::export(&self.graph, request).map(Response::new)
    }

    type WatchRelationshipsStream = watch::Messages;

    async fn watch_relationships(
        &self,
        request: Request<WatchRelationshipsRequest>,
    ) -> Result<Response<watch::Messages>, Status> {
        watch::watch(self, request).await
    }

    async fn block(&self, request: Request<BlockRequest>) -> Result<Response<BlockResponse>, Status> {
        blocks::block(&self.graph, request).await
    }

    async fn unblock(&self, request: Request<UnblockRequest>) -> Result<Response<UnblockResponse>, Status> {
        blocks::unblock(&self.graph, request).await
    }

    async fn list_blocked(
        &self,
        request: Request<ListBlockedRequest>,
    ) -> Result<Response<ListBlockedResponse>, Status> {
        blocks::list_blocked(&self.graph, request).await
    }

    async fn mute(&self, request: Request<MuteRequest>) -> Result<Response<MuteResponse>, Status> {
        blocks::mute(&self.graph, request).await
    }

    async fn unmute(&self, request: Request<UnmuteRequest>) -> Result<Response<UnmuteResponse>, Status> {
        blocks::unmute(&self.graph, request).await
    }

    async fn list_muted(&self, request: Request<ListMutedRequest>) -> Result<Response<ListMutedResponse>, Status> {
        blocks::list_muted(&self.graph, request).await
    }

    async fn set_user_state(
        &self,
        request: Request<SetUserStateRequest>,
    ) -> Result<Response<SetUserStateResponse>, Status> {
        lifecycle::set_user_state(&self.graph, request).await
    }

    async fn delete_user(&self, request: Request<DeleteUserRequest>) -> Result<Response<DeleteUserResponse>, Status> {
        lifecycle::delete_user(&self.graph, request).await
    }

    async fn get_operation(
        &self,
        request: Request<GetOperationRequest>,
    ) -> Result<Response<GetOperationResponse>, Status> {
        lifecycle::get_operation(&self.graph, request).await
    }
}

impl Api {
    /// A page of either list.
    async fn list(&self, list: List, request: ListFollowingRequest, deadline: Deadline) -> Result<ListPage, Status> {
        let mut fields = Fields::default();
        let query = ListQuery {
            list,
            user: fields.user("user_id", request.user_id),
            order: fields.order(request.order),
            window: fields.window(request.followed_from, request.followed_before),
            viewer: fields.viewer(request.viewer_id),
            page_size: fields.page_size(request.page_size),
            page_token: request.page_token,
        };
        let freshness = freshness(&self.graph, &mut fields, request.consistency);
        fields.finish()?;
        let read = || self.graph.list(query.clone(), deadline);
        self.graph.fresh(freshness, deadline, read).await.map_err(status)
    }
}
