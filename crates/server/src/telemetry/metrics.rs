//! Metrics: the table of all that the process records, and the recorder.

use std::{fmt::Write as _, sync::OnceLock};

use metrics::Unit;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// Calls. From the price of an empty call to the default deadline, denser where a healthy call ends (0.5 to 25 ms).
const CALL_SECONDS: &[f64] = &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Delays of the runtime. The timer itself is exact to a millisecond.
const DELAY_SECONDS: &[f64] = &[0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

/// Redis commands. From a local round trip to the default command timeout; 2 ms is what a command may block Redis.
const COMMAND_SECONDS: &[f64] = &[0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0];

/// Fan-outs of posts. From one batch of followers to what an audience of hundreds of thousands takes.
const FANOUT_SECONDS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// What a metric is to Prometheus.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts values by the buckets given, by their upper bounds.
    Histogram(&'static [f64]),
}

/// A metric that the process records.
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// What it counts.
    pub unit: Unit,
    /// The keys of its labels. Values come from fixed sets, never from a caller.
    pub labels: &'static [&'static str],
    /// What it tells.
    pub doc: &'static str,
}

const fn metric(
    name: &'static str,
    kind: Kind,
    unit: Unit,
    labels: &'static [&'static str],
    doc: &'static str,
) -> Metric {
    Metric { name, kind, unit, labels, doc }
}

use Kind::{Counter, Gauge, Histogram};
use Unit::{Count, Seconds};

/// Duration of calls.
pub const RPC_DURATION: &str = "socialgraph_rpc_duration_seconds";
/// Calls in progress.
pub const RPC_IN_FLIGHT: &str = "socialgraph_rpc_in_flight";
/// Calls refused for overload.
pub const RPC_SHED: &str = "socialgraph_rpc_shed_total";
/// Panics in calls.
pub const RPC_PANICS: &str = "socialgraph_rpc_panics_total";
/// How late the runtime is.
pub const RUNTIME_DELAY: &str = "socialgraph_runtime_delay_seconds";

/// Every metric, in the order of the documentation.
pub const METRICS: &[Metric] = &[
    metric(
        RPC_DURATION,
        Histogram(CALL_SECONDS),
        Seconds,
        &["method", "code"],
        "Duration of calls from their first byte to the end of their answer, refused ones included. Its count is the \
         rate; code other than OK is the error rate. A method the server doesn't have is `_OTHER`.",
    ),
    metric(RPC_IN_FLIGHT, Gauge, Count, &[], "Calls in progress, health and reflection included."),
    metric(RPC_SHED, Counter, Count, &["method"], "Calls refused because too many were in progress."),
    metric(RPC_PANICS, Counter, Count, &["method"], "Calls that panicked. Each one is a bug."),
    metric(
        "socialgraph_tasks_dead_total",
        Counter,
        Count,
        &["task"],
        "Background tasks that ended before they were told to. The server is not ready any more and must be restarted.",
    ),
    metric(
        RUNTIME_DELAY,
        Histogram(DELAY_SECONDS),
        Seconds,
        &[],
        "How late the runtime ran a task that was due, ten times a second. More than a few milliseconds means that \
         something blocked it, or that the machine has too little processor time.",
    ),
    metric(
        "socialgraph_redis_command_duration_seconds",
        Histogram(COMMAND_SECONDS),
        Seconds,
        &["command", "node"],
        "Duration of commands to Redis, seen from here, waiting included.",
    ),
    metric("socialgraph_redis_errors_total", Counter, Count, &["kind"], "Commands that failed, after all retries."),
    metric("socialgraph_redis_retries_total", Counter, Count, &["kind"], "Repetitions of commands, by their cause."),
    metric(
        "socialgraph_segment_rounds_total",
        Counter,
        Count,
        &[],
        "Scripts that were run once more with segments of long lists that they asked for.",
    ),
    metric(
        "socialgraph_converted_lists_total",
        Counter,
        Count,
        &[],
        "Long lists of the keyspace format 1 that were made into segments.",
    ),
    metric(
        "socialgraph_spread_segments_total",
        Counter,
        Count,
        &[],
        "Segments of very long lists of followers that were moved into shards in other partitions.",
    ),
    metric("socialgraph_redis_in_flight", Gauge, Count, &["node"], "Commands sent or waiting to be sent."),
    metric(
        "socialgraph_redis_client_replaced_total",
        Counter,
        Count,
        &[],
        "Redis clients given up for new ones, because they did not recover.",
    ),
    metric(
        "socialgraph_follow_noop_total",
        Counter,
        Count,
        &["kind"],
        "Repeated follows and unfollows of nothing (kind: follow, unfollow). They mean a client out of step.",
    ),
    metric(
        "socialgraph_relay_lag_seconds",
        Gauge,
        Seconds,
        &[],
        "Age of the oldest change whose other half is pending.",
    ),
    metric(
        "socialgraph_relay_replayed_total",
        Counter,
        Count,
        &["kind"],
        "Halves of changes that the relay, or a read that names the change, completed in place of the call that made them \
         (kind: follow, unfollow, block, post).",
    ),
    metric("socialgraph_relay_partitions", Gauge, Count, &[], "Partitions whose relay this server holds."),
    metric(
        "socialgraph_follows_withdrawn_total",
        Counter,
        Count,
        &[],
        "Follows that were withdrawn because the followee's partition refused them: of users who are not active, or who block the \
         follower.",
    ),
    metric(
        "socialgraph_operations_running",
        Gauge,
        Count,
        &[],
        "Users whom this server is removing, or whose edges it is moving since their state was set, those included that wait for their turn.",
    ),
    metric(
        "socialgraph_operations_done_total",
        Counter,
        Count,
        &[],
        "Operations about users that this server ended: deletions, and moves of edges.",
    ),
    metric(
        "socialgraph_edges_moved_total",
        Counter,
        Count,
        &[],
        "Edges of users whose state was set that were looked at, and moved if they were not yet.",
    ),
    metric(
        "socialgraph_deletion_removed_total",
        Counter,
        Count,
        &["kind"],
        "What was removed of deleted users (kind: edge, post, like).",
    ),
    metric(
        "socialgraph_drifts_found_total",
        Counter,
        Count,
        &["kind"],
        "What VerifyUser and RepairUser found to differ that should be the same (kind: missing_follower, ghost_follower, \
         wrong_time, missing_id, stray_id, wrong_count). More than none means a loss of data in Redis, or a bug.",
    ),
    metric("socialgraph_drifts_repaired_total", Counter, Count, &["kind"], "What RepairUser mended of that."),
    metric("socialgraph_settle_queue", Gauge, Count, &[], "Changes waiting to be marked as done."),
    metric("socialgraph_import_rows_total", Counter, Count, &["outcome"], "Rows of ImportEdges."),
    metric(
        "socialgraph_import_checkpoints_total",
        Counter,
        Count,
        &[],
        "Checkpoints of imports with an id: one for each 262,144 rows, and one at the end.",
    ),
    metric("socialgraph_export_edges_total", Counter, Count, &[], "Edges that ExportEdges read."),
    metric(
        "socialgraph_fanout_deliveries_total",
        Counter,
        Count,
        &["outcome"],
        "Followers that a post was brought to. `pushed`: it is in their inbox; `no_inbox`: they have none at present; \
         `below_floor`: it is older than what their inbox holds.",
    ),
    metric(
        "socialgraph_fanout_lag_seconds",
        Histogram(FANOUT_SECONDS),
        Seconds,
        &[],
        "Time from a post's commit until its last follower was reached.",
    ),
    metric(
        "socialgraph_fanout_queue",
        Gauge,
        Count,
        &[],
        "Posts that are on their way to their audience, those being delivered included. At most 4,096, and 64 of one author: \
         more are not taken.",
    ),
    metric("socialgraph_fanout_running", Gauge, Count, &[], "Posts that are being brought to followers."),
    metric(
        "socialgraph_feed_pages_total",
        Counter,
        Count,
        &["source"],
        "Pages of feeds by where their items came from: `inbox`, or the authors' `timelines`. A page of both counts for \
         both.",
    ),
    metric(
        "socialgraph_delivery_turns_total",
        Counter,
        Count,
        &["to"],
        "Authors whose followers were told that posts are not pushed to them any more (to: pull), or are again (push).",
    ),
    metric(
        "socialgraph_feed_dangling_total",
        Counter,
        Count,
        &[],
        "Entries of inboxes that were passed over because their posts are not there: deleted, or lost. They are taken out.",
    ),
    metric(
        "socialgraph_feed_builds_total",
        Counter,
        Count,
        &["outcome"],
        "Inboxes built from timelines (outcome: built, failed).",
    ),
    metric("socialgraph_watches", Gauge, Count, &[], "Calls of WatchRelationships in progress."),
    metric("socialgraph_watch_changes_total", Counter, Count, &[], "Changes that were handed to watches."),
    metric(
        "socialgraph_watches_ended_total",
        Counter,
        Count,
        &["reason"],
        "Watches that ended. `client`: their client left; `slow`: it did not take its messages; `expired`: what came next was \
         trimmed; `stopping`: the server stopped; `failed`: the logs could not be read.",
    ),
];

/// Renders the metrics. Clones render the same.
#[derive(Clone)]
pub struct MetricsHandle(PrometheusHandle);

impl MetricsHandle {
    /// The metrics in Prometheus' text format.
    pub fn render(&self) -> String {
        self.0.render()
    }

    /// Moves recorded values into their buckets. Until then, or a render, they take memory; call it every few seconds.
    pub fn upkeep(&self) {
        self.0.run_upkeep();
    }
}

/// Installs the recorder for the process, or gives the one that is installed.
pub fn install() -> MetricsHandle {
    static HANDLE: OnceLock<MetricsHandle> = OnceLock::new();
    HANDLE.get_or_init(build).clone()
}

fn build() -> MetricsHandle {
    let builder = METRICS.iter().fold(PrometheusBuilder::new(), |builder, metric| match metric.kind {
        Counter | Gauge => builder,
        Histogram(bounds) => with_buckets(builder, metric.name, bounds),
    });
    let recorder = builder.build_recorder();
    let handle = MetricsHandle(recorder.handle());
    if metrics::set_global_recorder(recorder).is_err() {
        // Metrics of this process go elsewhere then, and ours stay empty.
        tracing::warn!("another metrics recorder was installed already");
    }
    METRICS.iter().for_each(describe);
    handle
}

fn with_buckets(builder: PrometheusBuilder, name: &str, bounds: &[f64]) -> PrometheusBuilder {
    match builder.set_buckets_for_metric(Matcher::Full(name.to_owned()), bounds) {
        Ok(builder) => builder,
        // Only for an empty list of buckets, and ours are constants.
        Err(error) => unreachable!("buckets of {name}: {error}"),
    }
}

fn describe(metric: &Metric) {
    match metric.kind {
        Counter => {
            metrics::describe_counter!(metric.name, metric.unit, metric.doc);
            if metric.labels.is_empty() {
                // Shows 0 from the start, so that its first increase is seen by `rate`.
                metrics::counter!(metric.name).absolute(0);
            }
        }
        Gauge => metrics::describe_gauge!(metric.name, metric.unit, metric.doc),
        Histogram(_) => metrics::describe_histogram!(metric.name, metric.unit, metric.doc),
    }
}

/// The text of `docs/metrics.md`.
pub fn reference() -> String {
    let mut text = "\
# Metrics

<!-- Generated by `socialgraph metrics-reference`. Edit crates/server/src/telemetry/metrics.rs instead. -->

Served at `/metrics` of the admin port, in Prometheus' text format. Labels take values from fixed sets.

| metric | type | labels | meaning |
| --- | --- | --- | --- |
"
    .to_owned();
    for Metric { name, kind, labels, doc, .. } in METRICS {
        let labels = labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
        let kind = match kind {
            Counter => "counter".to_owned(),
            Gauge => "gauge".to_owned(),
            Histogram(bounds) => format!("histogram, buckets {bounds:?}"),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| `{name}` | {kind} | {labels} | {doc} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_reference_in_docs_is_the_generated_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
        assert!(
            fs::read_to_string(path).unwrap_or_default() == reference(),
            "docs/metrics.md is out of date; run: cargo run --release --bin socialgraph -- metrics-reference > \
             docs/metrics.md"
        );
    }

    #[test]
    fn names_say_what_they_count() {
        for Metric { name, kind, unit, .. } in METRICS {
            assert!(name.starts_with("socialgraph_"));
            assert_eq!(matches!(kind, Counter), name.ends_with("_total"), "{name}");
            assert_eq!(matches!(unit, Seconds), name.ends_with("_seconds"), "{name}");
        }
    }

    #[test]
    fn several_servers_share_the_recorder() {
        let (first, second) = (install(), install());
        metrics::gauge!("socialgraph_settle_queue").set(7.0);
        assert!(first.render().contains("socialgraph_settle_queue 7"));
        assert!(second.render().contains("socialgraph_settle_queue 7"));
    }
}
