//! A call that its caller has given up must not happen long after.

use std::time::Duration;

use model::{Deadline, Edge, UserId};
use socialgraph_store::{
    Traffic,
    ops::{OldestPending, Settle},
};

use crate::{Fixture, follow, run};

/// With a plain command, because Redis forgets scripts when it is started again.
#[tokio::test]
async fn a_write_that_was_given_up_while_redis_was_away_is_not_sent_when_it_is_back() {
    let fixture = Fixture::start().await;
    let store = &fixture.store;
    let [follower, followee] = [1, 2].map(|id| UserId::new(id).unwrap());
    let partition = store.keys().partition(follower);
    let edge = Edge::new(follower, followee).unwrap();
    let (_, committed) = follow(store, edge, None).await;

    fixture.redis.kill(0).await.unwrap();
    for _ in 0..20 {
        let settle = Settle { partition, versions: vec![committed] };
        let soon = Deadline::after(Duration::from_millis(30));
        store.run(&settle, Traffic::Interactive, soon).await.unwrap_err();
    }
    fixture.redis.restart(0).await.unwrap();
    // Commands of one connection keep their order, so this answer comes after all that was sent before.
    assert_eq!(run(store, OldestPending(partition)).await, Some(committed));
    fixture.stop().await;
}
