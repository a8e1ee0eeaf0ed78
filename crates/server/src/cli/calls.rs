//! The commands of one call and one answer.

use clap::{Args, ValueEnum};
use socialgraph::v1::{
    self, BatchGetCountsRequest, BatchIsFollowingRequest, FollowRequest, IsFollowingRequest, UnfollowRequest,
};

use super::{CallOptions, Error, freshness::Freshness, print::Printer};

/// `follow`.
#[derive(Debug, Args)]
pub struct Follow {
    /// Who follows
    #[arg(allow_negative_numbers = true)]
    follower: i64,
    /// Who is followed
    #[arg(allow_negative_numbers = true)]
    followee: i64,
    /// Where the follow came from, such as profile or contacts
    #[arg(long, default_value = "", hide_default_value = true)]
    source: String,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl Follow {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let request =
            FollowRequest { follower_id: self.follower, followee_id: self.followee, source: self.source.clone() };
        let answer = self.call.graph().await?.follow(self.call.request(request)).await?;
        printer.message("socialgraph.v1.FollowResponse", answer.get_ref())
    }
}

/// `unfollow`.
#[derive(Debug, Args)]
pub struct Unfollow {
    /// Who follows
    #[arg(allow_negative_numbers = true)]
    follower: i64,
    /// Who is no longer to be followed
    #[arg(allow_negative_numbers = true)]
    followee: i64,
    /// What happens to posts that were already delivered
    #[arg(long)]
    feed_policy: Option<FeedPolicy>,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

/// What an unfollow does to delivered posts.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum FeedPolicy {
    /// They are hidden
    Hide,
    /// They are hidden and removed
    Purge,
    /// They stay
    KeepDelivered,
}

impl From<FeedPolicy> for v1::FeedPolicy {
    fn from(policy: FeedPolicy) -> Self {
        match policy {
            FeedPolicy::Hide => Self::Hide,
            FeedPolicy::Purge => Self::Purge,
            FeedPolicy::KeepDelivered => Self::KeepDelivered,
        }
    }
}

impl Unfollow {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let request = UnfollowRequest {
            follower_id: self.follower,
            followee_id: self.followee,
            feed_policy: self.feed_policy.map(v1::FeedPolicy::from).unwrap_or_default().into(),
        };
        let answer = self.call.graph().await?.unfollow(self.call.request(request)).await?;
        printer.message("socialgraph.v1.UnfollowResponse", answer.get_ref())
    }
}

/// `is-following`.
#[derive(Debug, Args)]
pub struct IsFollowing {
    /// Who follows
    #[arg(allow_negative_numbers = true)]
    follower: i64,
    /// Who is followed
    #[arg(allow_negative_numbers = true)]
    followee: i64,
    #[command(flatten)]
    freshness: Freshness,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl IsFollowing {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let request = IsFollowingRequest {
            follower_id: self.follower,
            followee_id: self.followee,
            consistency: self.freshness.consistency(),
        };
        let answer = self.call.graph().await?.is_following(self.call.request(request)).await?;
        printer.message("socialgraph.v1.IsFollowingResponse", answer.get_ref())
    }
}

/// `batch-is-following`.
#[derive(Debug, Args)]
pub struct BatchIsFollowing {
    /// Who follows
    #[arg(allow_negative_numbers = true)]
    follower: i64,
    /// Whom to ask about
    #[arg(required = true, value_name = "FOLLOWEE", allow_negative_numbers = true)]
    followees: Vec<i64>,
    #[command(flatten)]
    freshness: Freshness,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl BatchIsFollowing {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let request = BatchIsFollowingRequest {
            follower_id: self.follower,
            followee_ids: self.followees.clone(),
            consistency: self.freshness.consistency(),
        };
        let answer = self.call.graph().await?.batch_is_following(self.call.request(request)).await?;
        printer.message("socialgraph.v1.BatchIsFollowingResponse", answer.get_ref())
    }
}

/// `counts`.
#[derive(Debug, Args)]
pub struct Counts {
    /// Whose counts to get
    #[arg(required = true, value_name = "USER", allow_negative_numbers = true)]
    users: Vec<i64>,
    #[command(flatten)]
    freshness: Freshness,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl Counts {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let request = BatchGetCountsRequest { user_ids: self.users.clone(), consistency: self.freshness.consistency() };
        let answer = self.call.graph().await?.batch_get_counts(self.call.request(request)).await?;
        printer.message("socialgraph.v1.BatchGetCountsResponse", answer.get_ref())
    }
}
