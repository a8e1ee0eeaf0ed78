//! The commands about states of users, and the end of users.

use std::time::Duration;

use clap::{Args, ValueEnum};
use socialgraph::v1::{
    DeleteUserRequest, DeleteUserResponse, GetOperationRequest, GetOperationResponse, Operation, OperationState,
    SetUserStateRequest, SetUserStateResponse, UserState, get_operation_request::Target,
    social_graph_client::SocialGraphClient,
};
use tokio::time::sleep;
use tonic::transport::Channel;

use super::{CallOptions, Error, print::Printer};

/// How often to ask how far an operation is.
const POLL: Duration = Duration::from_millis(500);

/// `set-user-state`.
#[derive(Debug, Args)]
pub struct SetUserState {
    /// Whose state
    #[arg(allow_negative_numbers = true)]
    user: i64,
    /// Which
    state: State,
    /// Wait until all edges of the user are moved
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum State {
    Active,
    Suspended,
    Deactivated,
}

impl SetUserState {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let state = match self.state {
            State::Active => UserState::Active,
            State::Suspended => UserState::Suspended,
            State::Deactivated => UserState::Deactivated,
        };
        let mut client = self.call.graph().await?;
        let request = self.call.request(SetUserStateRequest { user_id: self.user, state: state.into() });
        let SetUserStateResponse { operation } = client.set_user_state(request).await?.into_inner();
        print_last(printer, &mut client, &self.call, operation, self.wait).await
    }
}

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
        let DeleteUserResponse { operation } = client.delete_user(request).await?.into_inner();
        print_last(printer, &mut client, &self.call, operation, self.wait).await
    }
}

/// Prints an operation, at its end if that is to be waited for.
async fn print_last(
    printer: &mut Printer<'_>,
    client: &mut SocialGraphClient<Channel>,
    call: &CallOptions,
    mut operation: Option<Operation>,
    wait: bool,
) -> Result<(), Error> {
    while let Some(running) =
        operation.as_ref().filter(|operation| wait && operation.state() == OperationState::Running)
    {
        sleep(POLL).await;
        let target = Target::UserId(running.user_id);
        operation = get(client, call, target).await?.operation;
    }
    printer.message("socialgraph.v1.Operation", &operation.unwrap_or_default())
}

/// `operation`.
#[derive(Debug, Args)]
pub struct GetOperation {
    /// The operation's id, as delete-user and set-user-state print it
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

/// As `set-user-state` takes it.
pub(super) fn state_name(state: UserState) -> &'static str {
    match state {
        UserState::Unspecified => "unknown",
        UserState::Active => "active",
        UserState::Suspended => "suspended",
        UserState::Deactivated => "deactivated",
    }
}

async fn get(
    client: &mut SocialGraphClient<Channel>,
    call: &CallOptions,
    target: Target,
) -> Result<GetOperationResponse, Error> {
    let request = call.request(GetOperationRequest { target: Some(target) });
    Ok(client.get_operation(request).await?.into_inner())
}
