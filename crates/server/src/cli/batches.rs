//! The commands of many changes of one user.

use clap::Args;
use socialgraph::v1::{BatchFollowRequest, BatchUnfollowRequest};

use super::{CallOptions, Error, print::Printer};

/// `batch-follow`.
#[derive(Debug, Args)]
pub struct BatchFollow {
    /// Who follows
    #[arg(allow_negative_numbers = true)]
    follower: i64,
    /// Whom to follow
    #[arg(required = true, value_name = "FOLLOWEE", allow_negative_numbers = true)]
    followees: Vec<i64>,
    /// Where the follows came from, such as profile or contacts
    #[arg(long, default_value = "", hide_default_value = true)]
    source: String,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl BatchFollow {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let Self { follower, followees, source, call } = self;
        let request = BatchFollowRequest { follower_id: follower, followee_ids: followees, source };
        let answer = call.graph().await?.batch_follow(call.request(request)).await?;
        printer.message("socialgraph.v1.BatchFollowResponse", answer.get_ref())
    }
}

/// `batch-unfollow`.
#[derive(Debug, Args)]
pub struct BatchUnfollow {
    /// Who follows
    #[arg(allow_negative_numbers = true)]
    follower: i64,
    /// Who is no longer to be followed
    #[arg(required = true, value_name = "FOLLOWEE", allow_negative_numbers = true)]
    followees: Vec<i64>,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl BatchUnfollow {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let Self { follower, followees, call } = self;
        let request = BatchUnfollowRequest { follower_id: follower, followee_ids: followees };
        let answer = call.graph().await?.batch_unfollow(call.request(request)).await?;
        printer.message("socialgraph.v1.BatchUnfollowResponse", answer.get_ref())
    }
}
