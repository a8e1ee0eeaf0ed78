//! Checks that a type and a range cannot express: of one value, and across values.

use std::time::Duration;

use tracing_subscriber::EnvFilter;

use super::{Config, Mode, RedisMode, load::Problem};

/// What a setting's text must fulfil.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Completes "the value is …".
    pub wanted: &'static str,
    /// Whether the text fulfils it.
    pub holds: fn(&str) -> bool,
}

pub(super) const KEYSPACE_NAME: Rule = Rule {
    wanted: "1 to 32 of a-z, 0-9, _ and -",
    holds: |text| {
        (1..=32).contains(&text.len()) && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
    },
};

pub(super) const POWER_OF_TWO: Rule =
    Rule { wanted: "a power of two", holds: |text| text.parse().is_ok_and(u32::is_power_of_two) };

pub(super) const LOG_FILTER: Rule =
    Rule { wanted: "a log filter", holds: |text| EnvFilter::builder().parse(text).is_ok() };

pub(super) const HTTP_URL: Rule = Rule {
    wanted: "a URL http://host:port",
    holds: |text| {
        text.is_empty()
            || text.parse::<http::Uri>().is_ok_and(|uri| uri.scheme_str() == Some("http") && uri.host().is_some())
    },
};

pub(super) const NOT_EMPTY: Rule = Rule { wanted: "a non-empty text", holds: |text| !text.is_empty() };

/// A relation between settings: the key to report, whether it is violated, and what holds instead.
struct Relation {
    key: &'static str,
    violated: fn(&Config, Mode) -> bool,
    what: &'static str,
}

/// A lease must survive a renewal that comes late by one interval.
const INTERVALS_PER_LEASE: u32 = 3;

const RELATIONS: &[Relation] = &[
    Relation {
        key: "redis.urls",
        violated: |c, mode| mode == Mode::Serve && c.redis.urls.is_empty(),
        what: "is required: at least one host:port",
    },
    Relation {
        key: "redis.mode",
        violated: |c, _| c.redis.mode == RedisMode::Single && c.redis.urls.len() > 1,
        what: "single takes exactly one address in redis.urls",
    },
    Relation {
        key: "redis.username",
        violated: |c, _| c.redis.username.is_some() && c.redis.password.expose().is_none(),
        what: "needs redis.password",
    },
    Relation {
        key: "admin-listen",
        violated: |c, _| c.admin_listen.port() != 0 && c.admin_listen == c.listen,
        what: "must differ from listen",
    },
    Relation {
        key: "admin-grpc-listen",
        violated: |c, _| c.admin_grpc_listen.port() != 0 && [c.listen, c.admin_listen].contains(&c.admin_grpc_listen),
        what: "must differ from listen and admin-listen",
    },
    Relation {
        key: "relay.lease",
        violated: |c, _| c.relay.lease < c.relay.interval * INTERVALS_PER_LEASE,
        what: "must be at least three times relay.interval",
    },
    Relation {
        key: "server.max-connection-age",
        violated: |c, _| (Duration::from_nanos(1)..Duration::from_secs(1)).contains(&c.server.max_connection_age),
        what: "must be 0s or at least 1s",
    },
];

/// The violated relations of `config`.
pub(super) fn relations(config: &Config, mode: Mode) -> impl Iterator<Item = Problem> {
    RELATIONS
        .iter()
        .filter(move |relation| (relation.violated)(config, mode))
        .map(|relation| Problem { source: relation.key.to_owned(), what: relation.what.to_owned() })
}
