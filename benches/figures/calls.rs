//! The calls that are measured, and the data they ask about.

use fred::bytes::Bytes;
use futures::stream;
use model::UserId;
use prost_types::Duration;
use socialgraph::v1::{
    BatchGetCountsRequest, BatchIsFollowingRequest, CommonFollowsRequest, FollowRequest, IsFollowingRequest,
    ListFollowersRequest, PublishPostRequest, ScrollFeedRequest, UnfollowRequest,
    social_graph_client::SocialGraphClient,
};
use tonic::transport::Channel;

use crate::{Result, stage};

/// Follows 2,500 users, 600 of which B follows as well.
pub(crate) const A: i64 = 1;
/// Follows 2,500 users.
pub(crate) const B: i64 = 2;
/// Is followed by 2,500 users.
pub(crate) const C: i64 = 3;
const LIST: i64 = 2_500;
const SHARED: i64 = 600;
const FOLLOWED: i64 = 5_000_000;
const FANS: i64 = 6_000_000;

/// Has 10 followers, with inboxes.
pub(crate) const PUBLISHER: i64 = 4;
const SUBSCRIBERS: i64 = 10;
const FIRST_SUBSCRIBER: i64 = 3_000_000;
/// Follows 10 authors.
pub(crate) const FEW: i64 = 5;
/// Follows 5,000 users, the same 10 authors among them.
pub(crate) const MANY: i64 = 6;
const AUTHORS: i64 = 10;
const FIRST_AUTHOR: i64 = 4_000_000;
/// Posts of each author.
const POSTS: i64 = 20;

/// Users who follow 10 others each.
const READERS: i64 = 10_000;
const FIRST_READER: i64 = 1_000_000;
const FIRST_READ: i64 = 2_000_000;
const READ: i64 = 50_000;

/// Edges that are made and ended.
const WRITERS: u64 = 20_000;
const FIRST_WRITER: i64 = 10_000_000;
const FIRST_WRITTEN: i64 = 20_000_000;

/// A call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    IsFollowing,
    Follow,
    Unfollow,
    BatchIsFollowing,
    ListFollowers,
    BatchGetCounts,
    CommonFollows,
    PublishPost,
    /// By the reader.
    ScrollFeed(i64),
}

impl Kind {
    /// Unfollow comes after Follow, and ends what that made.
    pub(crate) const ALL: [Self; 10] = [
        Self::IsFollowing,
        Self::Follow,
        Self::Unfollow,
        Self::BatchIsFollowing,
        Self::ListFollowers,
        Self::BatchGetCounts,
        Self::CommonFollows,
        Self::PublishPost,
        Self::ScrollFeed(FEW),
        Self::ScrollFeed(MANY),
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::IsFollowing => "IsFollowing",
            Self::Follow => "Follow",
            Self::Unfollow => "Unfollow",
            Self::BatchIsFollowing => "BatchIsFollowing of 100",
            Self::ListFollowers => "ListFollowers, page of 50",
            Self::BatchGetCounts => "BatchGetCounts of 50",
            Self::CommonFollows => "CommonFollows, 2,500 with 2,500",
            Self::PublishPost => "PublishPost to 10 inboxes",
            Self::ScrollFeed(FEW) => "ScrollFeed of 50, 10 followed",
            Self::ScrollFeed(_) => "ScrollFeed of 50, 5,000 followed",
        }
    }

    /// What plain fred does in its place.
    pub(crate) fn raw_name(self) -> &'static str {
        match self {
            Self::IsFollowing => "ZSCORE",
            Self::Follow | Self::Unfollow => "EVALSHA, EVALSHA",
            Self::BatchIsFollowing => "ZMSCORE of 100",
            Self::ListFollowers => "ZRANGE of 51",
            Self::BatchGetCounts => "100 ZCARD at once",
            Self::CommonFollows => "ZRANGE, ZMSCORE of 2,500",
            Self::PublishPost => "HSET, ZADD; ZRANGE; 10 ZADD",
            Self::ScrollFeed(_) => "ZRANGE of 51; 51 EXISTS",
        }
    }

    /// The `n`th call of the service.
    pub(crate) async fn call(self, mut graph: SocialGraphClient<Channel>, n: u64) -> Result<()> {
        match self {
            Self::IsFollowing => {
                let (follower, followee) = pair(n)?;
                let (follower_id, followee_id) = (follower.get(), followee.get());
                let request = IsFollowingRequest { follower_id, followee_id, consistency: None };
                let answer = graph.is_following(request).await?.into_inner();
                check(answer.following == pair_exists(n), "is_following")
            }
            Self::Follow => {
                let (follower, followee) = edge(n)?;
                let (follower_id, followee_id) = (follower.get(), followee.get());
                let request = FollowRequest { follower_id, followee_id, source: String::new() };
                check(graph.follow(request).await?.into_inner().created, "follow")
            }
            Self::Unfollow => {
                let (follower, followee) = edge(n)?;
                let (follower_id, followee_id) = (follower.get(), followee.get());
                let request = UnfollowRequest { follower_id, followee_id, feed_policy: 0 };
                check(graph.unfollow(request).await?.into_inner().removed, "unfollow")
            }
            Self::BatchIsFollowing => {
                let request =
                    BatchIsFollowingRequest { follower_id: A, followee_ids: targets(n).collect(), consistency: None };
                check(graph.batch_is_following(request).await?.into_inner().states.len() == 100, "batch_is_following")
            }
            Self::ListFollowers => {
                let request = ListFollowersRequest { user_id: C, ..Default::default() };
                check(graph.list_followers(request).await?.into_inner().users.len() == 50, "list_followers")
            }
            Self::BatchGetCounts => {
                let request = BatchGetCountsRequest { user_ids: counted(n).collect(), consistency: None };
                let counts = graph.batch_get_counts(request).await?.into_inner().counts;
                check(counts.iter().map(|counts| counts.following).sum::<i64>() == 500, "batch_get_counts")
            }
            Self::CommonFollows => {
                let time_budget = Some(Duration { seconds: 10, nanos: 0 });
                let request = CommonFollowsRequest { user_id: A, other_id: B, time_budget, ..Default::default() };
                let answer = graph.common_follows(request).await?.into_inner();
                check(answer.complete && answer.total_count == SHARED, "common_follows")
            }
            Self::PublishPost => {
                let request = PublishPostRequest { author_id: PUBLISHER, content: content(), ..Default::default() };
                check(graph.publish_post(request).await?.into_inner().audience == SUBSCRIBERS, "publish_post")
            }
            Self::ScrollFeed(reader) => {
                let request = ScrollFeedRequest { user_id: reader, ..Default::default() };
                check(graph.scroll_feed(request).await?.into_inner().items.len() == 50, "scroll_feed")
            }
        }
    }
}

/// A figure of wrong answers is none.
pub(crate) fn check(right: bool, call: &'static str) -> Result<()> {
    if right { Ok(()) } else { Err(format!("{call} gave a wrong answer").into()) }
}

/// The edges among which plain fred reads: those of A, B, C and the publisher.
pub(crate) fn long_lists() -> impl Iterator<Item = (i64, i64)> {
    let lists = (0..LIST).flat_map(|n| [(A, FOLLOWED + n), (B, FOLLOWED + LIST - SHARED + n), (FANS + n, C)]);
    lists.chain((0..SUBSCRIBERS).map(|n| (FIRST_SUBSCRIBER + n, PUBLISHER)))
}

/// Writes what the reads ask about.
pub(crate) async fn prepare(mut graph: SocialGraphClient<Channel>) -> Result<()> {
    let readers = (0..READERS).flat_map(|reader| (0..10).map(move |k| (FIRST_READER + reader, read(reader, k))));
    let feeds = (0..AUTHORS).map(|n| (FEW, FIRST_AUTHOR + n)).chain((0..2 * LIST).map(|n| (MANY, FIRST_AUTHOR + n)));
    let rows = long_lists().chain(readers).chain(feeds).map(|(follower, followee)| stage::row(follower, followee));
    let rows: Vec<_> = rows.collect();
    let sent = rows.len() as i64;
    let answer = graph.import_edges(stream::iter(rows)).await?.into_inner();
    check(answer.created == sent, "import_edges")?;
    for reader in (0..SUBSCRIBERS).map(|n| FIRST_SUBSCRIBER + n).chain([FEW, MANY]) {
        graph.scroll_feed(ScrollFeedRequest { user_id: reader, ..Default::default() }).await?;
    }
    for author_id in (0..POSTS).flat_map(|_| (0..AUTHORS).map(|n| FIRST_AUTHOR + n)) {
        let request = PublishPostRequest { author_id, content: content(), ..Default::default() };
        graph.publish_post(request).await?;
    }
    Ok(())
}

/// The content of a post.
pub(crate) fn content() -> Bytes {
    Bytes::from_static(&[b'x'; 280])
}

pub(crate) fn user(id: i64) -> Result<UserId> {
    Ok(UserId::new(id)?)
}

/// Whom IsFollowing asks about.
pub(crate) fn pair(n: u64) -> Result<(UserId, UserId)> {
    let reader = (n * 7_919) as i64 % READERS;
    Ok((user(FIRST_READER + reader)?, user(read(reader, n as i64 % 20))?))
}

fn pair_exists(n: u64) -> bool {
    n % 20 < 10
}

fn read(reader: i64, k: i64) -> i64 {
    FIRST_READ + (reader * 10 + k) % READ
}

/// The edge that Follow makes and Unfollow ends; each once in the first 400 million.
pub(crate) fn edge(n: u64) -> Result<(UserId, UserId)> {
    let (writer, written) = (n % WRITERS, (n / WRITERS * 7_919 + n * 31) % WRITERS);
    Ok((user(FIRST_WRITER + writer as i64)?, user(FIRST_WRITTEN + written as i64)?))
}

/// Whom BatchIsFollowing asks about: half of them are followed.
pub(crate) fn targets(n: u64) -> impl Iterator<Item = i64> {
    let first = n as i64 % 1_000;
    (0..100).map(move |k| FOLLOWED + first + k * LIST / 50)
}

/// Whom BatchGetCounts asks about.
pub(crate) fn counted(n: u64) -> impl Iterator<Item = i64> {
    (0..50).map(move |k| FIRST_READER + (n as i64 * 50 + k * 37) % READERS)
}
