//! The commands that list page by page.

use clap::{Args, ValueEnum};
use prost_reflect::{DynamicMessage, Value, prost::Message};
use prost_types::Timestamp;
use socialgraph::v1::{self, CommonFollowsRequest, ListFollowersRequest, ListFollowingRequest};
use tonic::{Response, Status};

use super::{CallOptions, Error, cells::FILTERED, freshness::Freshness, print::Printer, time};

/// The largest page the server gives; `--all` uses it unless told otherwise.
const LARGEST_PAGE: i32 = 500;

/// The field of answers that may have missed something for lack of time.
const COMPLETE: &str = "complete";

/// Which page, or all of them.
#[derive(Debug, Args)]
pub(super) struct Paging {
    /// Entries a page, at most 500; 0 means 50 (or 500 with --all)
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    page_size: i32,
    /// Where to go on: the next_page_token of the page before
    #[arg(long, value_name = "TOKEN", default_value = "", hide_default_value = true)]
    pub(super) page_token: String,
    /// Print all pages to the end
    #[arg(long)]
    all: bool,
}

impl Paging {
    pub(super) fn page_size(&self) -> i32 {
        if self.all && self.page_size == 0 { LARGEST_PAGE } else { self.page_size }
    }

    /// Prints the page, or with `--all` each page as it comes.
    ///
    /// When a page fails, those before are printed to their end with the token of the failed one, so that a list can be
    /// taken up where it broke.
    pub(super) async fn print<Answer: Message>(
        &self,
        printer: &mut Printer<'_>,
        name: &str,
        mut fetch: impl AsyncFnMut(String) -> Result<Response<Answer>, Status>,
    ) -> Result<(), Error> {
        let mut listing = printer.listing(name)?;
        let mut answer = listing.page(fetch(self.page_token.clone()).await?.get_ref())?;
        let (mut complete, mut filtered) = (is_complete(&answer), filtered_count(&answer));
        let mut failure = None;
        while self.all
            && failure.is_none()
            && let Some(token) = next_page_token(&answer)
        {
            match fetch(token).await {
                Ok(page) => {
                    answer = listing.page(page.get_ref())?;
                    filtered += filtered_count(&answer);
                }
                Err(status) => failure = Some(status),
            }
            complete &= is_complete(&answer);
        }
        if answer.get_field_by_name(COMPLETE).is_some() {
            answer.set_field_by_name(COMPLETE, Value::Bool(complete));
        }
        if answer.get_field_by_name(FILTERED).is_some() {
            answer.set_field_by_name(FILTERED, Value::I32(filtered));
        }
        listing.finish(&answer)?;
        failure.map_or(Ok(()), |status| Err(status.into()))
    }
}

/// A whole list is complete only if each of its pages is.
fn is_complete(page: &DynamicMessage) -> bool {
    page.get_field_by_name(COMPLETE).is_none_or(|value| value.as_bool() == Some(true))
}

/// How many rows of a page are left out: a whole list lacks those of all of its pages.
fn filtered_count(page: &DynamicMessage) -> i32 {
    page.get_field_by_name(FILTERED).and_then(|value| value.as_i32()).unwrap_or_default()
}

fn next_page_token(page: &DynamicMessage) -> Option<String> {
    let token = page.get_field_by_name("next_page_token")?.as_str()?.to_owned();
    (!token.is_empty()).then_some(token)
}

/// `list-following` and `list-followers`.
#[derive(Debug, Args)]
pub struct List {
    /// Whose list
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

/// Which part of a list of follows, and which end first.
#[derive(Debug, Args)]
pub(super) struct Span {
    /// Order of the list, by when USER followed, or was followed
    #[arg(long)]
    order: Option<ListOrder>,
    /// Only follows of this time or later: RFC 3339, or Unix time of 10 (s), 13 (ms) or 16 (µs) digits
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    pub(super) from: Option<Timestamp>,
    /// Only follows before this time
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    pub(super) before: Option<Timestamp>,
}

impl Span {
    pub(super) fn order(&self) -> i32 {
        self.order.map(v1::ListOrder::from).unwrap_or_default().into()
    }
}

/// For whom a list is.
#[derive(Debug, Args)]
pub(super) struct Viewer {
    /// Who looks: nobody whom they blocked, or who blocked them, is shown
    #[arg(
        long = "viewer",
        value_name = "ID",
        default_value_t = 0,
        hide_default_value = true,
        allow_negative_numbers = true
    )]
    pub(super) id: i64,
}

/// How to search.
#[derive(Debug, Args)]
pub(super) struct SearchOptions {
    /// How long the server may search for each page, such as 100ms
    #[arg(long, value_name = "DURATION", value_parser = time::parse_duration)]
    pub(super) time_budget: Option<prost_types::Duration>,
    #[command(flatten)]
    pub(super) freshness: Freshness,
    #[command(flatten)]
    pub(super) paging: Paging,
}

/// The order of a list of follows.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ListOrder {
    /// The last follow first
    NewestFirst,
    /// The first follow first
    OldestFirst,
}

impl From<ListOrder> for v1::ListOrder {
    fn from(order: ListOrder) -> Self {
        match order {
            ListOrder::NewestFirst => Self::NewestFirst,
            ListOrder::OldestFirst => Self::OldestFirst,
        }
    }
}

impl List {
    pub(super) async fn following(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let client = self.call.graph().await?;
        let fetch = async |page_token| {
            let request = ListFollowingRequest {
                user_id: self.user,
                order: self.span.order(),
                followed_from: self.span.from,
                followed_before: self.span.before,
                page_size: self.paging.page_size(),
                page_token,
                consistency: self.freshness.consistency(),
                viewer_id: self.viewer.id,
            };
            client.clone().list_following(self.call.request(request)).await
        };
        self.paging.print(printer, "socialgraph.v1.ListFollowingResponse", fetch).await
    }

    pub(super) async fn followers(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let client = self.call.graph().await?;
        let fetch = async |page_token| {
            let request = ListFollowersRequest {
                user_id: self.user,
                order: self.span.order(),
                followed_from: self.span.from,
                followed_before: self.span.before,
                page_size: self.paging.page_size(),
                page_token,
                consistency: self.freshness.consistency(),
                viewer_id: self.viewer.id,
            };
            client.clone().list_followers(self.call.request(request)).await
        };
        self.paging.print(printer, "socialgraph.v1.ListFollowersResponse", fetch).await
    }
}

/// `common-follows`.
#[derive(Debug, Args)]
pub struct CommonFollows {
    /// One user
    #[arg(allow_negative_numbers = true)]
    user: i64,
    /// The other user
    #[arg(allow_negative_numbers = true)]
    other: i64,
    /// Order of the list
    #[arg(long)]
    order: Option<CommonOrder>,
    #[command(flatten)]
    viewer: Viewer,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

/// The order of the users that two users both follow.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum CommonOrder {
    /// Whom USER followed last comes first
    UserNewestFirst,
    /// Whom OTHER followed last comes first
    OtherNewestFirst,
}

impl From<CommonOrder> for v1::CommonFollowsOrder {
    fn from(order: CommonOrder) -> Self {
        match order {
            CommonOrder::UserNewestFirst => Self::UserNewestFirst,
            CommonOrder::OtherNewestFirst => Self::OtherNewestFirst,
        }
    }
}

impl CommonFollows {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let client = self.call.graph().await?;
        let SearchOptions { time_budget, freshness, paging } = &self.search;
        let fetch = async |page_token| {
            let request = CommonFollowsRequest {
                user_id: self.user,
                other_id: self.other,
                order: self.order.map(v1::CommonFollowsOrder::from).unwrap_or_default().into(),
                page_size: paging.page_size(),
                page_token,
                time_budget: *time_budget,
                consistency: freshness.consistency(),
                viewer_id: self.viewer.id,
            };
            client.clone().common_follows(self.call.request(request)).await
        };
        paging.print(printer, "socialgraph.v1.CommonFollowsResponse", fetch).await
    }
}
