//! The commands about several users' lists.

use clap::Args;
use socialgraph::v1::{CommonFollowersRequest, GetRelationshipsRequest, KnownFollowersRequest, ListMutualsRequest};

use super::{
    CallOptions, Error,
    freshness::Freshness,
    lists::{Paging, SearchOptions, Span, Viewer},
    print::Printer,
};

/// `relationships`.
#[derive(Debug, Args)]
pub struct Relationships {
    /// From whose point of view
    #[arg(allow_negative_numbers = true)]
    viewer: i64,
    /// Whom to ask about
    #[arg(required = true, value_name = "TARGET", allow_negative_numbers = true)]
    targets: Vec<i64>,
    #[command(flatten)]
    freshness: Freshness,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl Relationships {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let request = GetRelationshipsRequest {
            viewer_id: self.viewer,
            target_ids: self.targets.clone(),
            consistency: self.freshness.consistency(),
        };
        let answer = self.call.graph().await?.get_relationships(self.call.request(request)).await?;
        printer.message("socialgraph.v1.GetRelationshipsResponse", answer.get_ref())
    }
}

/// `mutuals`.
#[derive(Debug, Args)]
pub struct Mutuals {
    /// Whose mutual follows
    #[arg(allow_negative_numbers = true)]
    user: i64,
    #[command(flatten)]
    span: Span,
    #[command(flatten)]
    viewer: Viewer,
    #[command(flatten)]
    freshness: Freshness,
    #[command(flatten)]
    paging: Paging,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl Mutuals {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let client = self.call.graph().await?;
        let fetch = async |page_token| {
            let request = ListMutualsRequest {
                user_id: self.user,
                order: self.span.order(),
                followed_from: self.span.from,
                followed_before: self.span.before,
                page_size: self.paging.page_size(),
                page_token,
                consistency: self.freshness.consistency(),
                viewer_id: self.viewer.id,
            };
            client.clone().list_mutuals(self.call.request(request)).await
        };
        self.paging.print(printer, "socialgraph.v1.ListMutualsResponse", fetch).await
    }
}

/// `known-followers`.
#[derive(Debug, Args)]
pub struct KnownFollowers {
    /// Who looks
    #[arg(allow_negative_numbers = true)]
    viewer: i64,
    /// Whose followers
    #[arg(allow_negative_numbers = true)]
    user: i64,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl KnownFollowers {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let client = self.call.graph().await?;
        let SearchOptions { time_budget, freshness, paging } = &self.search;
        let fetch = async |page_token| {
            let request = KnownFollowersRequest {
                viewer_id: self.viewer,
                user_id: self.user,
                page_size: paging.page_size(),
                page_token,
                time_budget: *time_budget,
                consistency: freshness.consistency(),
            };
            client.clone().known_followers(self.call.request(request)).await
        };
        paging.print(printer, "socialgraph.v1.KnownFollowersResponse", fetch).await
    }
}

/// `common-followers`.
#[derive(Debug, Args)]
pub struct CommonFollowers {
    /// One user
    #[arg(allow_negative_numbers = true)]
    user: i64,
    /// The other user
    #[arg(allow_negative_numbers = true)]
    other: i64,
    #[command(flatten)]
    viewer: Viewer,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl CommonFollowers {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let client = self.call.graph().await?;
        let SearchOptions { time_budget, freshness, paging } = &self.search;
        let fetch = async |page_token| {
            let request = CommonFollowersRequest {
                user_id: self.user,
                other_id: self.other,
                page_size: paging.page_size(),
                page_token,
                time_budget: *time_budget,
                consistency: freshness.consistency(),
                viewer_id: self.viewer.id,
            };
            client.clone().common_followers(self.call.request(request)).await
        };
        paging.print(printer, "socialgraph.v1.CommonFollowersResponse", fetch).await
    }
}
