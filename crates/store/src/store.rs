use std::{collections::BTreeMap, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use fred::{
    interfaces::ClientLike,
    prelude::{Error as RedisError, ErrorKind},
    types::{ClusterHash, CustomCommand, Value, config::Options},
};
use futures::{StreamExt, future::join_all, stream};
use keyspace::{Keyspace, Partition, Slot, SlotMap};
use model::Deadline;
use tasks::Tasks;
use tokio::time::{Instant, sleep, timeout_at};
use tracing::Instrument;

use crate::{
    Operation, StoreError,
    call::Call,
    config::{Mode, StoreConfig},
    error::{Reaction, reaction},
    lane::Lane,
    topology::Topology,
};

/// How often the map of slots is read again from the client.
const TOPOLOGY_INTERVAL: Duration = Duration::from_millis(250);
/// The first and the longest pause before a call is tried again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(128));
/// How many times longer than others a bulk command may take: nobody waits for it, and to send it again too early gives a slow
/// Redis more to do.
const BULK_PATIENCE: u32 = 3;
/// Most calls of one interactive batch in flight to one node: as many as the largest batch has, so that it is one round trip.
const INTERACTIVE_WINDOW: usize = 512;
/// The same of a bulk batch, whose scripts have up to 64 rows each: enough to keep a node busy. What waits must not come near to
/// the command timeout even on a slow machine: a script that is sent again finds its own rows, and an import counts them as
/// existing.
const BULK_WINDOW: usize = 32;

/// How often a script may ask for segments. Twice is usual; more often, others make new segments meanwhile.
const MOST_ROUNDS: usize = 32;

/// The graph's place in Redis. Clones share the same connections.
///
/// Everything is asked for as an [`Operation`]: one script or command on the keys of one slot. A call that was not run, or
/// whose answer was lost, is sent again until its deadline; that is safe because every operation is idempotent.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    keys: Keyspace,
    config: StoreConfig,
    small: Lane,
    bulk: Lane,
    topology: ArcSwap<Topology>,
}

/// Which primaries serve which slots: equal as long as none has moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The primaries that serve partitions, each with one of its partitions.
    pub of_nodes: BTreeMap<String, Partition>,
    slots: SlotMap,
}

/// Which connections a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Somebody waits for the answer.
    Interactive,
    /// Large answers and background work, which must not delay the others.
    Bulk,
}

impl Store {
    /// Connects to Redis. Connections are kept by a task until `tasks` end.
    pub async fn connect(config: StoreConfig, keys: Keyspace, tasks: &Tasks) -> Result<Self, StoreError> {
        if config.servers.is_empty() {
            return Err(StoreError::Refused("no server is configured".to_owned()));
        }
        let small = Lane::open("redis", &config, tasks).await?;
        let patient = StoreConfig { command_timeout: BULK_PATIENCE * config.command_timeout, ..config.clone() };
        let bulk = Lane::open("redis-bulk", &patient, tasks).await?;
        let topology = ArcSwap::from_pointee(Topology::read(&small.client(), &config, None));
        let store = Self { inner: Arc::new(Inner { keys, config, small, bulk, topology }) };
        tasks.spawn("redis-topology", store.clone().follow_topology(tasks.clone()));
        Ok(store)
    }

    /// The names of keys.
    pub fn keys(&self) -> &Keyspace {
        &self.inner.keys
    }

    /// Does one thing.
    pub async fn run<O: Operation>(
        &self,
        operation: &O,
        traffic: Traffic,
        deadline: Deadline,
    ) -> Result<O::Output, StoreError> {
        let call = operation.call(&self.inner.keys)?;
        operation.answer(self.inner.finish(call, traffic, deadline).await?)
    }

    /// Does many things at once, in no particular order; results come in the order given. Nodes are served side by side,
    /// each with a bounded number of calls in flight.
    pub async fn run_all<O: Operation>(
        &self,
        operations: &[O],
        traffic: Traffic,
        deadline: Deadline,
    ) -> Vec<Result<O::Output, StoreError>> {
        let calls = operations.iter().map(|operation| operation.call(&self.inner.keys)).enumerate();
        let slot_of = |(_, call): &(usize, Result<Call, StoreError>)| call.as_ref().map_or(Slot::default(), |c| c.slot);
        let by_node = self.inner.topology.load().slots.by_node(calls, slot_of);
        let window = match traffic {
            Traffic::Interactive => INTERACTIVE_WINDOW,
            Traffic::Bulk => BULK_WINDOW,
        };
        let nodes = by_node.into_iter().map(|(_, calls)| {
            let answers = calls.into_iter().map(|(index, call)| self.send_numbered(index, call, traffic, deadline));
            stream::iter(answers).buffer_unordered(window).collect::<Vec<_>>()
        });
        let mut answers: Vec<_> = join_all(nodes).await.into_iter().flatten().collect();
        answers.sort_unstable_by_key(|(index, _)| *index);
        operations.iter().zip(answers).map(|(operation, (_, answer))| operation.answer(answer?)).collect()
    }

    /// A future that borrows nothing, which keeps the futures of batches `Send` whatever they are part of.
    fn send_numbered(
        &self,
        index: usize,
        call: Result<Call, StoreError>,
        traffic: Traffic,
        deadline: Deadline,
    ) -> impl Future<Output = (usize, Result<Value, StoreError>)> + Send + 'static {
        let inner = self.inner.clone();
        async move {
            let answer = match call {
                Ok(call) => inner.finish(call, traffic, deadline).await,
                Err(error) => Err(error),
            };
            (index, answer)
        }
    }

    /// Whether Redis is a cluster, and not one server.
    pub fn is_cluster(&self) -> bool {
        self.inner.config.mode == Mode::Cluster
    }

    /// The address of the primary that serves a partition, if one does.
    pub fn node(&self, partition: Partition) -> Option<String> {
        let topology = self.inner.topology.load();
        topology.node(self.inner.keys.slot(partition)).map(|node| node.address.clone())
    }

    /// Which primaries serve the slots now.
    pub fn layout(&self) -> Layout {
        let partitions = self.inner.keys.partitions().all();
        let of_nodes = partitions.filter_map(|partition| Some((self.node(partition)?, partition))).collect();
        Layout { of_nodes, slots: self.inner.topology.load().slots.clone() }
    }

    /// Whether every slot is served by a primary that answers; says what is wrong.
    pub async fn probe(&self, deadline: Deadline) -> Result<(), String> {
        let topology = self.inner.topology.load_full();
        match topology.slots.uncovered() {
            0 => {}
            slots => return Err(format!("no primary serves {slots} of the slots")),
        }
        let partitions = self.inner.keys.partitions().all();
        let slots = topology.slot_of_each_node(partitions.map(|partition| self.inner.keys.slot(partition)));
        let pings = slots.into_iter().map(|slot| {
            let inner = self.inner.clone();
            let address = topology.node(slot).map_or_else(String::new, |node| node.address.clone());
            async move {
                let ping = inner
                    .attempt(&Call::to_slot("PING", slot, Vec::new()), Traffic::Interactive, deadline, false)
                    .await;
                ping.map_err(|error| format!("{address} ({error})"))
            }
        });
        let silent: Vec<_> = join_all(pings).await.into_iter().filter_map(Result::err).collect();
        if silent.is_empty() { Ok(()) } else { Err(format!("primaries that do not answer: {}", silent.join(", "))) }
    }

    async fn follow_topology(self, tasks: Tasks) {
        let inner = &self.inner;
        let token = tasks.token().clone();
        loop {
            tokio::select! {
                () = token.cancelled() => return,
                () = sleep(TOPOLOGY_INTERVAL) => {}
            }
            let before = inner.topology.load();
            before.nodes().iter().for_each(|node| node.record_in_flight(inner.config.max_in_flight));
            let now = Topology::read(&inner.small.client(), &inner.config, Some(&before));
            if now.slots != before.slots || now.addresses() != before.addresses() {
                tracing::info!(nodes = ?now.addresses(), uncovered = now.slots.uncovered(), "slots moved");
                inner.topology.store(Arc::new(now));
            }
        }
    }
}

impl Inner {
    /// Sends a call, and again with the segments that its script asks for.
    async fn finish(&self, mut call: Call, traffic: Traffic, deadline: Deadline) -> Result<Value, StoreError> {
        for _ in 0..MOST_ROUNDS {
            let answer = self.send(&call, traffic, deadline).await?;
            if !call.take_segments(&answer)? {
                return Ok(answer);
            }
            metrics::counter!("socialgraph_segment_rounds_total").increment(1);
        }
        Err(StoreError::Unavailable("the list changes too fast".to_owned()))
    }

    /// Sends a call until it is answered, refused, or its deadline passes.
    async fn send(&self, call: &Call, traffic: Traffic, deadline: Deadline) -> Result<Value, StoreError> {
        let mut pause = PAUSES.0;
        let mut with_source = false;
        let mut failed_before = None;
        loop {
            let error = match self.attempt(call, traffic, deadline, with_source).await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let error = match error {
                // It was not the caller's time that was short, but Redis that did not answer before.
                Failure::Deadline => return Err(failed_before.map_or(StoreError::Deadline, StoreError::Unavailable)),
                Failure::Redis(error) => error,
            };
            let kind = match reaction(&error) {
                Reaction::SendSource if !with_source => {
                    with_source = true;
                    continue;
                }
                Reaction::SendSource | Reaction::Refuse => {
                    count_failure(&error);
                    return Err(StoreError::Refused(error.to_string()));
                }
                Reaction::Retry(kind) | Reaction::RetryAmbiguous(kind) if deadline.remaining() > pause => kind,
                Reaction::GiveUp | Reaction::Retry(_) | Reaction::RetryAmbiguous(_) => {
                    count_failure(&error);
                    return Err(StoreError::Unavailable(error.to_string()));
                }
            };
            metrics::counter!("socialgraph_redis_retries_total", "kind" => kind).increment(1);
            tracing::debug!(command = call.verb.name(), %error, kind, "trying again");
            failed_before = Some(error.to_string());
            sleep(pause).await;
            pause = (2 * pause).min(PAUSES.1);
        }
    }

    /// Sends a call once.
    async fn attempt(
        &self,
        call: &Call,
        traffic: Traffic,
        deadline: Deadline,
        with_source: bool,
    ) -> Result<Value, Failure> {
        let command = call.verb.name();
        let topology = self.topology.load_full();
        let node = topology.node(call.slot);
        let address = node.map_or("", |node| &node.address);
        let span = tracing::info_span!(
            target: "socialgraph::redis",
            "redis",
            otel.kind = "client",
            otel.name = command,
            db.system.name = "redis",
            server.address = address,
        );
        async {
            let by_caller = Instant::from_std(deadline.instant());
            let _permit = match node {
                Some(node) => Some(timeout_at(by_caller, node.permits.acquire()).await.map_err(|_| Failure::Deadline)?),
                None => None,
            };
            let lane = match traffic {
                Traffic::Interactive => &self.small,
                Traffic::Bulk => &self.bulk,
            };
            let (name, args) = call.wire(with_source);
            let custom = CustomCommand::new_static(name, ClusterHash::Custom(call.slot.get()), false);
            let sent = Instant::now();
            let limit = lane.command_timeout().min(deadline.remaining());
            if limit.is_zero() {
                return Err(Failure::Deadline);
            }
            // The client's own time limit, because it takes back a command that still waits to be sent. A future that is
            // merely dropped leaves it queued, and a stalled client would send it long after its caller has given up.
            let options = Options { timeout: Some(limit), ..Options::default() };
            let sent_by = lane.client().with_options(&options);
            // In a box of its own: it is several KiB, and would be copied with each of the futures around it.
            let answer = Box::pin(sent_by.custom(custom, args)).await;
            if let Some(node) = node {
                node.record(command, sent.elapsed());
            }
            answer.map_err(|error| {
                let is_late = *error.kind() == ErrorKind::Timeout && deadline.has_passed();
                if is_late { Failure::Deadline } else { Failure::Redis(error) }
            })
        }
        .instrument(span)
        .await
    }
}

fn count_failure(error: &RedisError) {
    metrics::counter!("socialgraph_redis_errors_total", "kind" => error.kind().to_str()).increment(1);
}

/// Why an attempt failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the deadline passed")]
    Deadline,
    #[error("{0}")]
    Redis(RedisError),
}
