//! The commands about the end of users.

use std::time::Duration;

use clap::Args;
use socialgraph::v1::{
    DeleteUserRequest, DeleteUserResponse, GetOperationRequest, GetOperationResponse, Operation, OperationState,
    get_operation_request::Target, social_graph_client::SocialGraphClient,
};
use tokio::time::sleep;
use tonic::transport::Channel;

use super::{CallOptions, Error, print::Printer};

/// How often to ask how far an operation is.
const POLL: Duration = Duration::from_millis(500);

/// `delete-user`.
#[derive(Debug, Args)]
pub struct DeleteUser {
    /// Who is deleted, for good
    #[arg(allow_negative_numbers = true)]
    user: i64,
    /// Wait until all there is of the user is removed
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl DeleteUser {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let mut client = self.call.graph().await?;
        let request = self.call.request(DeleteUserRequest { user_id: self.user });
        let DeleteUserResponse { mut operation } = client.delete_user(request).await?.into_inner();
        while self.wait && is_running(operation.as_ref()) {
            sleep(POLL).await;
            operation = get(&mut client, &self.call, Target::UserId(self.user)).await?.operation;
        }
        printer.message("socialgraph.v1.Operation", &operation.unwrap_or_default())
    }
}

/// `operation`.
#[derive(Debug, Args)]
pub struct GetOperation {
    /// The operation's id, as delete-user prints it
    id: String,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl GetOperation {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let mut client = self.call.graph().await?;
        let answer = get(&mut client, &self.call, Target::OperationId(self.id)).await?;
        printer.message("socialgraph.v1.Operation", &answer.operation.unwrap_or_default())
    }
}

fn is_running(operation: Option<&Operation>) -> bool {
    operation.is_some_and(|operation| operation.state() == OperationState::Running)
}

async fn get(
    client: &mut SocialGraphClient<Channel>,
    call: &CallOptions,
    target: Target,
) -> Result<GetOperationResponse, Error> {
    let request = call.request(GetOperationRequest { target: Some(target) });
    Ok(client.get_operation(request).await?.into_inner())
}
