//! Up to how many entries Redis keeps values compact, found out without CONFIG.

use model::Deadline;
use socialgraph_service::CompactLimits;
use store::{
    StoreError, Traffic,
    ops::{Compact, TryCompact},
};

use crate::support::{LIMIT, World, edge, on_a_redis_with, on_each_backend, user};

const WANTED: CompactLimits = CompactLimits { sorted_set: Some(128), numbers: Some(16_384) };

/// Waits until the limits of all primaries are known to be these.
async fn assert_limits(world: &World, limits: CompactLimits) {
    let graph = world.graph().await;
    for id in 1..=20 {
        let inspect = async || graph.inspect_user(user(id), Deadline::after(LIMIT)).await.unwrap().limits;
        world.wait_until(async || inspect().await == limits).await;
    }
    assert_eq!(world.keys_like("trial:*").await, [""; 0]);
}

#[test]
fn those_of_our_configuration_are_enough() {
    on_each_backend(async |world| assert_limits(world, WANTED).await);
}

#[test]
fn lower_ones_are_found_where_config_is_forbidden() {
    let settings = ["rename-command CONFIG \"\"", "zset-max-listpack-entries 60", "set-max-intset-entries 511"];
    on_a_redis_with(&settings, async |world| {
        assert_limits(world, CompactLimits { sorted_set: Some(60), numbers: Some(511) }).await;
        world.commit_new(edge(1, 2), None).await;
        world.relay(user(1)).await;
        assert!(world.both_ends(edge(1, 2)).await.is_some());
    });
}

#[test]
fn a_user_of_redis_that_may_not_ask_leaves_nothing_behind() {
    on_a_redis_with(&["user default on nopass ~* &* +@all -config -object"], async |world| {
        let partition = world.store.keys().partition(user(1));
        let trial = TryCompact { partition, kind: Compact::SortedSet, name: "1".to_owned(), entries: 1..=3 };
        let asked = world.store.run(&trial, Traffic::Bulk, Deadline::after(LIMIT)).await;
        assert!(matches!(asked, Err(StoreError::Refused(_))), "{asked:?}");
        assert_eq!(world.redis("EXISTS", &world.store.keys().trial(partition, "1"), &[]).await, "0");
        world.commit_new(edge(1, 2), None).await;
        world.relay(user(1)).await;
        assert!(world.both_ends(edge(1, 2)).await.is_some());
    });
}
