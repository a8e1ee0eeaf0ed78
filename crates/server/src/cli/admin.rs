//! The commands for operators.

use clap::Args;
use socialgraph::admin::v1::{
    GetTopologyRequest, InspectUserRequest, RepairUserRequest, VerifyUserRequest, VerifyUserResponse,
    admin_client::AdminClient,
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
        let mut sum = VerifyUserResponse::default();
        let mut listing = printer.listing("socialgraph.admin.v1.VerifyUserResponse")?;
        loop {
            let page = self.page(&mut client, sum.next_page_token).await?;
            sum = VerifyUserResponse {
                drifts: Vec::new(),
                drift_count: sum.drift_count + page.drift_count,
                edges_checked: sum.edges_checked + page.edges_checked,
                edges_in_flight: sum.edges_in_flight + page.edges_in_flight,
                counts_unknown: sum.counts_unknown + page.counts_unknown,
                next_page_token: page.next_page_token.clone(),
            };
            listing.page(&page)?;
            if sum.next_page_token.is_empty() {
                break;
            }
        }
        let message = listing.page(&sum)?;
        listing.finish(&message)?;
        if self.repair || sum.drift_count == 0 { Ok(()) } else { Err(Error::Drift { drifts: sum.drift_count }) }
    }

    async fn page(&self, client: &mut AdminClient<Channel>, page_token: String) -> Result<VerifyUserResponse, Error> {
        let (user_id, page_size) = (self.user, self.page_size);
        if !self.repair {
            let request = self.call.request(VerifyUserRequest { user_id, page_size, page_token });
            return Ok(client.verify_user(request).await?.into_inner());
        }
        let request = self.call.request(RepairUserRequest { user_id, page_size, page_token });
        let page = client.repair_user(request).await?.into_inner();
        Ok(VerifyUserResponse {
            drifts: page.drifts,
            drift_count: page.drift_count,
            edges_checked: page.edges_checked,
            edges_in_flight: page.edges_in_flight,
            counts_unknown: page.counts_unknown,
            next_page_token: page.next_page_token,
        })
    }
}
