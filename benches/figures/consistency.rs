//! What it costs a read to be as fresh as it is asked to be.

use socialgraph::v1::{
    Consistency, FollowRequest, IsFollowingRequest, ListFollowingRequest, consistency::Requirement,
    social_graph_client::SocialGraphClient,
};
use tonic::transport::Channel;

use crate::{
    Result, calls, ids,
    stage::Stage,
    times::{Times, time},
};

const TURNS: u64 = 20;
/// Calls of each read and each consistency in a turn.
const CALLS: u64 = 50;
const READER: u32 = 50;
const FOLLOWED: u32 = 51;
/// Whom the readers follow at first: one a few, the other many.
const SIZES: [u64; 2] = [10, 5_000];

#[derive(Clone, Copy)]
enum Read {
    IsFollowing,
    ListFollowing,
}

impl Read {
    fn name(self) -> &'static str {
        match self {
            Self::IsFollowing => "IsFollowing",
            Self::ListFollowing => "ListFollowing, page of 50",
        }
    }

    async fn call(self, mut graph: SocialGraphClient<Channel>, reader: u64, requirement: Requirement) -> Result<()> {
        let consistency = Some(Consistency { requirement: Some(requirement) });
        let user_id = ids::of_group(READER, reader);
        match self {
            Self::IsFollowing => {
                let followee_id = followed(reader, 0);
                let request = IsFollowingRequest { follower_id: user_id, followee_id, consistency };
                calls::check(graph.is_following(request).await?.into_inner().following, "is_following")
            }
            Self::ListFollowing => {
                let request = ListFollowingRequest { user_id, consistency, ..Default::default() };
                let listed = graph.list_following(request).await?.into_inner().users.len() as u64;
                calls::check(listed >= SIZES[reader as usize].min(50), "list_following")
            }
        }
    }
}

/// Measures all reads by all consistencies and prints the table.
pub(crate) async fn print() -> Result<()> {
    println!(
        "\nConsistency: reads of one caller in microseconds, {} calls each, in turns. The token is that of the reader's own last",
        TURNS * CALLS
    );
    println!("Follow; every read goes to primaries, so that the two others are the same read.\n");
    println!("  {:<46}{:>22}{:>22}{:>22}", "", "minimize_latency", "at_least_as_fresh", "fully_consistent");
    println!(
        "  {:<46}{:>11}{:>11}{:>11}{:>11}{:>11}{:>11}   ratios of p50 to the first",
        "read", "p50", "p99", "p50", "p99", "p50", "p99"
    );
    let stage = Stage::start().await?;
    for (reader, size) in (0..).zip(SIZES) {
        let user = ids::of_group(READER, reader);
        stage.import((0..size).map(move |n| (user, followed(reader, n)))).await?;
        for read in [Read::IsFollowing, Read::ListFollowing] {
            let [latency, token, full] = measure(&stage, read, reader).await?;
            let columns = [&latency, &token, &full].map(|t| format!("{:>11.0}{:>11.0}", t.median(), t.percentile(99)));
            let ratio = |times: &Times| times.median() / latency.median();
            println!(
                "  {:<46}{}   {:.2}, {:.2}",
                format!("{}, of {size} followed", read.name()),
                columns.concat(),
                ratio(&token),
                ratio(&full),
            );
        }
    }
    stage.stop().await;
    Ok(())
}

/// The times by each consistency, which take turns call by call.
async fn measure(stage: &Stage, read: Read, reader: u64) -> Result<[Times; 3]> {
    let mut times = [Times::default(), Times::default(), Times::default()];
    for turn in 0..TURNS {
        let token = write(stage, read, reader, turn).await?;
        let requirements = [
            Requirement::MinimizeLatency(true),
            Requirement::AtLeastAsFresh(token),
            Requirement::FullyConsistent(true),
        ];
        for _ in 0..CALLS {
            for (times, requirement) in times.iter_mut().zip(&requirements) {
                times.push(time(read.call(stage.graph.clone(), reader, requirement.clone())).await?.0);
            }
        }
    }
    Ok(times)
}

/// A follow of the reader; gives its token.
async fn write(stage: &Stage, read: Read, reader: u64, turn: u64) -> Result<String> {
    let number = SIZES[reader as usize] + read as u64 * TURNS + turn;
    let (follower_id, followee_id) = (ids::of_group(READER, reader), followed(reader, number));
    let request = FollowRequest { follower_id, followee_id, source: String::new() };
    let answer = stage.graph.clone().follow(request).await?.into_inner();
    calls::check(answer.created, "follow")?;
    Ok(answer.consistency_token)
}

fn followed(reader: u64, n: u64) -> i64 {
    ids::of_group(FOLLOWED, (reader << 20) + n)
}
