//! Commands and changes that come when nobody expects them any more.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests")]

mod future_times;
mod given_up;

use std::time::Duration;

use keyspace::{Keyspace, PartitionCount};
use localcluster::{LocalCluster, Options, Topology};
use model::Deadline;
use socialgraph_store::{Mode, Operation, Store, StoreConfig, Traffic};
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
