//! What the server does with each call.

use std::{future, vec};

use socialgraph::v1::{social_graph_server::SocialGraph, *};
use tokio_stream::Iter;
use tonic::{Request, Response, Status, Streaming};

use crate::{
    answers::{
        ENTRIES, exported, follow_result, item, listed, operation, page, post_result, published, refuse, time,
        unavailable, watched,
    },
    server::{Call, Fake, OVERLOADED, SILENT},
};

#[tonic::async_trait]
impl SocialGraph for Fake {
    async fn follow(&self, request: Request<FollowRequest>) -> Result<Response<FollowResponse>, Status> {
        self.record(&request, Call::Follow);
        match request.get_ref() {
            FollowRequest { follower_id: ..=0, .. } => Err(refuse("follower_id")),
            FollowRequest { follower_id: OVERLOADED, .. } => Err(unavailable()),
            FollowRequest { follower_id: SILENT, .. } => future::pending().await,
            _ => Ok(Response::new(FollowResponse {
                created: true,
                followed_at: time(7),
                consistency_token: "token-1".to_owned(),
                followers_pending: false,
            })),
        }
    }

    async fn unfollow(&self, request: Request<UnfollowRequest>) -> Result<Response<UnfollowResponse>, Status> {
        self.record(&request, Call::Unfollow);
        Ok(Response::new(UnfollowResponse { removed: true, ..UnfollowResponse::default() }))
    }

    async fn batch_follow(
        &self,
        request: Request<BatchFollowRequest>,
    ) -> Result<Response<BatchFollowResponse>, Status> {
        self.record(&request, Call::BatchFollow);
        let request = request.into_inner();
        let results = request.followee_ids.into_iter().map(|id| follow_result(request.follower_id, id));
        let consistency_token = "token-1".to_owned();
        Ok(Response::new(BatchFollowResponse {
            results: results.collect(),
            consistency_token,
            followers_pending: false,
        }))
    }

    async fn batch_unfollow(
        &self,
        request: Request<BatchUnfollowRequest>,
    ) -> Result<Response<BatchUnfollowResponse>, Status> {
        self.record(&request, Call::BatchUnfollow);
        let ids = request.into_inner().followee_ids.into_iter();
        let results = ids.map(|followee_id| UnfollowResult { followee_id, removed: true, ..UnfollowResult::default() });
        Ok(Response::new(BatchUnfollowResponse { results: results.collect(), ..BatchUnfollowResponse::default() }))
    }

    async fn is_following(
        &self,
        request: Request<IsFollowingRequest>,
    ) -> Result<Response<IsFollowingResponse>, Status> {
        self.record(&request, Call::IsFollowing);
        let following = request.get_ref().followee_id == 2;
        Ok(Response::new(IsFollowingResponse { following, followed_at: time(7).filter(|_| following) }))
    }

    async fn batch_is_following(
        &self,
        request: Request<BatchIsFollowingRequest>,
    ) -> Result<Response<BatchIsFollowingResponse>, Status> {
        self.record(&request, Call::BatchIsFollowing);
        let states = request.get_ref().followee_ids.iter().map(|&followee_id| {
            let following = followee_id % 2 == 0;
            FollowState { followee_id, following, followed_at: time(7).filter(|_| following) }
        });
        Ok(Response::new(BatchIsFollowingResponse { states: states.collect() }))
    }

    async fn common_follows(
        &self,
        request: Request<CommonFollowsRequest>,
    ) -> Result<Response<CommonFollowsResponse>, Status> {
        self.record(&request, Call::CommonFollows);
        let request = request.into_inner();
        let (ids, next_page_token) = page(request.user_id, request.page_size, &request.page_token)?;
        let complete = !request.page_token.is_empty();
        let users = ids.into_iter().map(|user_id| CommonFollow {
            user_id,
            followed_at: time(user_id),
            other_followed_at: time(user_id + 1),
        });
        let users = users.collect();
        let filtered_count = 1;
        Ok(Response::new(CommonFollowsResponse {
            users,
            total_count: ENTRIES,
            complete,
            filtered_count,
            next_page_token,
        }))
    }

    async fn get_relationships(
        &self,
        request: Request<GetRelationshipsRequest>,
    ) -> Result<Response<GetRelationshipsResponse>, Status> {
        self.record(&request, Call::Relationships);
        let relationships = request.get_ref().target_ids.iter().map(|&target_id| {
            let (following, followed_by) = (target_id % 2 == 0, target_id % 3 == 0);
            Relationship {
                target_id,
                following,
                followed_by,
                mutual: following && followed_by,
                followed_at: time(7).filter(|_| following),
                followed_by_at: time(8).filter(|_| followed_by),
                blocking: target_id == 5,
                blocked_at: time(9).filter(|_| target_id == 5),
                ..Relationship::default()
            }
        });
        Ok(Response::new(GetRelationshipsResponse { relationships: relationships.collect() }))
    }

    async fn list_mutuals(
        &self,
        request: Request<ListMutualsRequest>,
    ) -> Result<Response<ListMutualsResponse>, Status> {
        self.record(&request, Call::Mutuals);
        let request = request.into_inner();
        let (ids, next_page_token) = page(request.user_id, request.page_size, &request.page_token)?;
        let users = ids.into_iter().map(|user_id| MutualFollow {
            user_id,
            followed_at: time(user_id),
            followed_by_at: time(user_id + 1),
        });
        Ok(Response::new(ListMutualsResponse { users: users.collect(), next_page_token, filtered_count: 0 }))
    }

    async fn known_followers(
        &self,
        request: Request<KnownFollowersRequest>,
    ) -> Result<Response<KnownFollowersResponse>, Status> {
        self.record(&request, Call::KnownFollowers);
        let request = request.into_inner();
        let (ids, next_page_token) = page(request.viewer_id, request.page_size, &request.page_token)?;
        let complete = request.page_token.is_empty();
        let users = ids.into_iter().map(|user_id| KnownFollower {
            user_id,
            followed_at: time(user_id),
            follower_since: time(user_id + 1),
        });
        let users = users.collect();
        Ok(Response::new(KnownFollowersResponse { users, total_count: ENTRIES, complete, next_page_token }))
    }

    async fn common_followers(
        &self,
        request: Request<CommonFollowersRequest>,
    ) -> Result<Response<CommonFollowersResponse>, Status> {
        self.record(&request, Call::CommonFollowers);
        Ok(Response::new(CommonFollowersResponse { complete: true, ..CommonFollowersResponse::default() }))
    }

    async fn list_following(
        &self,
        request: Request<ListFollowingRequest>,
    ) -> Result<Response<ListFollowingResponse>, Status> {
        self.record(&request, Call::ListFollowing);
        let request = request.into_inner();
        let (users, next_page_token) = listed(page(request.user_id, request.page_size, &request.page_token)?);
        let filtered_count = i32::from(request.viewer_id > 0);
        Ok(Response::new(ListFollowingResponse { users, filtered_count, next_page_token }))
    }

    async fn list_followers(
        &self,
        request: Request<ListFollowersRequest>,
    ) -> Result<Response<ListFollowersResponse>, Status> {
        self.record(&request, Call::ListFollowers);
        Ok(Response::new(ListFollowersResponse::default()))
    }

    async fn block(&self, request: Request<BlockRequest>) -> Result<Response<BlockResponse>, Status> {
        self.record(&request, Call::Block);
        let consistency_token = "token-1".to_owned();
        Ok(Response::new(BlockResponse {
            created: true,
            blocked_at: time(7),
            consistency_token,
            followers_pending: false,
        }))
    }

    async fn unblock(&self, request: Request<UnblockRequest>) -> Result<Response<UnblockResponse>, Status> {
        self.record(&request, Call::Unblock);
        Ok(Response::new(UnblockResponse { removed: true, consistency_token: "token-1".to_owned() }))
    }

    async fn list_blocked(
        &self,
        request: Request<ListBlockedRequest>,
    ) -> Result<Response<ListBlockedResponse>, Status> {
        self.record(&request, Call::ListBlocked);
        let request = request.into_inner();
        let (ids, next_page_token) = page(request.user_id, request.page_size, &request.page_token)?;
        let users = ids.into_iter().map(|user_id| BlockedUser { user_id, blocked_at: time(user_id) });
        Ok(Response::new(ListBlockedResponse { users: users.collect(), next_page_token }))
    }

    async fn mute(&self, request: Request<MuteRequest>) -> Result<Response<MuteResponse>, Status> {
        self.record(&request, Call::Mute);
        let consistency_token = "token-1".to_owned();
        Ok(Response::new(MuteResponse { created: true, muted_at: time(7), consistency_token }))
    }

    async fn unmute(&self, request: Request<UnmuteRequest>) -> Result<Response<UnmuteResponse>, Status> {
        self.record(&request, Call::Unmute);
        Ok(Response::new(UnmuteResponse { removed: false, consistency_token: "token-1".to_owned() }))
    }

    async fn list_muted(&self, request: Request<ListMutedRequest>) -> Result<Response<ListMutedResponse>, Status> {
        self.record(&request, Call::ListMuted);
        let request = request.into_inner();
        let (ids, next_page_token) = page(request.user_id, request.page_size, &request.page_token)?;
        let users = ids.into_iter().map(|user_id| MutedUser {
            user_id,
            muted_at: time(user_id),
            muted_until: time(user_id + 1).filter(|_| user_id % 2 == 0),
        });
        Ok(Response::new(ListMutedResponse { users: users.collect(), next_page_token }))
    }

    async fn recommend_follows(
        &self,
        request: Request<RecommendFollowsRequest>,
    ) -> Result<Response<RecommendFollowsResponse>, Status> {
        self.record(&request, Call::Recommend);
        let recommendation = Recommendation { user_id: 9, mutual_count: 2, mutual_user_ids: vec![20, 3], score: 1.25 };
        Ok(Response::new(RecommendFollowsResponse { recommendations: vec![recommendation], complete: true }))
    }

    async fn delete_post(&self, request: Request<DeletePostRequest>) -> Result<Response<DeletePostResponse>, Status> {
        self.record(&request, Call::DeletePost);
        Ok(Response::new(DeletePostResponse { deleted: true, consistency_token: "token-1".to_owned() }))
    }

    async fn like_post(&self, request: Request<LikePostRequest>) -> Result<Response<LikePostResponse>, Status> {
        self.record(&request, Call::Like);
        Ok(Response::new(LikePostResponse { created: true, like_count: 1, consistency_token: "token-1".to_owned() }))
    }

    async fn unlike_post(&self, request: Request<UnlikePostRequest>) -> Result<Response<UnlikePostResponse>, Status> {
        self.record(&request, Call::Unlike);
        Ok(Response::new(UnlikePostResponse { removed: true, like_count: 0, consistency_token: "token-1".to_owned() }))
    }

    async fn get_delivery(
        &self,
        request: Request<GetDeliveryRequest>,
    ) -> Result<Response<GetDeliveryResponse>, Status> {
        self.record(&request, Call::Delivery);
        let lag = Some(prost_types::Duration { seconds: 1, nanos: 500_000_000 });
        Ok(Response::new(GetDeliveryResponse { total: 7, done: 3, lag, ..GetDeliveryResponse::default() }))
    }

    async fn batch_get_posts(
        &self,
        request: Request<BatchGetPostsRequest>,
    ) -> Result<Response<BatchGetPostsResponse>, Status> {
        self.record(&request, Call::GetPosts);
        let results = request.into_inner().names.into_iter().map(post_result);
        Ok(Response::new(BatchGetPostsResponse { results: results.collect() }))
    }

    async fn list_user_posts(
        &self,
        request: Request<ListUserPostsRequest>,
    ) -> Result<Response<ListUserPostsResponse>, Status> {
        self.record(&request, Call::ListPosts);
        let request = request.into_inner();
        let (ids, next_page_token) = page(request.author_id, request.page_size, &request.page_token)?;
        let items = ids.into_iter().map(|id| item(id, request.view() == FeedView::Full)).collect();
        Ok(Response::new(ListUserPostsResponse { items, next_page_token }))
    }

    async fn dismiss_recommendation(
        &self,
        request: Request<DismissRecommendationRequest>,
    ) -> Result<Response<DismissRecommendationResponse>, Status> {
        self.record(&request, Call::Dismiss);
        Ok(Response::new(DismissRecommendationResponse {}))
    }

    async fn set_user_state(
        &self,
        request: Request<SetUserStateRequest>,
    ) -> Result<Response<SetUserStateResponse>, Status> {
        self.record(&request, Call::SetUserState);
        let operation = operation(request.get_ref().user_id, OperationState::Running);
        Ok(Response::new(SetUserStateResponse { operation: Some(operation) }))
    }

    async fn delete_user(&self, request: Request<DeleteUserRequest>) -> Result<Response<DeleteUserResponse>, Status> {
        self.record(&request, Call::DeleteUser);
        let operation = operation(request.get_ref().user_id, OperationState::Running);
        Ok(Response::new(DeleteUserResponse { operation: Some(operation) }))
    }

    async fn get_operation(
        &self,
        request: Request<GetOperationRequest>,
    ) -> Result<Response<GetOperationResponse>, Status> {
        self.record(&request, Call::Operation);
        // The second answer is the last one.
        let asked = self.calls().iter().filter(|call| matches!(call, Call::Operation(_))).count();
        let state = if asked < 2 { OperationState::Running } else { OperationState::Done };
        Ok(Response::new(GetOperationResponse { operation: Some(operation(7, state)) }))
    }

    async fn publish_post(
        &self,
        request: Request<PublishPostRequest>,
    ) -> Result<Response<PublishPostResponse>, Status> {
        self.record(&request, Call::Publish);
        Ok(Response::new(published(request.into_inner())))
    }

    async fn scroll_feed(&self, request: Request<ScrollFeedRequest>) -> Result<Response<ScrollFeedResponse>, Status> {
        self.record(&request, Call::Scroll);
        let request = request.into_inner();
        let (ids, next_page_token) = page(request.user_id, request.page_size, &request.page_token)?;
        let end_of_feed = next_page_token.is_empty();
        let next_cursor = (!end_of_feed).then_some(FeedCursor { max_time_ms: 1_700_000_000_000, offset: 2 });
        let items = ids.into_iter().map(|id| item(id, request.view() == FeedView::Full)).collect();
        Ok(Response::new(ScrollFeedResponse { items, next_page_token, next_cursor, end_of_feed, partial: false }))
    }

    async fn batch_get_counts(
        &self,
        request: Request<BatchGetCountsRequest>,
    ) -> Result<Response<BatchGetCountsResponse>, Status> {
        self.record(&request, Call::Counts);
        let users = &request.get_ref().user_ids;
        let counts = users
            .iter()
            .map(|&user_id| UserCounts { user_id, following: user_id * 10, followers: 0, posts: 3 })
            .collect();
        Ok(Response::new(BatchGetCountsResponse { counts }))
    }

    type ExportEdgesStream = Iter<vec::IntoIter<Result<ExportEdgesResponse, Status>>>;

    async fn export_edges(
        &self,
        request: Request<ExportEdgesRequest>,
    ) -> Result<Response<Self::ExportEdgesStream>, Status> {
        self.record(&request, Call::Export);
        let token = request.into_inner().resume_token;
        let begun = Call::Export(ExportEdgesRequest::default());
        let is_first = self.calls().iter().filter(|call| **call == begun).count() == 1;
        Ok(Response::new(tokio_stream::iter(exported(&token, is_first))))
    }

    type WatchRelationshipsStream = Iter<vec::IntoIter<Result<WatchRelationshipsResponse, Status>>>;

    async fn watch_relationships(
        &self,
        request: Request<WatchRelationshipsRequest>,
    ) -> Result<Response<Self::WatchRelationshipsStream>, Status> {
        self.record(&request, Call::Watch);
        Ok(Response::new(tokio_stream::iter(watched(&request.into_inner().resume_token))))
    }

    async fn import_edges(
        &self,
        request: Request<Streaming<ImportEdgesRequest>>,
    ) -> Result<Response<ImportEdgesResponse>, Status> {
        self.import(request.into_inner()).await.map(Response::new)
    }
}
