//! The commands about recommendations.

use clap::Args;
use socialgraph::v1::{DismissRecommendationRequest, RecommendFollowsRequest};

use super::{CallOptions, Error, freshness::Freshness, print::Printer, time};

/// `recommend`.
#[derive(Debug, Args)]
pub struct Recommend {
    /// For whom
    #[arg(allow_negative_numbers = true)]
    user: i64,
    /// Most recommendations, at most 100; 0 means 20
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    limit: i32,
    /// How long the server may search, such as 100ms
    #[arg(long, value_name = "DURATION", value_parser = time::parse_duration)]
    time_budget: Option<prost_types::Duration>,
    #[command(flatten)]
    freshness: Freshness,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl Recommend {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let request = RecommendFollowsRequest {
            user_id: self.user,
            limit: self.limit,
            time_budget: self.time_budget,
            consistency: self.freshness.consistency(),
        };
        let answer = self.call.graph().await?.recommend_follows(self.call.request(request)).await?;
        printer.message("socialgraph.v1.RecommendFollowsResponse", answer.get_ref())
    }
}

/// `dismiss`.
#[derive(Debug, Args)]
pub struct Dismiss {
    /// Who does not want to see the recommendation again
    #[arg(allow_negative_numbers = true)]
    user: i64,
    /// Who was recommended
    #[arg(allow_negative_numbers = true)]
    dismissed: i64,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl Dismiss {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let request = DismissRecommendationRequest { user_id: self.user, dismissed_id: self.dismissed };
        let answer = self.call.graph().await?.dismiss_recommendation(self.call.request(request)).await?;
        printer.message("socialgraph.v1.DismissRecommendationResponse", answer.get_ref())
    }
}
