use std::{
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use keyspace::{Key, Keyspace, List, PartitionCount};
use localcluster::{LocalCluster, Options, Topology};
use model::{Deadline, Edge, Entry, Micros, Order, UserId, Version, Window};
use socialgraph_service::{Graph, GraphSettings, OpenError};
use store::{
    Mode, Operation, Store, StoreConfig, Traffic,
    ops::{
        Apply, ApplyToShard, Cause, Committed, Count, Due, Follow, FollowRow, FollowerChange, FollowerRows, Place,
        Range, Recount, Routed, RowOutcome, Stretch, Unfollow,
    },
};
use tasks::Tasks;
use tokio::runtime::Runtime;

/// Outlives every test, with the servers and the connections to them.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
static CLUSTER: LazyLock<LocalCluster> = LazyLock::new(|| start(temporary(THREE)));
static SINGLE: LazyLock<LocalCluster> = LazyLock::new(|| start(temporary(Topology::Single)));
static VALKEY: LazyLock<LocalCluster> =
    LazyLock::new(|| start(temporary(THREE).valkey().unwrap_or_else(|error| panic!("{error}"))));

const THREE: Topology = Topology::Cluster { primaries: 3, replicas: 0 };
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

fn temporary(topology: Topology) -> Options {
    Options::temporary(topology).unwrap()
}

fn start(options: Options) -> LocalCluster {
    RUNTIME.block_on(LocalCluster::start(options)).unwrap()
}

/// A keyspace of a test's own.
pub(crate) struct World {
    pub(crate) store: Store,
    servers: &'static LocalCluster,
    tasks: Tasks,
}

/// Runs a test on a Redis Cluster, on a single Redis and on a Valkey cluster.
pub(crate) fn on_each_backend(test: impl AsyncFn(&World)) {
    let backends = [
        ("cluster", &*CLUSTER, Mode::Cluster),
        ("single", &*SINGLE, Mode::Single),
        ("valkey", &*VALKEY, Mode::Cluster),
    ];
    for (name, servers, mode) in backends {
        // Shown if the test fails.
        println!("on {name}");
        run(servers, mode, &test);
    }
}

/// Runs a test on a single Redis of its own, with more lines of configuration.
pub(crate) fn on_a_redis_with(settings: &[&str], test: impl AsyncFn(&World)) {
    let options = settings.iter().fold(temporary(Topology::Single), |options, line| options.setting(*line));
    run(Box::leak(Box::new(start(options))), Mode::Single, &test);
}

fn run(servers: &'static LocalCluster, mode: Mode, test: &impl AsyncFn(&World)) {
    RUNTIME.block_on(async {
        let world = World::new(servers, mode).await;
        test(&world).await;
        assert_eq!(world.tasks.dead(), [""; 0]);
        let World { store, tasks, .. } = world;
        // Its clients wait for their last use before they quit.
        drop(store);
        assert_eq!(tasks.shutdown(LIMIT).await, Ok(()));
    });
}

impl World {
    async fn new(servers: &'static LocalCluster, mode: Mode) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let keys = Keyspace::new(&name, PartitionCount::DEFAULT).unwrap();
        let seeds = servers.addresses().iter().map(|a| (a.ip().to_string(), a.port())).collect();
        let tasks = Tasks::new();
        let store = Store::connect(StoreConfig::new(mode, seeds), keys, &tasks).await.unwrap();
        Self { store, servers, tasks }
    }

    pub(crate) async fn run<O: Operation>(&self, operation: O) -> O::Output {
        self.store.run(&operation, Traffic::Interactive, Deadline::after(LIMIT)).await.unwrap()
    }

    /// The first half of a follow.
    pub(crate) async fn commit(&self, edge: Edge, followed_at: Option<Micros>) -> Committed {
        self.run(self.follow_op(edge, followed_at, Version(0))).await
    }

    pub(crate) fn follow_op(&self, edge: Edge, followed_at: Option<Micros>, seen: Version) -> Follow {
        let partition = self.store.keys().partition(edge.follower());
        let rows = vec![FollowRow { followee: edge.followee(), followed_at }];
        let followers = vec![FollowerRows { follower: edge.follower(), rows }];
        Follow { partition, followers, source: String::new(), max_following: 10_000, per_hour: 0, seen }
    }

    /// The first half of a follow that must be new, as the change that its second half applies.
    pub(crate) async fn commit_new(&self, edge: Edge, followed_at: Option<Micros>) -> FollowerChange {
        match self.commit(edge, followed_at).await.outcomes[..] {
            [RowOutcome::Created { followed_at, version }] => FollowerChange::Present { followed_at, version },
            ref other => panic!("a new follow became {other:?}"),
        }
    }

    /// The first half of an unfollow, as the change that its second half applies.
    pub(crate) async fn commit_unfollow(&self, edge: Edge) -> FollowerChange {
        let unfollowed = self.run(Unfollow { edge, keeps_posts: false, seen: Version(0) }).await;
        FollowerChange::Absent { removed: unfollowed.removed, version: unfollowed.version }
    }

    pub(crate) async fn apply(&self, edge: Edge, change: FollowerChange) {
        self.apply_all(&[(edge, change)]).await;
    }

    /// Applies at most 64 changes of followees of one partition, to shards as well.
    pub(crate) async fn apply_all(&self, changes: &[(Edge, FollowerChange)]) {
        let applied = self.run(Apply::new(changes.to_vec())).await;
        self.apply_routed(&applied.routed).await;
    }

    pub(crate) async fn apply_routed(&self, routed: &[Routed]) {
        for &Routed { shard, edge, change } in routed {
            let segments = [].into();
            let growth =
                self.run(ApplyToShard { shard, cause: Cause::Edge, changes: vec![(edge, change)], segments }).await;
            self.run(Recount { user: edge.followee(), shard, growth }).await;
        }
    }

    /// Reads on in a list, its shards as well.
    pub(crate) async fn range(&self, mut range: Range) -> Vec<Entry> {
        let (mut all, limit) = (Vec::new(), range.limit);
        while all.len() < limit {
            range.limit = limit - all.len();
            let part = self.run(range).await;
            all.extend(part.entries);
            (range.from, range.stretch) = match (range.stretch, range.order) {
                (None, _) if part.stretch.is_none() => break,
                (None, _) => (range.from, part.stretch),
                (Some(Stretch { before: Some(before), .. }), Order::NewestFirst) => (Some(Place::At(before)), None),
                (Some(_), Order::NewestFirst) => break,
                (Some(Stretch { bound, .. }), Order::OldestFirst) => (Some(Place::After(bound)), None),
            };
        }
        all
    }

    pub(crate) async fn list(&self, list: List, user: UserId) -> Vec<Entry> {
        let entries = self.whole_list(list, user).await;
        let counts = self.run(Count(user)).await;
        let count = match list {
            List::Following => counts.following,
            List::Followers => counts.followers,
        };
        assert_eq!(count, entries.len() as u64, "count of {list:?}");
        entries
    }

    /// Since when both ends say that the edge is there. They must say the same.
    pub(crate) async fn both_ends(&self, edge: Edge) -> Option<Micros> {
        let [forward, backward] = self.ends(edge).await;
        assert_eq!(forward, backward, "{edge:?}");
        forward
    }

    /// Since when the follower's list and the followee's say that the edge is there.
    pub(crate) async fn ends(&self, edge: Edge) -> [Option<Micros>; 2] {
        let following = self.list(List::Following, edge.follower()).await;
        let followers = self.list(List::Followers, edge.followee()).await;
        [(following, edge.followee()), (followers, edge.follower())]
            .map(|(list, user)| list.iter().find(|entry| entry.user == user).map(|entry| entry.at))
    }

    pub(crate) async fn pending(&self, user: UserId) -> usize {
        self.run(Due { partition: self.store.keys().partition(user), min_age: 0 }).await.len()
    }

    /// A graph whose relay takes whatever is pending at once.
    pub(crate) async fn graph(&self) -> Graph {
        self.graph_with(|_settings| {}).await
    }

    /// A graph whose relay leaves everything alone.
    pub(crate) async fn graph_without_relay(&self) -> Graph {
        self.graph_with(|settings| settings.relay_min_age = Duration::from_secs(3600)).await
    }

    pub(crate) async fn graph_with(&self, set: impl FnOnce(&mut GraphSettings)) -> Graph {
        let mut settings = GraphSettings {
            relay_interval: Duration::from_millis(10),
            relay_min_age: Duration::ZERO,
            changes_retention: Duration::ZERO,
            ..GraphSettings::default()
        };
        set(&mut settings);
        self.open(settings, LIMIT).await.unwrap()
    }

    pub(crate) async fn open(&self, settings: GraphSettings, limit: Duration) -> Result<Graph, OpenError> {
        Graph::open(self.store.clone(), settings, &self.tasks, Deadline::after(limit)).await
    }

    /// A list of any length, oldest first.
    pub(crate) async fn whole_list(&self, list: List, user: UserId) -> Vec<Entry> {
        let mut all: Vec<Entry> = Vec::new();
        loop {
            let (order, from) = (Order::OldestFirst, all.last().copied().map(Place::After));
            let range = Range { list, user, stretch: None, order, window: Window::ALL, from, limit: 1_000 };
            let part = self.range(range).await;
            all.extend_from_slice(&part);
            if part.len() < 1_000 {
                return all;
            }
        }
    }

    /// Lets a relay finish what is pending for changes of a user.
    pub(crate) async fn relay(&self, user: UserId) {
        let _graph = self.graph().await;
        self.wait_until(async || self.pending(user).await == 0).await;
    }

    pub(crate) async fn wait_until(&self, condition: impl AsyncFn() -> bool) {
        let met = async {
            while !condition().await {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LIMIT, met).await.expect("the condition is met in time");
    }

    /// The segments of a list, oldest first, each by the member of its bound and its key; members must be printable.
    pub(crate) async fn segments(&self, head: &Key, parts: &Key) -> Vec<(String, Key)> {
        let names = self.redis("ZRANGE", parts, &["1", "-1"]).await;
        let names = names.lines().filter_map(|name| name.rsplit_once(' '));
        names.map(|(member, id)| (member.to_owned(), head.segment(id))).collect()
    }

    /// The keys here whose names match a pattern after the hash tag.
    pub(crate) async fn keys_like(&self, pattern: &str) -> Vec<String> {
        let pattern = format!("{}{pattern}", self.store.keys().pattern());
        let mut keys = Vec::new();
        for node in 0..self.servers.nodes().len() {
            let found = self.servers.cli(node, &["--scan", "--pattern", &pattern]).await.unwrap();
            keys.extend(found.lines().filter(|key| !key.is_empty()).map(str::to_owned));
        }
        keys
    }

    /// Sends Redis a command on a key, past the store.
    pub(crate) async fn redis(&self, command: &str, key: &Key, arguments: &[&str]) -> String {
        let name = key.to_string();
        let words = [&[command, &name], arguments].concat();
        for node in 0..self.servers.nodes().len() {
            match self.servers.cli(node, &words).await {
                Ok(reply) => return reply,
                Err(error) => assert!(error.to_string().contains("MOVED"), "{error}"),
            }
        }
        panic!("no node serves {name}");
    }
}

pub(crate) fn user(id: i64) -> UserId {
    UserId::new(id).unwrap()
}

pub(crate) fn edge(follower: i64, followee: i64) -> Edge {
    Edge::new(user(follower), user(followee)).unwrap()
}

pub(crate) fn micros(micros: u64) -> Micros {
    Micros::new(micros).unwrap()
}
