//! The typed configuration.

use std::{
    fmt,
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

/// The configuration of a server. [`super::SETTINGS`] documents each value.
#[expect(missing_docs, reason = "the table documents each setting, and docs/configuration.md is made from it")]
#[derive(Clone, Debug)]
pub struct Config {
    pub listen: SocketAddr,
    pub admin_listen: SocketAddr,
    pub admin_grpc_listen: SocketAddr,
    pub redis: Redis,
    pub keyspace: Keyspace,
    pub limits: Limits,
    pub server: Server,
    pub log: Log,
    pub telemetry: Telemetry,
    pub relay: Relay,
    pub changes: Changes,
    pub feed: Feed,
    pub watch: Watch,
}

impl Config {
    /// A configuration that holds nothing yet, not even the defaults.
    pub(super) fn blank() -> Self {
        let nowhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        Self {
            listen: nowhere,
            admin_listen: nowhere,
            admin_grpc_listen: nowhere,
            redis: Redis::default(),
            keyspace: Keyspace::default(),
            limits: Limits::default(),
            server: Server::default(),
            log: Log::default(),
            telemetry: Telemetry::default(),
            relay: Relay::default(),
            changes: Changes::default(),
            feed: Feed::default(),
            watch: Watch::default(),
        }
    }
}

/// Settings `redis.*`.
#[expect(missing_docs, reason = "the table documents each setting")]
#[derive(Clone, Debug, Default)]
pub struct Redis {
    pub urls: Vec<Seed>,
    pub mode: RedisMode,
    pub username: Option<String>,
    pub password: Secret,
    pub command_timeout: Duration,
    pub connect_timeout: Duration,
    pub max_in_flight: u32,
}

/// Settings `keyspace.*`.
#[expect(missing_docs, reason = "the table documents each setting")]
#[derive(Clone, Debug, Default)]
pub struct Keyspace {
    pub name: String,
    pub partitions: u32,
}

/// Settings `limits.*`.
#[expect(missing_docs, reason = "the table documents each setting")]
#[derive(Clone, Debug, Default)]
pub struct Limits {
    pub max_following: u32,
    /// `limits.follows-per-hour`.
    pub follows_per_hour: u32,
    pub max_in_flight_calls: u32,
    pub max_message_bytes: u32,
    pub max_streams_per_connection: u32,
    pub default_deadline: Duration,
}

/// Settings `server.*`.
#[expect(missing_docs, reason = "the table documents each setting")]
#[derive(Clone, Debug, Default)]
pub struct Server {
    pub keepalive_interval: Duration,
    pub keepalive_timeout: Duration,
    pub max_connection_age: Duration,
    pub drain_delay: Duration,
    pub drain_limit: Duration,
}

/// Settings `log.*`.
#[expect(missing_docs, reason = "the table documents each setting")]
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub filter: String,
    pub format: LogFormat,
}

/// Settings `telemetry.*`.
#[expect(missing_docs, reason = "the table documents each setting")]
#[derive(Clone, Debug, Default)]
pub struct Telemetry {
    pub otlp_endpoint: Option<String>,
    pub sample_ratio: f64,
    pub service_name: String,
}

/// Settings `relay.*`.
#[expect(missing_docs, reason = "the table documents each setting")]
#[derive(Clone, Debug, Default)]
pub struct Relay {
    pub interval: Duration,
    pub min_age: Duration,
    pub lease: Duration,
}

/// Settings `changes.*`.
#[expect(missing_docs, reason = "the table documents each setting")]
#[derive(Clone, Debug, Default)]
pub struct Changes {
    pub retention: Duration,
}

/// Settings `feed.*`.
#[expect(missing_docs, reason = "the table documents each setting")]
#[derive(Clone, Debug, Default)]
pub struct Feed {
    pub inbox_cap: u32,
    pub inbox_idle: Duration,
    pub pull_at: u32,
}

/// Settings `watch.*`.
#[expect(missing_docs, reason = "the table documents each setting")]
#[derive(Clone, Debug, Default)]
pub struct Watch {
    pub max_watches: u32,
    pub patience: Duration,
}

/// How Redis is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedisMode {
    /// Redis Cluster.
    #[default]
    Cluster,
    /// One server without cluster mode.
    Single,
}

/// How log records are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Text if stderr is a terminal, else JSON.
    #[default]
    Auto,
    /// One line of text a record.
    Text,
    /// One JSON object a record.
    Json,
}

/// A Redis node to ask first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// A host name or an IP address, without the brackets of IPv6.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// A text that never appears in logs, `Debug` or errors.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Option<String>);

impl Secret {
    /// Keeps `text`; an empty one means that there is none.
    pub fn new(text: &str) -> Self {
        Self((!text.is_empty()).then(|| text.to_owned()))
    }

    /// The text itself, for the one place that needs it.
    pub fn expose(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "<redacted>" } else { "<unset>" })
    }
}
