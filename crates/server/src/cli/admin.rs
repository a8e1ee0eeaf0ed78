//! The commands for operators.

use clap::Args;
use socialgraph::admin::v1::InspectUserRequest;

use super::{Error, options::AdminCallOptions, print::Printer};

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
