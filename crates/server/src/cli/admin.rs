//! The commands for operators.

use clap::Args;
use socialgraph::admin::v1::{
    Findings, GetTopologyRequest, InspectUserRequest, RepairUserRequest, VerifyUserRequest, admin_client::AdminClient,
};
use tonic::transport::Channel;

use super::{Error, options::AdminCallOptions, print::Printer};

/// `topology`.
#[derive(Debug, Args)]
pub struct Topology {
    #[command(flatten)]
    pub(super) call: AdminCallOptions,
}

impl Topology {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let answer = self.call.admin().await?.get_topology(self.call.request(GetTopologyRequest {})).await?;
        printer.message("socialgraph.admin.v1.GetTopologyResponse", answer.get_ref())
    }
}

/// `keys`.
#[derive(Debug, Args)]
pub struct Keys {
    /// Whose keys to list
    #[arg(allow_negative_numbers = true)]
    user: i64,
    #[command(flatten)]
    pub(super) call: AdminCallOptions,
}

impl Keys {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let request = InspectUserRequest { user_id: self.user };
        let answer = self.call.admin().await?.inspect_user(self.call.request(request)).await?;
        printer.message("socialgraph.admin.v1.InspectUserResponse", answer.get_ref())
    }
}

/// `verify`.
#[derive(Debug, Args)]
pub struct Verify {
    /// Whose edges to look at
    #[arg(allow_negative_numbers = true)]
    user: i64,
    /// Mend what is wrong
    #[arg(long)]
    repair: bool,
    /// Edges of one call: 1 to 50,000, or 0 for 10,000
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    page_size: i32,
    #[command(flatten)]
    pub(super) call: AdminCallOptions,
}

impl Verify {
    /// Goes through all pages, and prints them as one, with sums. Fails if there is drift that was not mended.
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let mut client = self.call.admin().await?;
        let (mut sum, mut page_token) = (Findings::default(), String::new());
        let mut listing = printer.listing("socialgraph.admin.v1.Findings")?;
        loop {
            let page;
            (page, page_token) = self.page(&mut client, page_token).await?;
            sum.drift_count += page.drift_count;
            sum.edges_checked += page.edges_checked;
            sum.edges_in_flight += page.edges_in_flight;
            sum.counts_unknown += page.counts_unknown;
            listing.page(&page)?;
            if page_token.is_empty() {
                break;
            }
        }
        let message = listing.page(&sum)?;
        listing.finish(&message)?;
        if self.repair || sum.drift_count == 0 { Ok(()) } else { Err(Error::Drift { drifts: sum.drift_count }) }
    }

    /// What one call found, and the token of the next.
    async fn page(&self, client: &mut AdminClient<Channel>, page_token: String) -> Result<(Findings, String), Error> {
        let (user_id, page_size) = (self.user, self.page_size);
        let (findings, next_page_token) = if self.repair {
            let request = self.call.request(RepairUserRequest { user_id, page_size, page_token });
            let page = client.repair_user(request).await?.into_inner();
            (page.findings, page.next_page_token)
        } else {
            let request = self.call.request(VerifyUserRequest { user_id, page_size, page_token });
            let page = client.verify_user(request).await?.into_inner();
            (page.findings, page.next_page_token)
        };
        Ok((findings.unwrap_or_default(), next_page_token))
    }
}
