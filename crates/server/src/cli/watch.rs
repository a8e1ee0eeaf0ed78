//! `watch`: prints changes as they happen.

use clap::Args;
use prost_types::Timestamp;
use socialgraph::v1::{
    BlockBegan, BlockEnded, FollowBegan, FollowEnded, MuteBegan, MuteEnded, RelationshipChange, UserWasDeleted,
    WatchRelationshipsRequest, WatchRelationshipsResponse, relationship_change::Change,
    social_graph_client::SocialGraphClient,
};
use tonic::{Status, transport::Channel};

use super::{Error, Target, lifecycle::state_name, print::Printer, retry::Retries, time};

const MESSAGE: &str = "socialgraph.v1.WatchRelationshipsResponse";

/// `watch`.
///
/// Each line is a change: TIME followed|unfollowed|put-aside|restored FOLLOWER FOLLOWEE SINCE [SOURCE], TIME blocked|unblocked|unmuted USER OTHER
/// SINCE, TIME muted USER OTHER SINCE [UNTIL], TIME state USER STATE, or TIME deleted USER, separated by tabs. A line of the snapshot has
/// `follows` instead. With --json, each line is a message of the server, with its token. When the server is away or
/// stops, the watch waits for up to half a minute and then goes on where it was.
#[derive(Debug, Args)]
pub struct Watch {
    /// Go on after the message that had this token; without it, from now on
    #[arg(long, value_name = "TOKEN", default_value = "", hide_default_value = true)]
    from: String,
    /// Only changes of this user, as the follower; may be given many times
    #[arg(long = "user", value_name = "USER", allow_negative_numbers = true)]
    users: Vec<i64>,
    /// Begin with all that is there
    #[arg(long)]
    snapshot: bool,
    /// Also print the token of each message, after its changes: token TOKEN
    #[arg(long)]
    tokens: bool,
    #[command(flatten)]
    pub(super) target: Target,
}

impl Watch {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let mut client = SocialGraphClient::new(self.target.connect().await?);
        let mut request = WatchRelationshipsRequest {
            resume_token: self.from.clone(),
            user_ids: self.users.clone(),
            snapshot: self.snapshot,
            checkpoint_interval: None,
        };
        let mut retries = Retries::new();
        while let Err(status) = self.follow(&mut client, &mut request, &mut retries, printer).await? {
            retries.wait(status).await?;
        }
        Ok(())
    }

    /// Prints what comes, until the stream ends. The request becomes the one to go on with.
    async fn follow(
        &self,
        client: &mut SocialGraphClient<Channel>,
        request: &mut WatchRelationshipsRequest,
        retries: &mut Retries,
        printer: &mut Printer<'_>,
    ) -> Result<Result<(), Status>, Error> {
        let mut messages = match client.watch_relationships(request.clone()).await {
            Ok(answer) => answer.into_inner(),
            Err(status) => return Ok(Err(status)),
        };
        loop {
            match messages.message().await {
                Ok(Some(message)) => {
                    self.print(&message, printer)?;
                    printer.flush()?;
                    request.resume_token = message.resume_token;
                    retries.progressed();
                }
                Ok(None) => return Ok(Ok(())),
                Err(status) => return Ok(Err(status)),
            }
        }
    }

    fn print(&self, message: &WatchRelationshipsResponse, printer: &mut Printer<'_>) -> Result<(), Error> {
        if printer.json {
            return printer.json_line(MESSAGE, message);
        }
        for follower in message.snapshot.iter().flat_map(|snapshot| &snapshot.followers) {
            for followee in &follower.followees {
                let since = at(followee.followed_at);
                writeln!(printer.out, "-\tfollows\t{}\t{}\t{since}", follower.follower_id, followee.user_id)?;
            }
        }
        for change in &message.changes {
            writeln!(printer.out, "{}", line(change))?;
        }
        if self.tokens {
            writeln!(printer.out, "token {}", message.resume_token)?;
        }
        Ok(())
    }
}

fn line(RelationshipChange { change, version, changed_at }: &RelationshipChange) -> String {
    let text = match change {
        Some(Change::Followed(FollowBegan { follower_id, followee_id, followed_at, source, restored })) => {
            let source = if source.is_empty() { String::new() } else { format!("\t{source}") };
            let kind = if *restored { "restored" } else { "followed" };
            format!("{kind}\t{follower_id}\t{followee_id}\t{}{source}", at(*followed_at))
        }
        Some(Change::Unfollowed(FollowEnded { follower_id, followee_id, followed_at, put_aside })) => {
            let kind = if *put_aside { "put-aside" } else { "unfollowed" };
            format!("{kind}\t{follower_id}\t{followee_id}\t{}", at(*followed_at))
        }
        Some(Change::UserStateSet(change)) => {
            format!("state\t{}\t{}", change.user_id, state_name(change.state()))
        }
        Some(Change::UserDeleted(UserWasDeleted { user_id })) => format!("deleted\t{user_id}"),
        Some(Change::Blocked(BlockBegan { user_id, blocked_id, blocked_at })) => {
            format!("blocked\t{user_id}\t{blocked_id}\t{}", at(*blocked_at))
        }
        Some(Change::Unblocked(BlockEnded { user_id, blocked_id, blocked_at })) => {
            format!("unblocked\t{user_id}\t{blocked_id}\t{}", at(*blocked_at))
        }
        Some(Change::Muted(MuteBegan { user_id, muted_id, muted_at, muted_until })) => {
            let until = muted_until.map(|until| format!("\t{}", at(Some(until)))).unwrap_or_default();
            format!("muted\t{user_id}\t{muted_id}\t{}{until}", at(*muted_at))
        }
        Some(Change::Unmuted(MuteEnded { user_id, muted_id, muted_at })) => {
            format!("unmuted\t{user_id}\t{muted_id}\t{}", at(*muted_at))
        }
        // Of a newer server.
        None => format!("changed\t{version}"),
    };
    format!("{}\t{text}", at(*changed_at))
}

fn at(time: Option<Timestamp>) -> String {
    time::micros(time.unwrap_or_default())
}
