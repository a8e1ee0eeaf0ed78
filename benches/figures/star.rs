//! An account with very many followers, beside ordinary ones.

use std::{
    env,
    time::{Duration, Instant},
};

use futures::{StreamExt, TryStreamExt, stream};
use rand::{SeedableRng, rngs::StdRng, seq::index};
use socialgraph::v1::{
    BatchGetCountsRequest, DeleteUserRequest, Delivery, FollowRequest, IsFollowingRequest, ListFollowersRequest,
    PublishPostRequest, UnfollowRequest, social_graph_client::SocialGraphClient,
};
use tonic::transport::Channel;

use crate::{
    Result, calls,
    census::Census,
    ids,
    load::Load,
    slowlog,
    stage::{self, Stage},
    times::{Times, time},
};

/// How many followers the star has.
pub(crate) const SIZE: &str = "SOCIALGRAPH_BENCH_STAR";
pub(crate) const USUAL_SIZE: u64 = 1_000_000;

const STAR: u32 = 1;
const FAN: u32 = 2;
/// Accounts with a few followers each.
const ORDINARY: u32 = 3;
const FOLLOWER: u32 = 4;
/// Who follow while the calls are measured: the star, or an ordinary account.
const NEW_FAN: u32 = 5;
const NEW_FOLLOWER: u32 = 6;
const ORDINARY_ACCOUNTS: u64 = 1_000;
const FOLLOWERS: u64 = 10;

const PAGE: i32 = 500;
const PAIRS: u64 = 2_000;
const READS: u64 = 30_000;
const READS_IN_FLIGHT: usize = 32;
const SEED: u64 = 1_000_000;
/// For how long the other calls run with nothing beside them, twice.
const ALONE: Duration = Duration::from_secs(2);
const DELIVERED_WITHIN: Duration = Duration::from_secs(60);
const REMOVED_WITHIN: Duration = Duration::from_secs(600);
const REACHED: &str = "socialgraph_fanout_deliveries_total{outcome=\"no_inbox\"}";

/// Goals: how many times as long as of an ordinary account Follow and Unfollow may take.
const GOAL_FOLLOW: f64 = 1.5;
const GOAL_UNFOLLOW: f64 = 2.0;
/// Goal: how much more a primary may have to do for reads of one star than all have on average.
const GOAL_LOAD: f64 = 1.5;

/// A call about the star and the same about an ordinary account.
#[derive(Clone, Copy)]
enum Compared {
    Follow,
    Unfollow,
    IsFollowing,
    BatchGetCounts,
}

struct Star {
    stage: Stage,
    size: u64,
    /// Followers at random, over the whole list.
    chosen: Vec<u64>,
}

/// Makes a star and prints what there is to tell.
pub(crate) async fn print() -> Result<()> {
    let size = match env::var(SIZE) {
        Ok(text) => text.parse().map_err(|error| format!("{SIZE}: {error}"))?,
        Err(_) => USUAL_SIZE,
    };
    println!("\nStar: an account with {size} followers. Client, server and three Redis share the machine.");
    // Pushed, however many they are.
    let stage = Stage::with(&[("feed.pull-at", "0")]).await?;
    let chosen = index::sample(&mut StdRng::seed_from_u64(SEED), size as usize, PAIRS.min(size) as usize);
    let star = Star { stage, size, chosen: chosen.iter().map(|n| n as u64).collect() };
    star.import().await?;
    let tokens = star.list().await?;
    for compared in [Compared::IsFollowing, Compared::BatchGetCounts, Compared::Follow, Compared::Unfollow] {
        star.compare(compared).await?;
    }
    star.slowest("these calls").await?;
    star.read(&tokens).await?;
    star.publish().await?;
    println!("  Keys of lists of followers, those of {ORDINARY_ACCOUNTS} ordinary accounts and others as well:");
    Census::of_words(&star.stage.nodes, &star.stage.keyspace, &["followers", "shard"]).await?.print_spread();
    star.delete().await?;
    star.stage.stop().await;
    Ok(())
}

impl Star {
    fn graph(&self) -> SocialGraphClient<Channel> {
        self.stage.graph.clone()
    }

    async fn slowest(&self, what: &str) -> Result<()> {
        println!("  SLOWLOG of {what}:");
        slowlog::print(&self.stage.nodes).await?;
        slowlog::reset(&self.stage.nodes).await
    }

    async fn import(&self) -> Result<()> {
        let ordinary = (0..ORDINARY_ACCOUNTS * FOLLOWERS)
            .map(|n| (ids::of_group(FOLLOWER, n), ids::of_group(ORDINARY, n % ORDINARY_ACCOUNTS)));
        self.stage.import(ordinary).await?;
        Load::prepare(&self.stage.graph).await?;
        slowlog::reset(&self.stage.nodes).await?;
        let fans = (0..self.size).map(|n| (ids::of_group(FAN, n), ids::of_group(STAR, 0)));
        let (took, answer) = time(self.stage.import(fans)).await?;
        calls::check((answer.created + answer.existing).cast_unsigned() == self.size, "import_edges")?;
        println!("  imported in {:.1} s, {:.0} followers/s", took.as_secs_f64(), self.size as f64 / took.as_secs_f64());
        self.slowest("the import").await
    }

    /// All pages, with calls of ordinary accounts beside them. Gives the tokens of the pages.
    async fn list(&self) -> Result<Vec<String>> {
        let mut alone = Load::Edges.alone(&self.stage.graph, ALONE).await?;
        let ((pages, tokens), beside) = Load::Edges.beside(&self.stage.graph, self.pages()).await?;
        let after = Load::Edges.alone(&self.stage.graph, ALONE).await?;
        alone.iter_mut().zip(&after).for_each(|(alone, after)| alone.extend(after));
        let [first, middle, last] = [0, 5, 9].map(|n| pages.tenth(n).median());
        println!(
            "  ListFollowers, pages of {PAGE}: {:.1} s in all; median us of the first tenth {first:.0}, of a middle one {middle:.0}, \
             of the last {last:.0}; last / first {:.2}",
            pages.total().as_secs_f64(),
            last / first,
        );
        Load::Edges.print("the listing", &beside, &alone);
        self.slowest("the listing").await?;
        Ok(tokens)
    }

    async fn pages(&self) -> Result<(Times, Vec<String>)> {
        let (mut times, mut listed, mut page_token) = (Times::default(), 0, String::new());
        let mut tokens = Vec::new();
        loop {
            let user_id = ids::of_group(STAR, 0);
            let request = ListFollowersRequest { user_id, page_size: PAGE, page_token, ..Default::default() };
            let (took, page) = time(async { Ok(self.graph().list_followers(request).await?.into_inner()) }).await?;
            times.push(took);
            listed += page.users.len() as u64;
            page_token = page.next_page_token;
            if page_token.is_empty() {
                break;
            }
            tokens.push(page_token.clone());
        }
        calls::check(listed == self.size, "list_followers")?;
        Ok((times, tokens))
    }

    /// Reads of which 90 % are about the star, and how much of their work each primary does.
    async fn read(&self, tokens: &[String]) -> Result<()> {
        let before = self.stage.nodes.cpu_seconds_each().await?;
        let (took, ()) = time(async {
            let reads = stream::iter((0..READS).map(|n| self.read_one(n, &tokens[n as usize * 7919 % tokens.len()])));
            reads.buffer_unordered(READS_IN_FLIGHT).try_collect::<()>().await
        })
        .await?;
        let after = self.stage.nodes.cpu_seconds_each().await?;
        let used: Vec<_> = before.iter().zip(after).map(|(before, after)| after - before).collect();
        let mean = used.iter().sum::<f64>() / used.len() as f64;
        let times: Vec<_> = used.iter().map(|used| format!("{:.2}", used / mean)).collect();
        println!(
            "  {READS} reads, of which 90 % are about the star (IsFollowing, ListFollowers by 50 at any place, BatchGetCounts as 2 to 2 \
             to 1): {:.0}/s; processor time of each primary, in times of their mean: {} (goal {GOAL_LOAD})",
            READS as f64 / took.as_secs_f64(),
            times.join(", "),
        );
        Ok(())
    }

    async fn read_one(&self, n: u64, token: &str) -> Result<()> {
        let star = n % 100 < 90;
        let user_id = if star { ids::of_group(STAR, 0) } else { ids::of_group(ORDINARY, n % ORDINARY_ACCOUNTS) };
        match n % 10 {
            0..=3 => {
                let fan = ids::of_group(FAN, self.chosen[n as usize % self.chosen.len()]);
                let request = IsFollowingRequest { follower_id: fan, followee_id: user_id, consistency: None };
                self.graph().is_following(request).await?;
            }
            4..=7 => {
                let page_token = if star { token.to_owned() } else { String::new() };
                let request = ListFollowersRequest { user_id, page_size: 50, page_token, ..Default::default() };
                let users = self.graph().list_followers(request).await?.into_inner().users;
                calls::check(users.len() == if star { 50 } else { FOLLOWERS as usize }, "list_followers")?;
            }
            _ => {
                self.graph()
                    .batch_get_counts(BatchGetCountsRequest { user_ids: vec![user_id], consistency: None })
                    .await?;
            }
        }
        Ok(())
    }

    /// The call about the star and about an ordinary account, in turns.
    async fn compare(&self, call: Compared) -> Result<()> {
        let (mut star, mut ordinary) = (Times::default(), Times::default());
        for n in 0..self.chosen.len() as u64 {
            star.push(time(self.call(call, n, true)).await?.0);
            ordinary.push(time(self.call(call, n, false)).await?.0);
        }
        let (name, goal) = match call {
            Compared::Follow => ("Follow", Some(GOAL_FOLLOW)),
            Compared::Unfollow => ("Unfollow", Some(GOAL_UNFOLLOW)),
            Compared::IsFollowing => ("IsFollowing", None),
            Compared::BatchGetCounts => ("BatchGetCounts of 1", None),
        };
        println!(
            "  {name:<20}us p50 {:>6.0}, p99 {:>6.0}; of an ordinary account {:>6.0}, {:>6.0}; median ratio {:.2}{}",
            star.median(),
            star.percentile(99),
            ordinary.median(),
            ordinary.percentile(99),
            star.median() / ordinary.median(),
            goal.map_or_else(String::new, |goal| format!(" (goal {goal})")),
        );
        Ok(())
    }

    async fn call(&self, call: Compared, n: u64, star: bool) -> Result<()> {
        let followee_id = if star { ids::of_group(STAR, 0) } else { ids::of_group(ORDINARY, n % ORDINARY_ACCOUNTS) };
        let known = if star { ids::of_group(FAN, self.chosen[n as usize]) } else { ids::of_group(FOLLOWER, n) };
        let new = ids::of_group(if star { NEW_FAN } else { NEW_FOLLOWER }, n);
        match call {
            Compared::Follow => {
                let request = FollowRequest { follower_id: new, followee_id, source: String::new() };
                calls::check(self.graph().follow(request).await?.into_inner().created, "follow")
            }
            Compared::Unfollow => {
                let request = UnfollowRequest { follower_id: known, followee_id, feed_policy: 0 };
                calls::check(self.graph().unfollow(request).await?.into_inner().removed, "unfollow")
            }
            Compared::IsFollowing => {
                let request = IsFollowingRequest { follower_id: known, followee_id, consistency: None };
                calls::check(self.graph().is_following(request).await?.into_inner().following, "is_following")
            }
            Compared::BatchGetCounts => {
                let request = BatchGetCountsRequest { user_ids: vec![followee_id], consistency: None };
                let counts = self.graph().batch_get_counts(request).await?.into_inner().counts;
                let followers = counts.first().map_or(0, |counts| counts.followers.cast_unsigned());
                calls::check(followers == if star { self.size } else { FOLLOWERS }, "batch_get_counts")
            }
        }
    }

    /// A post of the star, whose followers have no inboxes, with posts of small authors beside it.
    async fn publish(&self) -> Result<()> {
        let mut alone = Load::Posts.alone(&self.stage.graph, ALONE).await?;
        let (delivery, beside) = Load::Posts.beside(&self.stage.graph, self.deliver()).await?;
        let after = Load::Posts.alone(&self.stage.graph, ALONE).await?;
        alone.iter_mut().zip(&after).for_each(|(alone, after)| alone.extend(after));
        println!("  PublishPost: {delivery}");
        Load::Posts.print("the delivery", &beside, &alone);
        self.slowest("the delivery").await
    }

    /// The end of the star, with calls of ordinary accounts beside it.
    async fn delete(&self) -> Result<()> {
        let mut alone = Load::Edges.alone(&self.stage.graph, ALONE).await?;
        let (took, beside) = Load::Edges.beside(&self.stage.graph, self.removed()).await?;
        let after = Load::Edges.alone(&self.stage.graph, ALONE).await?;
        alone.iter_mut().zip(&after).for_each(|(alone, after)| alone.extend(after));
        let seconds = took.as_secs_f64();
        println!(
            "  DeleteUser: all {} edges and posts removed after {seconds:.1} s, {:.0} edges/s",
            self.size,
            self.size as f64 / seconds
        );
        Load::Edges.print("the deletion", &beside, &alone);
        self.slowest("the deletion").await
    }

    async fn removed(&self) -> Result<Duration> {
        let (started, user_id) = (Instant::now(), ids::of_group(STAR, 0));
        self.graph().delete_user(DeleteUserRequest { user_id }).await?;
        self.stage.operation_ended(user_id, REMOVED_WITHIN).await?;
        Ok(started.elapsed())
    }

    async fn deliver(&self) -> Result<String> {
        let (started, reached) = (Instant::now(), stage::counter(REACHED));
        let request =
            PublishPostRequest { author_id: ids::of_group(STAR, 0), content: calls::content(), ..Default::default() };
        let post = self.graph().publish_post(request).await?.into_inner();
        let answered = format!("answered after {:.1} ms", started.elapsed().as_secs_f64() * 1e3);
        if post.delivery() != Delivery::Push {
            return Ok(format!("{answered}; not pushed to the {} followers", post.audience));
        }
        let wanted = reached + post.audience.cast_unsigned();
        while stage::counter(REACHED) < wanted {
            if started.elapsed() > DELIVERED_WITHIN {
                return Err(format!("not delivered within {} s", DELIVERED_WITHIN.as_secs()).into());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let seconds = started.elapsed().as_secs_f64();
        let rate = post.audience as f64 / seconds;
        Ok(format!("{answered}, all {} followers reached after {seconds:.1} s, {rate:.0}/s", post.audience))
    }
}
