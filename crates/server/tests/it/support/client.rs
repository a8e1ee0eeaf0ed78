//! A client of the service: its calls in short, for those that must succeed.

use std::{
    fmt::Display,
    time::{SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use prost_types::Timestamp;
use socialgraph::{
    admin::v1::admin_client::AdminClient,
    v1::{
        BatchGetCountsRequest, BatchIsFollowingRequest, CommonFollowsRequest, CommonFollowsResponse, FollowRequest,
        FollowResponse, ImportEdgesRequest, ImportEdgesResponse, IsFollowingRequest, PublishPostRequest,
        PublishPostResponse, ScrollFeedRequest, ScrollFeedResponse, UnfollowRequest, UnfollowResponse,
        social_graph_client::SocialGraphClient,
    },
};
use tonic::transport::{Channel, Endpoint};

/// A connection to a server. [`Api::social`] and [`Api::admin`] give the whole of a call and its errors.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) channel: Channel,
    pub(crate) admin_channel: Channel,
}

impl Api {
    /// By the addresses of both gRPC ports.
    pub(crate) async fn connect(grpc: impl Display, admin_grpc: impl Display) -> Self {
        let channel = async |address: &dyn Display| {
            let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("endpoint");
            endpoint.connect().await.expect("connect")
        };
        Self { channel: channel(&grpc).await, admin_channel: channel(&admin_grpc).await }
    }

    pub(crate) fn social(&self) -> SocialGraphClient<Channel> {
        SocialGraphClient::new(self.channel.clone())
    }

    pub(crate) fn admin(&self) -> AdminClient<Channel> {
        AdminClient::new(self.admin_channel.clone())
    }

    pub(crate) async fn follow(&self, follower_id: i64, followee_id: i64) -> FollowResponse {
        let request = FollowRequest { follower_id, followee_id, source: String::new() };
        self.social().follow(request).await.expect("follow").into_inner()
    }

    pub(crate) async fn unfollow(&self, follower_id: i64, followee_id: i64) -> UnfollowResponse {
        let request = UnfollowRequest { follower_id, followee_id, feed_policy: 0 };
        self.social().unfollow(request).await.expect("unfollow").into_inner()
    }

    /// Since when, in microseconds.
    pub(crate) async fn is_following(&self, follower_id: i64, followee_id: i64) -> Option<i64> {
        let request = IsFollowingRequest { follower_id, followee_id, consistency: None };
        let answer = self.social().is_following(request).await.expect("is following").into_inner();
        assert_eq!(answer.following, answer.followed_at.is_some());
        answer.followed_at.map(|at| micros(Some(at)))
    }

    /// Since when each, in microseconds.
    pub(crate) async fn batch_is_following(&self, follower_id: i64, followee_ids: &[i64]) -> Vec<Option<i64>> {
        let request = BatchIsFollowingRequest { follower_id, followee_ids: followee_ids.to_vec(), consistency: None };
        let answer = self.social().batch_is_following(request).await.expect("batch").into_inner();
        assert_eq!(answer.states.iter().map(|state| state.followee_id).collect::<Vec<_>>(), followee_ids);
        assert!(answer.states.iter().all(|state| state.following == state.followed_at.is_some()));
        answer.states.into_iter().map(|state| state.followed_at.map(|at| micros(Some(at)))).collect()
    }

    /// Of each user, how many they follow and how many follow them.
    pub(crate) async fn counts(&self, user_ids: &[i64]) -> Vec<(i64, i64)> {
        let request = BatchGetCountsRequest { user_ids: user_ids.to_vec(), consistency: None };
        let answer = self.social().batch_get_counts(request).await.expect("counts").into_inner();
        assert_eq!(answer.counts.iter().map(|counts| counts.user_id).collect::<Vec<_>>(), user_ids);
        answer.counts.into_iter().map(|counts| (counts.following, counts.followers)).collect()
    }

    pub(crate) async fn count(&self, user: i64) -> (i64, i64) {
        self.counts(&[user]).await[0]
    }

    /// How many posts a user has published.
    pub(crate) async fn posts(&self, user: i64) -> i64 {
        let request = BatchGetCountsRequest { user_ids: vec![user], consistency: None };
        self.social().batch_get_counts(request).await.expect("counts").into_inner().counts[0].posts
    }

    /// Publishes a post, now and without ids.
    pub(crate) async fn publish(&self, author_id: i64, content: impl AsRef<[u8]>) -> PublishPostResponse {
        let content = Bytes::copy_from_slice(content.as_ref());
        self.publish_with(PublishPostRequest { author_id, content, ..PublishPostRequest::default() }).await
    }

    pub(crate) async fn publish_with(&self, request: PublishPostRequest) -> PublishPostResponse {
        self.social().publish_post(request).await.expect("publish").into_inner()
    }

    pub(crate) async fn scroll(&self, request: ScrollFeedRequest) -> ScrollFeedResponse {
        self.social().scroll_feed(request).await.expect("scroll").into_inner()
    }

    pub(crate) async fn common(&self, request: CommonFollowsRequest) -> CommonFollowsResponse {
        self.social().common_follows(request).await.expect("common follows").into_inner()
    }

    pub(crate) async fn import(&self, rows: Vec<ImportEdgesRequest>) -> ImportEdgesResponse {
        let sent = rows.len() as i64;
        let answer = self.social().import_edges(tokio_stream::iter(rows)).await.expect("import").into_inner();
        let ImportEdgesResponse { created, existing, superseded, self_, invalid, .. } = answer;
        let refused = answer.over_limit + answer.unavailable + answer.blocked;
        assert_eq!(created + existing + superseded + self_ + invalid + refused, sent, "{answer:?}");
        answer
    }
}

/// A row of an import, from now.
pub(crate) fn row(follower_id: i64, followee_id: i64) -> ImportEdgesRequest {
    ImportEdgesRequest { follower_id, followee_id, followed_at: None, import_id: String::new() }
}

/// A row of an import, with its time in microseconds.
pub(crate) fn row_at(follower_id: i64, followee_id: i64, at: i64) -> ImportEdgesRequest {
    ImportEdgesRequest { follower_id, followee_id, followed_at: Some(stamp(at)), import_id: String::new() }
}

pub(crate) fn stamp(micros: i64) -> Timestamp {
    Timestamp { seconds: micros / 1_000_000, nanos: (micros % 1_000_000) as i32 * 1_000 }
}

/// Microseconds of a time that must be there, and have no finer part.
pub(crate) fn micros(time: Option<Timestamp>) -> i64 {
    let time = time.expect("a time");
    assert_eq!(time.nanos % 1_000, 0, "{time:?}");
    time.seconds * 1_000_000 + i64::from(time.nanos) / 1_000
}

/// The clock of this machine, which is that of its Redis.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros() as i64
}
