use std::{sync::Arc, time::Duration};

use keyspace::Partition;
use model::{Deadline, Entry, TokenKey, TokenKind, Version, WriteName};
use store::{Store, StoreError, Traffic, ops::OpenFormat};
use tasks::Tasks;
use thiserror::Error;
use tokio::{sync::Semaphore, time::sleep};

use crate::{
    ServiceError, blocks::Blocker, convert, export::EXPORTS, fan_out::FanOut, feed::Builder, followers::Followers,
    limits::Limits, operations::Operations, purge::Purger, relay::Relay, running::Running, settle::Settler,
    spread::Spreader, verify, versions::SeenVersions, watch::Watches,
};

/// Most searches side by side, of common follows and the like, and for recommendations. More would share the time so thinly that each uses its time budget up.
const SEARCHES: usize = 16;
/// The format of the data that this version writes.
const FORMAT: u32 = 2;
/// The format that this version converts: each list is one ZSET.
const OLDER_FORMAT: u32 = 1;
/// How often to look whether instances are still running that know only the older format.
const OLDER_INSTANCES_INTERVAL: Duration = Duration::from_millis(200);

/// The graph of follows. Clones share the same state.
#[derive(Clone)]
pub struct Graph {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    /// The name by which other instances know this one.
    pub(crate) instance: String,
    pub(crate) store: Store,
    pub(crate) settings: GraphSettings,
    pub(crate) tokens: TokenKey,
    pub(crate) seen: Arc<SeenVersions>,
    pub(crate) followers: Followers,
    pub(crate) blocker: Blocker,
    pub(crate) settler: Settler,
    pub(crate) running: Running,
    pub(crate) relay: Relay,
    pub(crate) tasks: Tasks,
    pub(crate) fan_out: FanOut,
    pub(crate) purger: Purger,
    pub(crate) operations: Operations,
    pub(crate) builder: Builder,
    /// The times of which ids of posts were made.
    pub(crate) proposed: SeenVersions,
    pub(crate) searches: Semaphore,
    pub(crate) exports: Arc<Semaphore>,
    pub(crate) limits: Limits,
    pub(crate) watches: Watches,
}

/// What can be chosen about the graph.
#[derive(Clone, Debug)]
pub struct GraphSettings {
    /// The most that anyone may follow, 1 to 50,000.
    pub max_following: u32,
    /// How many follows an hour anyone may make, 0 to 1,000,000; 0: as many as they like. Imports do not count.
    pub follows_per_hour: u32,
    /// How often the relay looks for changes whose other half is not applied.
    pub relay_interval: Duration,
    /// How old such a change is before the relay takes it.
    pub relay_min_age: Duration,
    /// How long an instance that is not heard of keeps its partitions.
    pub lease: Duration,
    /// How long a settled change is kept in the log.
    pub changes_retention: Duration,
    /// Most posts of an inbox, 10 to 1,000.
    pub inbox_cap: u32,
    /// How long an inbox is kept that nobody reads.
    pub inbox_idle: Duration,
    /// Posts of authors with more followers than this are pulled by readers, not pushed to them; 0: all are pushed.
    pub pull_at: u32,
    /// Most watches at once.
    pub max_watches: u32,
    /// How long a watch waits for a client that does not take what it is sent.
    pub watch_patience: Duration,
}

/// More followers than anybody has; a number of Redis.
const NEVER: u64 = i64::MAX as u64 >> 11;

impl Default for GraphSettings {
    fn default() -> Self {
        Self {
            max_following: 10_000,
            follows_per_hour: 0,
            relay_interval: Duration::from_secs(1),
            relay_min_age: Duration::from_secs(1),
            lease: Duration::from_secs(10),
            changes_retention: Duration::from_secs(3600),
            inbox_cap: 800,
            inbox_idle: Duration::from_secs(14 * 24 * 3600),
            pull_at: 10_000,
            max_watches: 64,
            watch_patience: Duration::from_secs(30),
        }
    }
}

impl GraphSettings {
    /// For how long the delivery of a post is left to the instance that published it: a large audience takes seconds.
    pub(crate) fn fan_out_patience(&self) -> Duration {
        10 * self.relay_min_age
    }

    /// With more followers than this an author's posts turn from pushed to pulled.
    pub(crate) fn pull_above(&self) -> u64 {
        if self.pull_at == 0 { NEVER } else { self.pull_at.into() }
    }

    /// With fewer they turn back: a fifth less, so that an audience near the border does not turn at every post.
    pub(crate) fn push_below(&self) -> u64 {
        if self.pull_at == 0 { NEVER } else { u64::from(self.pull_at) * 4 / 5 }
    }
}

/// Why a keyspace cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// The keyspace was created with another number of partitions, which cannot be changed.
    #[error(
        "the keyspace has {stored} partitions, but keyspace.partitions is {configured}; the number is fixed when a \
         keyspace is created"
    )]
    Partitions {
        /// What the keyspace has.
        stored: u32,
        /// What the configuration says.
        configured: u32,
    },
    /// The keyspace is of a format that this version does not know.
    #[error("the keyspace has format {stored}, and this version knows only {known}")]
    Format {
        /// What the keyspace has.
        stored: u32,
        /// What this version knows.
        known: u32,
    },
    /// The keyspace is of the older format, and instances are running that know only that one.
    #[error(
        "the keyspace has format {OLDER_FORMAT} and is in use by instances of the version before; stop \
         them all, and wait until their leases have expired"
    )]
    OlderInstances,
    /// Redis did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Graph {
    /// Opens a keyspace, creating it where there is none, and starts the background work, which ends with `tasks`.
    pub async fn open(
        store: Store,
        settings: GraphSettings,
        tasks: &Tasks,
        deadline: Deadline,
    ) -> Result<Self, OpenError> {
        let partitions = store.keys().partitions();
        let configured = u32::from(partitions.get());
        let create = OpenFormat { format: FORMAT, token_key: rand::random(), older: OLDER_FORMAT };
        let format = loop {
            let format = store.run(&create, Traffic::Interactive, deadline).await?;
            if format.format != OLDER_FORMAT || format.partitions != configured {
                break format;
            }
            if deadline.remaining() < OLDER_INSTANCES_INTERVAL {
                return Err(OpenError::OlderInstances);
            }
            sleep(OLDER_INSTANCES_INTERVAL).await;
        };
        if ![FORMAT, OLDER_FORMAT].contains(&format.format) {
            return Err(OpenError::Format { stored: format.format, known: FORMAT });
        }
        if format.partitions != configured {
            return Err(OpenError::Partitions { stored: format.partitions, configured });
        }
        if !format.is_converted {
            convert::start(store.clone(), tasks);
        }
        verify::show_metrics();
        let settler = Settler::start(store.clone(), tasks);
        let running = Running::default();
        let fan_out = FanOut::new(store.clone(), tasks.clone(), settings.inbox_cap);
        let seen = Arc::new(SeenVersions::new(partitions));
        let followers = Followers::new(store.clone(), Spreader::start(store.clone(), tasks), seen.clone());
        let operations = Operations::start(
            store.clone(),
            followers.clone(),
            seen.clone(),
            running.clone(),
            settings.inbox_cap,
            tasks,
        );
        let purger = Purger::start(store.clone(), settings.inbox_cap, tasks);
        let blocker = Blocker { store: store.clone(), followers: followers.clone(), purger: purger.clone() };
        let instance = format!("{:016x}", rand::random::<u64>());
        let relay = Relay {
            store: store.clone(),
            settings: settings.clone(),
            running: running.clone(),
            followers: followers.clone(),
            fan_out: fan_out.clone(),
            operations: operations.clone(),
            blocker: blocker.clone(),
        }
        .start(&instance, tasks);
        let inner = Inner {
            instance,
            relay,
            purger,
            blocker,
            builder: Builder::new(store.clone(), tasks.clone(), settings.inbox_cap),
            tasks: tasks.clone(),
            watches: Watches::start(store.clone(), seen.clone(), settings.max_watches, tasks),
            tokens: format.token_key,
            seen,
            proposed: SeenVersions::new(partitions),
            searches: Semaphore::new(SEARCHES),
            exports: Arc::new(Semaphore::new(EXPORTS)),
            limits: Limits::find(store.clone(), tasks),
            store,
            settings,
            followers,
            operations,
            settler,
            running,
            fan_out,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Whether every slot is served by a primary that answers; says what is wrong.
    pub async fn probe(&self, deadline: Deadline) -> Result<(), String> {
        self.inner.store.probe(deadline).await
    }
}

impl Inner {
    /// After which entry a page begins; `None` for the first page, which has no token.
    pub(crate) fn open_page(
        &self,
        kind: TokenKind,
        bound_to: &[i64],
        token: &str,
    ) -> Result<Option<Entry>, ServiceError> {
        if token.is_empty() {
            return Ok(None);
        }
        self.tokens.open_page(kind, bound_to, token).map(Some).map_err(|_| ServiceError::InvalidPageToken)
    }

    /// The token of the page after an entry; empty if there is none.
    pub(crate) fn seal_page(&self, kind: TokenKind, bound_to: &[i64], last: Option<Entry>) -> String {
        last.map_or_else(String::new, |last| self.tokens.seal_page(kind, bound_to, last))
    }

    /// A token that names a write whose second half may be pending.
    pub(crate) fn consistency_token(&self, partition: Partition, version: Version) -> String {
        self.write_token(partition, version, false)
    }

    /// A token that names a write, and tells whether it is known to be wholly applied.
    pub(crate) fn write_token(&self, partition: Partition, version: Version, is_applied: bool) -> String {
        self.tokens.seal_consistency(WriteName { partition: partition.get(), version, is_applied })
    }
}
