//! The client subcommands: one for each call, for people without grpcurl.

mod admin;
mod batches;
mod blocks;
mod calls;
mod cells;
mod error;
mod export;
mod feed;
mod freshness;
mod import;
mod lifecycle;
mod lists;
mod options;
mod posts;
mod print;
mod recommend;
mod relations;
mod retry;
mod time;
mod watch;

use std::{
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

use clap::Subcommand;

use self::print::Printer;
pub use self::{
    admin::{Keys, Topology, Verify},
    batches::{BatchFollow, BatchUnfollow},
    blocks::{Marks, Mute, Pair},
    calls::{BatchIsFollowing, Counts, Follow, IsFollowing, Unfollow},
    error::Error,
    export::Export,
    feed::{Publish, Scroll},
    import::Import,
    lifecycle::{DeleteUser, GetOperation, SetUserState},
    lists::{CommonFollows, List},
    options::{AdminCallOptions, AdminTarget, CallOptions, Target},
    posts::{DeletePost, GetDelivery, GetPosts, Like, ListPosts},
    recommend::{Dismiss, Recommend},
    relations::{CommonFollowers, KnownFollowers, Mutuals, Relationships},
    watch::Watch,
};

/// A subcommand that talks to a running server.
#[derive(Debug, Subcommand)]
pub enum ClientCommand {
    /// Make one user follow another
    Follow(Follow),
    /// End a follow
    Unfollow(Unfollow),
    /// Make one user follow others
    BatchFollow(BatchFollow),
    /// End follows of one user
    BatchUnfollow(BatchUnfollow),
    /// Tell whether one user follows another, and since when
    IsFollowing(IsFollowing),
    /// Tell whether one user follows each of others
    BatchIsFollowing(BatchIsFollowing),
    /// List whom both of two users follow
    CommonFollows(CommonFollows),
    /// Tell how one user and each of others stand to each other
    Relationships(Relationships),
    /// List who follows a user and is followed back
    Mutuals(Mutuals),
    /// List those followers of a user whom another one follows
    KnownFollowers(KnownFollowers),
    /// List who follows both of two users
    CommonFollowers(CommonFollowers),
    /// List whom a user follows
    ListFollowing(List),
    /// List a user's followers
    ListFollowers(List),
    /// Make one user block another, which ends the follows of both
    Block(Pair),
    /// End a block
    Unblock(Pair),
    /// List whom a user blocks
    ListBlocked(Marks),
    /// Make one user mute another, whose posts are not in the user's feed then
    Mute(Mute),
    /// End a mute
    Unmute(Pair),
    /// List whom a user mutes
    ListMuted(Marks),
    /// Recommend whom a user may want to follow
    Recommend(Recommend),
    /// Never recommend somebody to a user again
    Dismiss(Dismiss),
    /// Publish a post
    Publish(Publish),
    /// Delete a post
    DeletePost(DeletePost),
    /// Make a user like a post
    Like(Like),
    /// Take a like back
    Unlike(Like),
    /// Tell how far a post is on its way to the followers
    Delivery(GetDelivery),
    /// Print posts by their names
    GetPosts(GetPosts),
    /// List a user's posts
    ListPosts(ListPosts),
    /// Read a user's feed
    Scroll(Scroll),
    /// Count the followees, followers and posts of users
    Counts(Counts),
    /// Import a file of follows
    Import(Import),
    /// Write all follows as a file that import reads
    Export(Export),
    /// Print changes of who follows whom as they happen
    Watch(Watch),
    /// Make a user active, suspended or deactivated
    SetUserState(SetUserState),
    /// Delete a user
    DeleteUser(DeleteUser),
    /// Tell how far an operation is, such as a deletion
    Operation(GetOperation),
    /// List a user's keys in Redis
    Keys(Keys),
    /// Tell where the graph lies, who looks after it, and what is left to do
    Topology(Topology),
    /// Compare what is stored twice of a user's edges; exits with 1 if there is drift that is not mended
    Verify(Verify),
}

impl ClientCommand {
    fn is_json(&self) -> bool {
        match self {
            Self::Follow(command) => command.call.target.json,
            Self::Unfollow(command) => command.call.target.json,
            Self::BatchFollow(command) => command.call.target.json,
            Self::BatchUnfollow(command) => command.call.target.json,
            Self::IsFollowing(command) => command.call.target.json,
            Self::BatchIsFollowing(command) => command.call.target.json,
            Self::CommonFollows(command) => command.call.target.json,
            Self::Relationships(command) => command.call.target.json,
            Self::Mutuals(command) => command.call.target.json,
            Self::KnownFollowers(command) => command.call.target.json,
            Self::CommonFollowers(command) => command.call.target.json,
            Self::ListFollowing(command) => command.call.target.json,
            Self::ListFollowers(command) => command.call.target.json,
            Self::Block(command) => command.call.target.json,
            Self::Unblock(command) => command.call.target.json,
            Self::ListBlocked(command) => command.call.target.json,
            Self::Mute(command) => command.call.target.json,
            Self::Unmute(command) => command.call.target.json,
            Self::ListMuted(command) => command.call.target.json,
            Self::Recommend(command) => command.call.target.json,
            Self::Dismiss(command) => command.call.target.json,
            Self::Publish(command) => command.call.target.json,
            Self::DeletePost(command) => command.call.target.json,
            Self::Like(command) => command.call.target.json,
            Self::Unlike(command) => command.call.target.json,
            Self::Delivery(command) => command.call.target.json,
            Self::GetPosts(command) => command.call.target.json,
            Self::ListPosts(command) => command.call.target.json,
            Self::Scroll(command) => command.call.target.json,
            Self::Counts(command) => command.call.target.json,
            Self::Import(command) => command.target.json,
            Self::Export(command) => command.target.json,
            Self::Watch(command) => command.target.json,
            Self::SetUserState(command) => command.call.target.json,
            Self::DeleteUser(command) => command.call.target.json,
            Self::Operation(command) => command.call.target.json,
            Self::Keys(command) => command.call.target.json,
            Self::Topology(command) => command.call.target.json,
            Self::Verify(command) => command.call.target.json,
        }
    }
}

/// Runs a command against standard output and standard error; see [`execute`].
pub async fn run(command: ClientCommand) -> ExitCode {
    execute(command, &mut io::stdout(), &mut io::stderr()).await
}

/// Runs a command: the answer goes to `out`, a failure to `err`, as JSON if the command says so.
///
/// The exit code is 0 when the command did all that was asked. Bad rows of an import are counted and named and leave it 0;
/// it is 1 when the call failed or the input could not be read to its end.
pub async fn execute(command: ClientCommand, out: &mut (dyn Write + Send), err: &mut (dyn Write + Send)) -> ExitCode {
    let json = command.is_json();
    let mut printer = Printer::new(out, json);
    let done = match dispatch(command, &mut printer).await {
        Ok(()) => printer.flush(),
        Err(error) => {
            // What was printed before the failure, such as the first pages of a list, is still good.
            printer.flush().and(Err(error))
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // `socialgraph list-followers 1 --all | head` has what it wants.
        Err(Error::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to tell if standard error is gone as well.
            let _ = error.report(err, json);
            ExitCode::FAILURE
        }
    }
}

async fn dispatch(command: ClientCommand, printer: &mut Printer<'_>) -> Result<(), Error> {
    match command {
        ClientCommand::Follow(command) => command.run(printer).await,
        ClientCommand::Unfollow(command) => command.run(printer).await,
        ClientCommand::BatchFollow(command) => command.run(printer).await,
        ClientCommand::BatchUnfollow(command) => command.run(printer).await,
        ClientCommand::IsFollowing(command) => command.run(printer).await,
        ClientCommand::BatchIsFollowing(command) => command.run(printer).await,
        ClientCommand::CommonFollows(command) => command.run(printer).await,
        ClientCommand::Relationships(command) => command.run(printer).await,
        ClientCommand::Mutuals(command) => command.run(printer).await,
        ClientCommand::KnownFollowers(command) => command.run(printer).await,
        ClientCommand::CommonFollowers(command) => command.run(printer).await,
        ClientCommand::ListFollowing(command) => command.following(printer).await,
        ClientCommand::ListFollowers(command) => command.followers(printer).await,
        ClientCommand::Block(command) => command.block(printer).await,
        ClientCommand::Unblock(command) => command.unblock(printer).await,
        ClientCommand::ListBlocked(command) => command.blocked(printer).await,
        ClientCommand::Mute(command) => command.run(printer).await,
        ClientCommand::Unmute(command) => command.unmute(printer).await,
        ClientCommand::ListMuted(command) => command.muted(printer).await,
        ClientCommand::Recommend(command) => command.run(printer).await,
        ClientCommand::Dismiss(command) => command.run(printer).await,
        ClientCommand::Publish(command) => command.run(printer).await,
        ClientCommand::DeletePost(command) => command.run(printer).await,
        ClientCommand::Like(command) => command.like(printer).await,
        ClientCommand::Unlike(command) => command.unlike(printer).await,
        ClientCommand::Delivery(command) => command.run(printer).await,
        ClientCommand::GetPosts(command) => command.run(printer).await,
        ClientCommand::ListPosts(command) => command.run(printer).await,
        ClientCommand::Scroll(command) => command.run(printer).await,
        ClientCommand::Counts(command) => command.run(printer).await,
        ClientCommand::Import(command) => command.run(printer).await,
        ClientCommand::Export(command) => command.run(printer).await,
        ClientCommand::Watch(command) => command.run(printer).await,
        ClientCommand::SetUserState(command) => command.run(printer).await,
        ClientCommand::DeleteUser(command) => command.run(printer).await,
        ClientCommand::Operation(command) => command.run(printer).await,
        ClientCommand::Keys(command) => command.run(printer).await,
        ClientCommand::Topology(command) => command.run(printer).await,
        ClientCommand::Verify(command) => command.run(printer).await,
    }
}

/// Rows a second, rounded down.
fn rate(rows: u64, elapsed: Duration) -> u64 {
    let micros = elapsed.as_micros().max(1);
    u64::try_from(u128::from(rows) * 1_000_000 / micros).unwrap_or(u64::MAX)
}
