use std::io::Write as _;

use super::*;

fn env(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn flags(pairs: &[(&'static str, &str)]) -> Flags {
    Flags { file: None, values: pairs.iter().map(|(key, text)| (*key, (*text).to_owned())).collect() }
}

fn file(content: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content.as_bytes()).unwrap();
    file
}

fn problems(result: Result<Config, Problems>) -> Vec<String> {
    result.unwrap_err().0.into_iter().map(|problem| format!("{}: {}", problem.source, problem.what)).collect()
}

#[test]
fn every_default_is_valid_and_shows_as_written() {
    let config = load(Mode::Dev, &Flags::default(), env(&[])).unwrap();
    for (setting, (key, shown)) in SETTINGS.iter().zip(config.effective()) {
        assert_eq!((setting.key, setting.dev_default.unwrap_or(setting.default)), (key, shown.as_str()));
    }
    let mut keys: Vec<_> = SETTINGS.iter().map(Setting::env).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), SETTINGS.len());
}

#[test]
fn no_limit_is_unlimited() {
    let config = load(Mode::Dev, &Flags::default(), env(&[])).unwrap();
    let durations = [
        config.redis.command_timeout,
        config.redis.connect_timeout,
        config.limits.default_deadline,
        config.server.keepalive_timeout,
        config.server.drain_limit,
    ];
    assert!(durations.iter().all(|limit| (1..=60_000).contains(&limit.as_millis())));
    let counts = [
        config.redis.max_in_flight,
        config.limits.max_in_flight_calls,
        config.limits.max_message_bytes,
        config.limits.max_streams_per_connection,
    ];
    assert!(counts.iter().all(|limit| (1..=1 << 20).contains(limit)));
}

#[test]
fn ranges_are_those_that_the_graph_can_serve() {
    for (key, range) in [
        ("limits.max-following", model::limits::MAX_FOLLOWING_RANGE),
        ("limits.follows-per-hour", model::limits::FOLLOWS_PER_HOUR_RANGE),
        ("feed.inbox-cap", model::limits::INBOX_CAP_RANGE),
    ] {
        let setting = SETTINGS.iter().find(|setting| setting.key == key).unwrap();
        let (low, high) = setting.range.unwrap();
        assert_eq!(low.parse::<u32>().unwrap()..=high.parse().unwrap(), range, "{key}");
    }
}

#[test]
fn the_largest_post_fits_into_a_message() {
    let config = load(Mode::Dev, &Flags::default(), env(&[])).unwrap();
    assert!(config.limits.max_message_bytes as usize >= 2 * model::limits::MAX_POST_BYTES);
}

#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file() {
    let file = file("[keyspace]\nname = 'file'\n[limits]\nmax-following = 7\n[redis]\nurls = ['a:1', 'b:2']\n");
    let path = file.path().to_str().unwrap();
    let env = env(&[
        ("SOCIALGRAPH_CONFIG", path),
        ("SOCIALGRAPH_ENDPOINT", "http://elsewhere"),
        ("SOCIALGRAPH_KEYSPACE_NAME", "env"),
        ("SOCIALGRAPH_RELAY_LEASE", "20s"),
        ("HOME", "/"),
    ]);
    let config = load(Mode::Serve, &flags(&[("relay.lease", "30s")]), env).unwrap();
    assert_eq!(config.redis.urls.len(), 2);
    assert_eq!(config.limits.max_following, 7);
    assert_eq!(config.keyspace.name, "env");
    assert_eq!(config.relay.lease.as_secs(), 30);
    assert_eq!(config.server.drain_delay.as_secs(), 5);
}

#[test]
fn every_problem_of_every_source_is_reported_at_once() {
    let file = file("listen = 1\nnonsense = 1\n[redis]\ncommand-timeout = '2h'\n[redis.urls]\nx = 1\n[other]\na = 1\n");
    let env = env(&[
        ("SOCIALGRAPH_KEYSPACE_PARTITIONS", "1000"),
        ("SOCIALGRAPH_TYPO", "1"),
        ("SOCIALGRAPH_REDIS_USERNAME", "u"),
        ("SOCIALGRAPH_TELEMETRY_OTLP_ENDPOINT", "localhost:4317"),
    ]);
    let mut flags = flags(&[("limits.max-following", "0"), ("log.filter", "a=b=c"), ("relay.interval", "9s")]);
    flags.file = Some(file.path().to_owned());
    let at = |key: &str| format!("file {}, key {key}", file.path().display());
    let expected = [
        format!("{}: \"1\" is not an IP address and port", at("listen")),
        format!("{}: unknown", at("nonsense")),
        format!("{}: unknown", at("other")),
        format!("{}: \"2h\" is not within 1ms to 1m", at("redis.command-timeout")),
        format!("{}: a table is no value of a setting", at("redis.urls")),
        "environment variable SOCIALGRAPH_KEYSPACE_PARTITIONS: \"1000\" is not a power of two".to_owned(),
        "environment variable SOCIALGRAPH_TELEMETRY_OTLP_ENDPOINT: \"localhost:4317\" is not a URL http://host:port"
            .to_owned(),
        "environment variable SOCIALGRAPH_TYPO: unknown".to_owned(),
        "flag --limits-max-following: \"0\" is not within 1 to 50000".to_owned(),
        "flag --log-filter: \"a=b=c\" is not a log filter".to_owned(),
        "redis.urls: is required: at least one host:port".to_owned(),
        "redis.username: needs redis.password".to_owned(),
        "relay.lease: must be at least three times relay.interval".to_owned(),
    ];
    let mut found = problems(load(Mode::Serve, &flags, env));
    found.sort();
    let mut expected = expected.to_vec();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn a_secret_is_in_no_error_and_no_view() {
    let broken = file("[redis]\npassword = 'hunter2\n");
    let flags = Flags { file: Some(broken.path().to_owned()), ..Flags::default() };
    let error = load(Mode::Dev, &flags, env(&[])).unwrap_err().to_string();
    assert!(error.contains("line 2") && !error.contains("hunter2"), "{error}");

    let config = load(Mode::Dev, &Flags::default(), env(&[("SOCIALGRAPH_REDIS_PASSWORD", "hunter2")])).unwrap();
    assert_eq!(config.redis.password.expose(), Some("hunter2"));
    assert!(!format!("{config:?} {:?}", config.effective()).contains("hunter2"));
}

#[test]
fn variables_that_kubernetes_sets_for_a_service_of_our_name_are_no_problem() {
    let links = [
        "SOCIALGRAPH_SERVICE_HOST",
        "SOCIALGRAPH_SERVICE_PORT",
        "SOCIALGRAPH_SERVICE_PORT_GRPC",
        "SOCIALGRAPH_PORT",
        "SOCIALGRAPH_PORT_50051_TCP",
        "SOCIALGRAPH_PORT_50051_TCP_ADDR",
        "SOCIALGRAPH_HEADLESS_PORT_50051_TCP_PROTO",
    ];
    let env = env(&links.map(|name| (name, "tcp://10.0.0.1:50051")));
    load(Mode::Dev, &Flags::default(), env).unwrap();
    for ours in ["SOCIALGRAPH_PORTS", "SOCIALGRAPH_REDIS_PORT_NUMBER", "SOCIALGRAPH_SERVICE_PORTAL"] {
        assert!(!is_service_link(ours), "{ours}");
    }
}
