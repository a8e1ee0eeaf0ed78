//! Commands and changes that come when nobody expects them any more.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests")]

mod future_times;
mod given_up;

use std::time::Duration;

use keyspace::{Keyspace, PartitionCount};
use localcluster::{LocalCluster, Options, Topology};
use model::{Deadline, Edge, Micros, Version};
use socialgraph_store::{
    Mode, Operation, Store, StoreConfig, Traffic,
    ops::{Follow, FollowRow, FollowerRows, RowOutcome},
};
use tasks::Tasks;

const LIMIT: Duration = Duration::from_secs(30);

/// A store over one Redis, which loses nothing when it is killed.
struct Fixture {
    redis: LocalCluster,
    store: Store,
    tasks: Tasks,
}

impl Fixture {
    async fn start() -> Self {
        let redis =
            LocalCluster::start(Options::temporary(Topology::Single).unwrap().setting("appendfsync no")).await.unwrap();
        let at = redis.addresses()[0];
        let config = StoreConfig::new(Mode::Single, vec![(at.ip().to_string(), at.port())]);
        let tasks = Tasks::new();
        let keys = Keyspace::new("sg", PartitionCount::DEFAULT).unwrap();
        let store = Store::connect(config, keys, &tasks).await.unwrap();
        Self { redis, store, tasks }
    }

    async fn stop(self) {
        drop(self.store);
        assert_eq!(self.tasks.shutdown(LIMIT).await, Ok(()));
        self.redis.stop().await;
    }
}

async fn run<O: Operation>(store: &Store, operation: O) -> O::Output {
    store.run(&operation, Traffic::Interactive, Deadline::after(LIMIT)).await.unwrap()
}

/// The first half of a new follow: since when it is, and its version.
async fn follow(store: &Store, edge: Edge, followed_at: Option<Micros>) -> (Micros, Version) {
    let rows = vec![FollowRow { followee: edge.followee(), followed_at }];
    let partition = store.keys().partition(edge.follower());
    let followers = vec![FollowerRows { follower: edge.follower(), rows }];
    let follow =
        Follow { partition, followers, source: String::new(), max_following: 10, per_hour: 0, seen: Version(0) };
    let RowOutcome::Created { followed_at, version } = run(store, follow).await.outcomes[0] else {
        panic!("not created")
    };
    (followed_at, version)
}
