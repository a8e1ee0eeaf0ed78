//! The settings. Everything that is to be known about one is in its row.

use super::{
    check::{self, Rule},
    field::{Field, Range},
    values::Config,
};

/// One setting.
pub struct Setting {
    /// The name in the documentation and in the file, such as `redis.urls`: key `urls` of table `[redis]`.
    pub key: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// The default as text. Empty: unset.
    pub default: &'static str,
    /// The default of `dev`, where it differs.
    pub dev_default: Option<&'static str>,
    /// The smallest and the largest value allowed.
    pub range: Range,
    /// What a value must fulfil besides.
    pub rule: Option<Rule>,
    /// Where the value lives.
    pub field: fn(&mut Config) -> &mut dyn Field,
}

impl Setting {
    const fn new(
        key: &'static str,
        default: &'static str,
        field: fn(&mut Config) -> &mut dyn Field,
        doc: &'static str,
    ) -> Self {
        Self { key, doc, default, dev_default: None, range: None, rule: None, field }
    }

    const fn range(self, low: &'static str, high: &'static str) -> Self {
        Self { range: Some((low, high)), ..self }
    }

    const fn rule(self, rule: Rule) -> Self {
        Self { rule: Some(rule), ..self }
    }

    const fn dev(self, default: &'static str) -> Self {
        Self { dev_default: Some(default), ..self }
    }

    /// The command line flag without its dashes, such as `redis-urls`.
    pub fn flag(&self) -> String {
        self.key.replace('.', "-")
    }

    /// The environment variable, such as `SOCIALGRAPH_REDIS_URLS`.
    pub fn env(&self) -> String {
        format!("{}{}", super::load::ENV_PREFIX, self.flag().replace('-', "_").to_uppercase())
    }

    /// The table of the file that holds it, such as `redis`; empty at the top.
    pub fn section(&self) -> &'static str {
        self.key.split_once('.').map_or("", |(section, _)| section)
    }

    /// Sets the value in `config`.
    ///
    /// # Errors
    ///
    /// What is wrong with the text; a secret isn't repeated.
    pub fn set(&self, config: &mut Config, text: &str) -> Result<(), String> {
        if let Some(rule) = self.rule
            && !(rule.holds)(text)
        {
            return Err(format!("{text:?} is not {}", rule.wanted));
        }
        (self.field)(config).set(text, self.range)
    }
}

/// Every setting, in the order of the documentation.
pub const SETTINGS: &[Setting] = &[
    Setting::new("listen", "127.0.0.1:50051", |c| &mut c.listen, "Where to serve gRPC. Port 0 takes a free one."),
    Setting::new(
        "admin-listen",
        "127.0.0.1:9464",
        |c| &mut c.admin_listen,
        "Where to serve `/metrics`, `/livez` and `/readyz` over HTTP, without encryption or authentication.",
    ),
    Setting::new(
        "admin-grpc-listen",
        "127.0.0.1:50052",
        |c| &mut c.admin_grpc_listen,
        "Where to serve `socialgraph.admin.v1.Admin` over gRPC, without encryption or authentication: whoever reaches it can see \
         where data lives, and have it compared and mended.",
    ),
    Setting::new(
        "redis.urls",
        "",
        |c| &mut c.redis.urls,
        "Redis nodes to ask first, separated by commas; the others are discovered. `serve` requires it; `dev` starts \
         its own nodes.",
    ),
    Setting::new("redis.mode", "cluster", |c| &mut c.redis.mode, "Whether Redis is a cluster or one server."),
    Setting::new("redis.username", "", |c| &mut c.redis.username, "The ACL user at Redis. Unset: Redis' default user."),
    Setting::new(
        "redis.password",
        "",
        |c| &mut c.redis.password,
        "The password at Redis. Better given by environment than by flag: other users of a machine see flags.",
    ),
    Setting::new(
        "redis.command-timeout",
        "1s",
        |c| &mut c.redis.command_timeout,
        "How long a command may take, waiting included. A call's own deadline may shorten it; background work and large \
         answers may take three times as long.",
    )
    .range("1ms", "1m"),
    Setting::new(
        "redis.connect-timeout",
        "500ms",
        |c| &mut c.redis.connect_timeout,
        "How long connecting to a node may take.",
    )
    .range("1ms", "1m"),
    Setting::new(
        "redis.max-in-flight",
        "4096",
        |c| &mut c.redis.max_in_flight,
        "Commands in flight per Redis node. More are refused at once, so that a slow node cannot fill the memory.",
    )
    .range("1", "65536"),
    Setting::new(
        "keyspace.name",
        "sg",
        |c| &mut c.keyspace.name,
        "Starts every key, so that several graphs can share a Redis. Never change it on existing data.",
    )
    .rule(check::KEYSPACE_NAME),
    Setting::new(
        "keyspace.partitions",
        "1024",
        |c| &mut c.keyspace.partitions,
        "Partitions that users are spread over. Never change it on existing data.",
    )
    .range("64", "4096")
    .rule(check::POWER_OF_TWO),
    Setting::new(
        "limits.max-following",
        "10000",
        |c| &mut c.limits.max_following,
        "How many users one user may follow.",
    )
    .range("1", "50000"),
    Setting::new(
        "limits.follows-per-hour",
        "0",
        |c| &mut c.limits.follows_per_hour,
        "How many follows one user may make in an hour, in Follow and BatchFollow; 0: as many as they like. All of them may come \
         at once.",
    )
    .range("0", "1000000"),
    Setting::new(
        "limits.max-in-flight-calls",
        "4096",
        |c| &mut c.limits.max_in_flight_calls,
        "Calls in progress in the whole process. More are refused with RESOURCE_EXHAUSTED. Health and reflection are \
         exempt.",
    )
    .range("1", "1000000"),
    Setting::new(
        "limits.max-message-bytes",
        "1048576",
        |c| &mut c.limits.max_message_bytes,
        "The size of one request message, decompressed, in bytes. gRPC answers a larger one with OUT_OF_RANGE.",
    )
    .range("1024", "4194304"),
    Setting::new(
        "limits.max-streams-per-connection",
        "1024",
        |c| &mut c.limits.max_streams_per_connection,
        "Calls in progress on one connection. A client waits before it starts more.",
    )
    .range("1", "65536"),
    Setting::new(
        "limits.default-deadline",
        "10s",
        |c| &mut c.limits.default_deadline,
        "The deadline of a call whose caller sends none. Not for ImportEdges, ExportEdges, WatchRelationships, health and reflection. A caller's own \
         deadline counts up to 1h.",
    )
    .range("1ms", "1h"),
    Setting::new(
        "server.keepalive-interval",
        "30s",
        |c| &mut c.server.keepalive_interval,
        "How often an HTTP/2 ping checks that a connection's peer is there.",
    )
    .range("1s", "1h"),
    Setting::new(
        "server.keepalive-timeout",
        "10s",
        |c| &mut c.server.keepalive_timeout,
        "How long a peer may take to answer the ping before its connection is closed.",
    )
    .range("100ms", "5m"),
    Setting::new(
        "server.max-connection-age",
        "30m",
        |c| &mut c.server.max_connection_age,
        "When a connection is asked to close once its calls are done, so that load spreads over new servers; ±10 %, \
         drawn once per process. 0s: never.",
    )
    .range("0s", "1day"),
    Setting::new(
        "server.drain-delay",
        "5s",
        |c| &mut c.server.drain_delay,
        "How long to go on serving after health has turned to NOT_SERVING, so that load balancers notice.",
    )
    .range("0s", "5m")
    .dev("0s"),
    Setting::new(
        "server.drain-limit",
        "20s",
        |c| &mut c.server.drain_limit,
        "How long calls in progress may take to end after the drain delay. What is left then is cut off.",
    )
    .range("1ms", "10m"),
    Setting::new(
        "log.filter",
        "info,fred=error",
        |c| &mut c.log.filter,
        "What to log: levels by module, as in `info,socialgraph_store=debug`. Redis' client, `fred`, warns of every lost \
         connection; what comes of it is told by the store.",
    )
    .rule(check::LOG_FILTER),
    Setting::new(
        "log.format",
        "auto",
        |c| &mut c.log.format,
        "How to log to stderr. `auto`: text on a terminal, else JSON.",
    ),
    Setting::new(
        "telemetry.otlp-endpoint",
        "",
        |c| &mut c.telemetry.otlp_endpoint,
        "Where to send traces by OTLP over gRPC, such as `http://localhost:4317`. Unset: nowhere.",
    )
    .rule(check::HTTP_URL),
    Setting::new(
        "telemetry.sample-ratio",
        "0.01",
        |c| &mut c.telemetry.sample_ratio,
        "The part of traces begun here that is sent. A caller's own decision on a trace is respected.",
    )
    .range("0", "1"),
    Setting::new(
        "telemetry.service-name",
        "socialgraph",
        |c| &mut c.telemetry.service_name,
        "`service.name` of the traces.",
    )
    .rule(check::NOT_EMPTY),
    Setting::new(
        "relay.interval",
        "1s",
        |c| &mut c.relay.interval,
        "How often the relay looks for changes whose other half is pending.",
    )
    .range("1ms", "1m"),
    Setting::new(
        "relay.min-age",
        "1s",
        |c| &mut c.relay.min_age,
        "How old a pending change must be before the relay takes it over from the server that wrote it.",
    )
    .range("1ms", "5m"),
    Setting::new(
        "relay.lease",
        "10s",
        |c| &mut c.relay.lease,
        "How long a server holds a partition's relay without renewal. After a crash others wait as long.",
    )
    .range("100ms", "5m"),
    Setting::new(
        "changes.retention",
        "1h",
        |c| &mut c.changes.retention,
        "How long the log of changes is kept once both halves of a change are done.",
    )
    .range("1s", "30days"),
    Setting::new(
        "feed.inbox-cap",
        "800",
        |c| &mut c.feed.inbox_cap,
        "How many of a feed's newest posts are kept at hand, in an inbox. Older ones are gathered from their authors when \
         somebody scrolls that far.",
    )
    .range("10", "1000"),
    Setting::new(
        "feed.inbox-idle",
        "14days",
        |c| &mut c.feed.inbox_idle,
        "How long the inbox is kept of a user who does not scroll. The first scroll after that makes it anew.",
    )
    .range("1m", "365days"),
    Setting::new(
        "feed.pull-at",
        "10000",
        |c| &mut c.feed.pull_at,
        "Posts of authors with more followers than this are not pushed to the followers' inboxes; readers pull them from the \
         author. Below four fifths of it they are pushed again. 0: all posts are pushed.",
    )
    .range("0", "1000000000"),
    Setting::new(
        "watch.max-watches",
        "64",
        |c| &mut c.watch.max_watches,
        "Calls of WatchRelationships at a time. More are refused with RESOURCE_EXHAUSTED. Each reads the logs by itself.",
    )
    .range("1", "4096"),
    Setting::new(
        "watch.patience",
        "30s",
        |c| &mut c.watch.patience,
        "How long a watch waits for a client that does not take its messages, before it ends.",
    )
    .range("100ms", "1h"),
];
