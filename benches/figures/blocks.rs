//! How long blocks take, and follows where their number an hour is limited, beside plain follows.

use socialgraph::v1::{BlockRequest, FollowRequest, UnblockRequest, social_graph_client::SocialGraphClient};
use tonic::transport::Channel;

use crate::{
    Result, calls, ids, slowlog,
    stage::{self, Stage},
    times::{Times, time},
};

/// The kinds take turns, so that what else the machine does hits all.
const TURNS: u64 = 5;
const CALLS_A_TURN: u64 = 200;

const USER: u32 = 50;
const OTHER: u32 = 51;

/// What is measured. Pairs of users that are followed, blocked and unblocked in this order.
const ROWS: [&str; 6] = [
    "Follow",
    "Follow, with follows-per-hour",
    "Block of who is followed and follows",
    "Block of a stranger",
    "Block again",
    "Unblock",
];

/// Measures all and prints the table.
pub(crate) async fn print() -> Result<()> {
    println!("\nBlocks: {} calls each, in turns, in microseconds.\n", TURNS * CALLS_A_TURN);
    println!("  {:<40}{:>8}{:>8}{:>16}", "", "p50", "p99", "p50 to Follow's");
    let plain = Stage::start().await?;
    let cluster = stage::start_cluster().await?;
    let addresses = cluster.addresses();
    let settings = [("limits.follows-per-hour", "100000")];
    let limited = Stage::over(cluster, &addresses, tasks::Tasks::new(), &settings).await?;
    let mut times: [Times; ROWS.len()] = Default::default();
    for n in 0..TURNS {
        turn(n * CALLS_A_TURN, &plain.graph, &limited.graph, &mut times).await?;
    }
    let of_follow = times[0].percentile(50);
    for (row, times) in ROWS.iter().zip(&mut times) {
        let (p50, p99) = (times.percentile(50), times.percentile(99));
        println!("  {row:<40}{p50:>8.0}{p99:>8.0}{:>16.2}", p50 / of_follow);
    }
    println!("\nSLOWLOG of these calls:");
    slowlog::print(&plain.nodes).await?;
    slowlog::print(&limited.nodes).await?;
    plain.stop().await;
    limited.stop().await;
    Ok(())
}

type Client = SocialGraphClient<Channel>;

async fn turn(first: u64, plain: &Client, limited: &Client, times: &mut [Times; ROWS.len()]) -> Result<()> {
    for n in first..first + CALLS_A_TURN {
        let (user, other) = (ids::of_group(USER, n), ids::of_group(OTHER, n));
        let stranger = ids::of_group(OTHER, (1 << 20) + n);
        let measured = [
            time(follow(plain, user, other)).await?.0,
            time(follow(limited, user, other)).await?.0,
            {
                follow(plain, other, user).await?;
                time(block(plain, user, other, true)).await?.0
            },
            time(block(plain, user, stranger, true)).await?.0,
            time(block(plain, user, other, false)).await?.0,
            time(unblock(plain, user, other)).await?.0,
        ];
        times.iter_mut().zip(measured).for_each(|(times, micros)| times.push(micros));
    }
    Ok(())
}

async fn follow(graph: &Client, follower_id: i64, followee_id: i64) -> Result<()> {
    let request = FollowRequest { follower_id, followee_id, source: String::new() };
    calls::check(graph.clone().follow(request).await?.into_inner().created, "follow")
}

async fn block(graph: &Client, user_id: i64, blocked_id: i64, is_new: bool) -> Result<()> {
    let answer = graph.clone().block(BlockRequest { user_id, blocked_id }).await?.into_inner();
    calls::check(answer.created == is_new && !answer.followers_pending, "block")
}

async fn unblock(graph: &Client, user_id: i64, blocked_id: i64) -> Result<()> {
    let answer = graph.clone().unblock(UnblockRequest { user_id, blocked_id }).await?.into_inner();
    calls::check(answer.removed, "unblock")
}
