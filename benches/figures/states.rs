//! How fast the edges of a user are put aside and brought back, and what that does to other calls.

use std::time::Duration;

use socialgraph::v1::{BatchGetCountsRequest, OperationState, SetUserStateRequest, UserState};

use crate::{Result, calls, ids, load::Load, slowlog, stage::Stage, times::time};

const FOLLOWERS: u64 = 100_000;
const FOLLOWED: u64 = 5_000;
const MOVED_WITHIN: Duration = Duration::from_secs(300);
const ALONE: Duration = Duration::from_secs(5);

const USER: u32 = 80;
const FAN: u32 = 81;
const FRIEND: u32 = 82;

/// Measures both ways and prints what there is to tell.
pub(crate) async fn print() -> Result<()> {
    println!("\nSetUserState of a user with {FOLLOWERS} followers who follows {FOLLOWED}.");
    let stage = Stage::start().await?;
    let user_id = ids::of_group(USER, 0);
    stage.import((0..FOLLOWERS).map(move |n| (ids::of_group(FAN, n), user_id))).await?;
    stage.import((0..FOLLOWED).map(move |n| (user_id, ids::of_group(FRIEND, n)))).await?;
    Load::prepare(&stage.graph).await?;
    slowlog::reset(&stage.nodes).await?;
    for (state, followed) in [(UserState::Suspended, 0), (UserState::Active, 1)] {
        let alone = Load::Edges.alone(&stage.graph, ALONE).await?;
        let (took, beside) = Load::Edges.beside(&stage.graph, moved(&stage, user_id, state)).await?;
        let rate = (FOLLOWERS + FOLLOWED) as f64 / took.as_secs_f64();
        println!("  {}: all edges moved after {:.1} s, {rate:.0} edges/s", state.as_str_name(), took.as_secs_f64());
        Load::Edges.print("the moves", &beside, &alone);
        check(&stage, followed).await?;
    }
    println!("  SLOWLOG of both:");
    slowlog::print(&stage.nodes).await?;
    stage.stop().await;
    Ok(())
}

async fn moved(stage: &Stage, user_id: i64, state: UserState) -> Result<Duration> {
    let set = async {
        let request = SetUserStateRequest { user_id, state: state.into() };
        let operation = stage.graph.clone().set_user_state(request).await?.into_inner().operation.unwrap_or_default();
        calls::check(operation.state() == OperationState::Running, "set_user_state")?;
        stage.operation_ended(user_id, MOVED_WITHIN).await
    };
    Ok(time(set).await?.0)
}

/// What followers of the user count.
async fn check(stage: &Stage, following: i64) -> Result<()> {
    let user_ids = (0..200).map(|n| ids::of_group(FAN, n * (FOLLOWERS / 200))).collect();
    let request = BatchGetCountsRequest { user_ids, consistency: None };
    let counts = stage.graph.clone().batch_get_counts(request).await?.into_inner().counts;
    calls::check(counts.iter().all(|counts| counts.following == following), "batch_get_counts")
}
