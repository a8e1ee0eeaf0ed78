//! The commands about blocks and mutes.

use clap::Args;
use socialgraph::v1::{BlockRequest, ListBlockedRequest, ListMutedRequest, MuteRequest, UnblockRequest, UnmuteRequest};

use super::{CallOptions, Error, freshness::Freshness, lists::Paging, print::Printer, time};

/// `block`, `unblock` and `unmute`.
#[derive(Debug, Args)]
pub struct Pair {
    /// Who
    #[arg(allow_negative_numbers = true)]
    user: i64,
    /// Whom
    #[arg(allow_negative_numbers = true)]
    other: i64,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl Pair {
    pub(super) async fn block(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let request = BlockRequest { user_id: self.user, blocked_id: self.other };
        let answer = self.call.graph().await?.block(self.call.request(request)).await?;
        printer.message("socialgraph.v1.BlockResponse", answer.get_ref())
    }

    pub(super) async fn unblock(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let request = UnblockRequest { user_id: self.user, blocked_id: self.other };
        let answer = self.call.graph().await?.unblock(self.call.request(request)).await?;
        printer.message("socialgraph.v1.UnblockResponse", answer.get_ref())
    }

    pub(super) async fn unmute(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let request = UnmuteRequest { user_id: self.user, muted_id: self.other };
        let answer = self.call.graph().await?.unmute(self.call.request(request)).await?;
        printer.message("socialgraph.v1.UnmuteResponse", answer.get_ref())
    }
}

/// `mute`.
#[derive(Debug, Args)]
pub struct Mute {
    /// Who mutes
    #[arg(allow_negative_numbers = true)]
    user: i64,
    /// Whom
    #[arg(allow_negative_numbers = true)]
    muted: i64,
    /// Until when, such as 2026-12-01T08:00:00Z; for good if it is left out
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    until: Option<prost_types::Timestamp>,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl Mute {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let request = MuteRequest { user_id: self.user, muted_id: self.muted, muted_until: self.until };
        let answer = self.call.graph().await?.mute(self.call.request(request)).await?;
        printer.message("socialgraph.v1.MuteResponse", answer.get_ref())
    }
}

/// `list-blocked` and `list-muted`.
#[derive(Debug, Args)]
pub struct Marks {
    /// Whose
    #[arg(allow_negative_numbers = true)]
    user: i64,
    #[command(flatten)]
    freshness: Freshness,
    #[command(flatten)]
    paging: Paging,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl Marks {
    pub(super) async fn blocked(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let client = self.call.graph().await?;
        let fetch = async |page_token| {
            let (page_size, consistency) = (self.paging.page_size(), self.freshness.consistency());
            let request = ListBlockedRequest { user_id: self.user, page_size, page_token, consistency };
            client.clone().list_blocked(self.call.request(request)).await
        };
        self.paging.print(printer, "socialgraph.v1.ListBlockedResponse", fetch).await
    }

    pub(super) async fn muted(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let client = self.call.graph().await?;
        let fetch = async |page_token| {
            let (page_size, consistency) = (self.paging.page_size(), self.freshness.consistency());
            let request = ListMutedRequest { user_id: self.user, page_size, page_token, consistency };
            client.clone().list_muted(self.call.request(request)).await
        };
        self.paging.print(printer, "socialgraph.v1.ListMutedResponse", fetch).await
    }
}
