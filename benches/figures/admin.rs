//! How long the calls for operators take.

use socialgraph::admin::v1::{GetTopologyRequest, InspectUserRequest, VerifyUserRequest};

use crate::{
    Result, calls, ids, slowlog,
    stage::Stage,
    times::{Times, time},
};

const FOLLOWERS: u64 = 100_000;
const FOLLOWED: u64 = 5_000;
const CALLS: usize = 50;
/// How often all edges of the user are verified.
const VERIFIED: usize = 3;

const USER: u32 = 60;
const FAN: u32 = 61;
const FRIEND: u32 = 62;

/// Measures all calls and prints what there is to tell.
pub(crate) async fn print() -> Result<()> {
    println!("\nCalls for operators, about a user with {FOLLOWERS} followers who follows {FOLLOWED}.");
    let stage = Stage::start().await?;
    let user_id = ids::of_group(USER, 0);
    stage.import((0..FOLLOWERS).map(move |n| (ids::of_group(FAN, n), user_id))).await?;
    stage.import((0..FOLLOWED).map(move |n| (user_id, ids::of_group(FRIEND, n)))).await?;
    slowlog::reset(&stage.nodes).await?;

    let (mut pages, mut all) = (Times::default(), Times::default());
    for _ in 0..VERIFIED {
        all.push(time(verify(&stage, user_id, &mut pages)).await?.0);
    }
    let rate = (VERIFIED as u64 * (FOLLOWERS + FOLLOWED)) as f64 / all.total().as_secs_f64();
    let [p50, max] = [50, 100].map(|percent| pages.percentile(percent) / 1e3);
    println!("  VerifyUser: {rate:.0} edges/s; ms a page of about 10,000 edges: p50 {p50:.0}, max {max:.0}");
    println!("  SLOWLOG of VerifyUser:");
    slowlog::print(&stage.nodes).await?;

    let (mut topology, mut inspected) = (Times::default(), Times::default());
    for _ in 0..CALLS {
        let mut admin = stage.admin.clone();
        let (took, answer) = time(async { Ok(admin.get_topology(GetTopologyRequest {}).await?.into_inner()) }).await?;
        calls::check(answer.nodes.len() == 3 && answer.instances.len() == 1, "get_topology")?;
        topology.push(took);
        let request = InspectUserRequest { user_id };
        let (took, answer) = time(async { Ok(admin.inspect_user(request).await?.into_inner()) }).await?;
        calls::check(answer.keys.iter().any(|key| key.exists), "inspect_user")?;
        inspected.push(took);
    }
    for (name, times) in [("GetTopology", topology), ("InspectUser", inspected)] {
        let [p50, p99, max] = [50, 99, 100].map(|percent| times.percentile(percent) / 1e3);
        println!("  {name}: ms p50 {p50:.1}, p99 {p99:.1}, max {max:.1}; {CALLS} calls of one caller");
    }
    stage.stop().await;
    Ok(())
}

/// Looks at all edges of the user. Adds the time of each page.
async fn verify(stage: &Stage, user_id: i64, pages: &mut Times) -> Result<()> {
    let (mut page_token, mut checked) = (String::new(), 0);
    loop {
        let request = VerifyUserRequest { user_id, page_size: 0, page_token };
        let (took, page) = time(async { Ok(stage.admin.clone().verify_user(request).await?.into_inner()) }).await?;
        pages.push(took);
        let findings = page.findings.unwrap_or_default();
        calls::check(findings.drift_count == 0, "verify_user")?;
        checked += findings.edges_checked.cast_unsigned();
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return calls::check(checked == FOLLOWERS + FOLLOWED, "verify_user");
        }
    }
}
