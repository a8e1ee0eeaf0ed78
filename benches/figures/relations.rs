//! Reads over the lists of several users: how often they go to Redis and wait, and how long they take in long lists.

use std::env;

use prost_types::Duration;
use socialgraph::v1::{
    CommonFollowersRequest, GetRelationshipsRequest, KnownFollowersRequest, ListMutualsRequest,
    social_graph_client::SocialGraphClient,
};
use tasks::Tasks;
use tonic::transport::Channel;

use crate::{
    Result, calls, ids,
    machine::own_cpu_seconds,
    proxy::{self, DELAY},
    slowlog,
    stage::{self, Stage},
    star::{SIZE, USUAL_SIZE},
    times::{Times, time},
};

/// Background work is no part of a call.
const SLOW_SETTINGS: [(&str, &str); 2] = [("relay.interval", "1m"), ("relay.lease", "3m")];
const CALLS: usize = 40;
const SLOW_CALLS: usize = 5;
const TARGETS: u64 = 200;
/// Whom the viewer follows, and followers of the popular user, half of whom are the same.
const LONG: u64 = 5_000;
/// Followers of a user between these and the star: almost as many as are read, and not asked whom they follow, for those 5,000.
const MIDDLE_FOLLOWERS: u64 = 50_000;
/// What a search may take the server.
const GOAL_MS: f64 = 20.0;
/// How often GetRelationships may go to Redis and wait.
const GOAL_TRIPS: u32 = 2;

const VIEWER: u32 = 40;
const POPULAR: u32 = 41;
const STAR: u32 = 42;
const SECOND_STAR: u32 = 43;
const FAN: u32 = 44;
const MIDDLE: u32 = 45;

const KNOWN_FOLLOWERS: &str = "socialgraph.v1.SocialGraph/KnownFollowers";

#[derive(Clone, Copy)]
enum Read {
    Relationships,
    Mutuals,
    KnownFollowers,
    KnownFollowersOfMiddle,
    KnownFollowersOfStar,
    CommonFollowers,
    CommonFollowersOfStars,
}

impl Read {
    /// Of those that need no star.
    const PLAIN: [Self; 4] = [Self::Relationships, Self::Mutuals, Self::KnownFollowers, Self::CommonFollowers];
    const ALL: [Self; 7] = [
        Self::Relationships,
        Self::Mutuals,
        Self::KnownFollowers,
        Self::KnownFollowersOfMiddle,
        Self::KnownFollowersOfStar,
        Self::CommonFollowers,
        Self::CommonFollowersOfStars,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Relationships => "GetRelationships of 200, viewer follows 5,000",
            Self::Mutuals => "ListMutuals, page of 50 of 2,500 among 5,000",
            Self::KnownFollowers => "KnownFollowers, 5,000 with 5,000",
            Self::KnownFollowersOfMiddle => "KnownFollowers, 5,000 with 50,000",
            Self::KnownFollowersOfStar => "KnownFollowers, 5,000 with the star",
            Self::CommonFollowers => "CommonFollowers, 5,000 with 5,000",
            Self::CommonFollowersOfStars => "CommonFollowers of the star and one half as large",
        }
    }

    fn method(self) -> &'static str {
        match self {
            Self::Relationships => "socialgraph.v1.SocialGraph/GetRelationships",
            Self::Mutuals => "socialgraph.v1.SocialGraph/ListMutuals",
            Self::KnownFollowers | Self::KnownFollowersOfMiddle | Self::KnownFollowersOfStar => KNOWN_FOLLOWERS,
            Self::CommonFollowers | Self::CommonFollowersOfStars => "socialgraph.v1.SocialGraph/CommonFollowers",
        }
    }

    /// One call, and whether its answer is complete.
    async fn call(self, mut graph: SocialGraphClient<Channel>, size: u64) -> Result<bool> {
        let time_budget = Some(Duration { seconds: 10, nanos: 0 });
        let [viewer, popular, middle, star, second] =
            [VIEWER, POPULAR, MIDDLE, STAR, SECOND_STAR].map(|group| ids::of_group(group, 0));
        let known = |user_id| KnownFollowersRequest { viewer_id: viewer, user_id, time_budget, ..Default::default() };
        let both = |user_id, other_id| CommonFollowersRequest { user_id, other_id, time_budget, ..Default::default() };
        match self {
            Self::Relationships => {
                // Half of them are followed, half follow, and all lie in segments.
                let target_ids = (0..TARGETS).map(|n| ids::of_group(FAN, LONG - TARGETS / 2 + n)).collect();
                let request = GetRelationshipsRequest { viewer_id: viewer, target_ids, consistency: None };
                let known = graph.get_relationships(request).await?.into_inner().relationships;
                let following = known.iter().filter(|relationship| relationship.following).count() as u64;
                calls::check(following == TARGETS / 2, "get_relationships")?;
                Ok(true)
            }
            Self::Mutuals => {
                let request = ListMutualsRequest { user_id: viewer, ..Default::default() };
                let users = graph.list_mutuals(request).await?.into_inner().users;
                calls::check(users.len() == 50, "list_mutuals")?;
                Ok(true)
            }
            Self::KnownFollowers => {
                let answer = graph.known_followers(known(popular)).await?.into_inner();
                calls::check(answer.total_count.cast_unsigned() == LONG / 2, "known_followers")?;
                Ok(answer.complete)
            }
            Self::KnownFollowersOfMiddle => {
                let answer = graph.known_followers(known(middle)).await?.into_inner();
                calls::check(answer.total_count.cast_unsigned() == LONG, "known_followers")?;
                Ok(answer.complete)
            }
            Self::KnownFollowersOfStar => {
                let answer = graph.known_followers(known(star)).await?.into_inner();
                calls::check(answer.total_count.cast_unsigned() == LONG.min(size), "known_followers")?;
                Ok(answer.complete)
            }
            Self::CommonFollowers => {
                let answer = graph.common_followers(both(popular, viewer)).await?.into_inner();
                calls::check(answer.total_count.cast_unsigned() == LONG / 2, "common_followers")?;
                Ok(answer.complete)
            }
            Self::CommonFollowersOfStars => {
                let answer = graph.common_followers(both(star, second)).await?.into_inner();
                calls::check(answer.total_count.cast_unsigned() == size / 2, "common_followers")?;
                Ok(answer.complete)
            }
        }
    }
}

/// Measures all and prints the tables.
pub(crate) async fn print() -> Result<()> {
    let size = match env::var(SIZE) {
        Ok(text) => text.parse().map_err(|error| format!("{SIZE}: {error}"))?,
        Err(_) => USUAL_SIZE,
    };
    println!(
        "\nReads over several lists. The star has {size} followers. Client, server and three Redis share the machine."
    );
    println!(
        "Trips: a call through proxies that delay everything by {} ms each way, in units of {} ms; the least of {SLOW_CALLS}.\n",
        DELAY.as_millis(),
        2 * DELAY.as_millis()
    );
    trips().await?;

    let cluster = stage::start_cluster().await?;
    let addresses = cluster.addresses();
    let stage = Stage::over(cluster, &addresses, Tasks::new(), &[]).await?;
    import(&stage, plain_edges()).await?;
    let fan = |n| ids::of_group(FAN, n);
    import(&stage, (0..MIDDLE_FOLLOWERS).map(move |n| (fan(n), ids::of_group(MIDDLE, 0)))).await?;
    import(&stage, (0..size).map(move |n| (fan(n), ids::of_group(STAR, 0)))).await?;
    import(&stage, (0..size / 2).map(move |n| (fan(2 * n), ids::of_group(SECOND_STAR, 0)))).await?;
    latencies(&stage, size).await?;
    stage.stop().await;
    Ok(())
}

/// How long all calls take, and what of it is work.
async fn latencies(stage: &Stage, size: u64) -> Result<()> {
    slowlog::reset(&stage.nodes).await?;
    println!(
        "\n  {:<52}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}   ms, {CALLS} calls of one caller; means in the server, and of processor time",
        "call", "p50", "p99", "max", "server", "cpu", "of Redis"
    );
    for read in Read::ALL {
        let mut times = Times::default();
        let mut complete = read.call(stage.graph.clone(), size).await?;
        let cpu = (own_cpu_seconds(), stage.nodes.cpu_seconds().await?);
        let before = stage::served(read.method());
        for _ in 0..CALLS {
            let (took, whole) = time(read.call(stage.graph.clone(), size)).await?;
            times.push(took);
            complete &= whole;
        }
        let after = stage::served(read.method());
        let cpu = [own_cpu_seconds() - cpu.0, stage.nodes.cpu_seconds().await? - cpu.1].map(|s| s * 1e3 / CALLS as f64);
        let server = (after.1 - before.1) * 1e3 / (after.0 - before.0);
        let [p50, p99, max] = [50, 99, 100].map(|percent| times.percentile(percent) / 1e3);
        let has_goal = read.method() == KNOWN_FOLLOWERS;
        let goal = if has_goal { format!("   goal: at most {GOAL_MS} ms in the server") } else { String::new() };
        let part = if complete { "" } else { "   not complete" };
        println!(
            "  {:<52}{p50:>9.1}{p99:>9.1}{max:>9.1}{server:>9.1}{:>9.1}{:>9.1}{goal}{part}",
            read.name(),
            cpu[0],
            cpu[1]
        );
    }
    println!("\nSLOWLOG of these calls:");
    slowlog::print(&stage.nodes).await
}

/// Round trips of the calls that need no star.
async fn trips() -> Result<()> {
    let (cluster, tasks) = (stage::start_cluster().await?, Tasks::new());
    let proxies = proxy::slow_down(&cluster, &tasks).await?;
    let stage = Stage::over(cluster, &proxies, tasks, &SLOW_SETTINGS).await?;
    import(&stage, plain_edges()).await?;
    println!("  {:<52}{:>9}{:>9}", "call", "trips", "ms");
    for read in Read::PLAIN {
        let mut times = Times::default();
        for _ in 0..SLOW_CALLS {
            times.push(time(read.call(stage.graph.clone(), 0)).await?.0);
        }
        let least = times.percentile(0);
        let trips = (least / (2.0 * DELAY.as_secs_f64() * 1e6)).round();
        let has_goal = matches!(read, Read::Relationships);
        let goal = if has_goal { format!("   goal: at most {GOAL_TRIPS}") } else { String::new() };
        println!("  {:<52}{trips:>9}{:>9.1}{goal}", read.name(), least / 1e3);
    }
    stage.stop().await;
    Ok(())
}

/// The viewer follows 5,000 fans, every other of whom follows back; the popular user is followed by half of these, and by as many others.
fn plain_edges() -> impl Iterator<Item = (i64, i64)> {
    let [viewer, popular] = [VIEWER, POPULAR].map(|group| ids::of_group(group, 0));
    let fan = |n| ids::of_group(FAN, n);
    (0..LONG).flat_map(move |n| {
        // Followers of both are those with even numbers from the middle on, and so on: half of 5,000 in each pair of lists.
        [(viewer, fan(n)), (fan(2 * n), popular), (fan(n + (n % 2) * LONG), viewer)]
    })
}

async fn import(stage: &Stage, edges: impl Iterator<Item = (i64, i64)> + Send + 'static) -> Result<()> {
    let answer = stage.import(edges).await?;
    calls::check(answer.invalid + answer.self_ + answer.over_limit == 0, "import_edges")
}
