//! A server that records what arrives and answers by rules that the tests know.

use std::sync::{Arc, Mutex};

use socialgraph::{
    admin::v1::{
        GetTopologyRequest, InspectUserRequest, RepairUserRequest, VerifyUserRequest, admin_server::AdminServer,
    },
    v1::{social_graph_server::SocialGraphServer, *},
};
use tasks::Tasks;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::Request;

/// Follows of this user are refused for load.
pub(crate) const OVERLOADED: i64 = 13;
/// Nothing about this user is ever answered.
pub(crate) const SILENT: i64 = 15;
/// A row of this follower breaks an import.
pub(crate) const BREAKING: i64 = 1_000_000_016;
/// The first import with this id breaks at its first row.
pub(crate) const BREAKS_ONCE: &str = "once";

/// A request as it arrived.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Call {
    Follow(FollowRequest),
    Unfollow(UnfollowRequest),
    BatchFollow(BatchFollowRequest),
    BatchUnfollow(BatchUnfollowRequest),
    IsFollowing(IsFollowingRequest),
    BatchIsFollowing(BatchIsFollowingRequest),
    CommonFollows(CommonFollowsRequest),
    Relationships(GetRelationshipsRequest),
    Mutuals(ListMutualsRequest),
    KnownFollowers(KnownFollowersRequest),
    CommonFollowers(CommonFollowersRequest),
    ListFollowing(ListFollowingRequest),
    ListFollowers(ListFollowersRequest),
    Block(BlockRequest),
    Unblock(UnblockRequest),
    ListBlocked(ListBlockedRequest),
    Mute(MuteRequest),
    Unmute(UnmuteRequest),
    ListMuted(ListMutedRequest),
    Recommend(RecommendFollowsRequest),
    Dismiss(DismissRecommendationRequest),
    SetUserState(SetUserStateRequest),
    DeleteUser(DeleteUserRequest),
    Operation(GetOperationRequest),
    Publish(PublishPostRequest),
    DeletePost(DeletePostRequest),
    Like(LikePostRequest),
    Unlike(UnlikePostRequest),
    Delivery(GetDeliveryRequest),
    GetPosts(BatchGetPostsRequest),
    ListPosts(ListUserPostsRequest),
    Scroll(ScrollFeedRequest),
    Counts(BatchGetCountsRequest),
    Export(ExportEdgesRequest),
    Watch(WatchRelationshipsRequest),
    Keys(InspectUserRequest),
    Topology(GetTopologyRequest),
    Verify(VerifyUserRequest),
    Repair(RepairUserRequest),
}

#[derive(Clone, Default)]
pub(crate) struct Fake {
    calls: Arc<Mutex<Vec<(Call, String)>>>,
    pub(crate) rows: Arc<Mutex<Vec<ImportEdgesRequest>>>,
    /// Kept so that the server lives as long as the test.
    _tasks: Tasks,
}

impl Fake {
    /// Starts a server on a free port and gives its endpoint.
    pub(crate) async fn start() -> (Self, String) {
        let fake = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let serving = tonic::transport::Server::builder()
            .add_service(SocialGraphServer::new(fake.clone()))
            .add_service(AdminServer::new(fake.clone()))
            .serve_with_incoming(TcpListenerStream::new(listener));
        fake._tasks.spawn("server", async { serving.await.unwrap() });
        (fake, endpoint)
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().iter().map(|(call, _)| call.clone()).collect()
    }

    /// The `grpc-timeout` of each call.
    pub(crate) fn timeouts(&self) -> Vec<String> {
        self.calls.lock().unwrap().iter().map(|(_, timeout)| timeout.clone()).collect()
    }

    pub(crate) fn rows(&self) -> Vec<ImportEdgesRequest> {
        self.rows.lock().unwrap().clone()
    }

    pub(crate) fn record<T: Clone>(&self, request: &Request<T>, call: impl FnOnce(T) -> Call) {
        let timeout = request.metadata().get("grpc-timeout").map(|value| value.to_str().unwrap().to_owned());
        self.calls.lock().unwrap().push((call(request.get_ref().clone()), timeout.unwrap_or_default()));
    }
}
