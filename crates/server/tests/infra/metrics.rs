//! `/metrics` holds what the table of metrics says, and nothing else.

use std::collections::BTreeSet;

use socialgraph_server::telemetry::metrics::METRICS;

use crate::harness::{TestServer, behave};

#[tokio::test]
async fn names_and_label_keys_are_those_of_the_table() {
    let server = TestServer::start(&[]).await;
    let client = server.client();
    client.unary("ListFollowers", &[]).await.unwrap();
    client.unary("ListFollowers", &behave("internal")).await.unwrap_err();
    client.unary("NoSuchMethod", &[]).await.unwrap();
    server.tasks.spawn("dies", async {});
    while server.tasks.dead().is_empty() {
        tokio::task::yield_now().await;
    }

    let (status, text) = server.get("/metrics").await;
    assert_eq!(status, 200);
    let mut seen = BTreeSet::new();
    for series in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, labels) = series.split_once('{').unwrap_or_else(|| (series.split_once(' ').unwrap().0, ""));
        let name = ["_bucket", "_sum", "_count"].iter().find_map(|part| name.strip_suffix(part)).unwrap_or(name);
        let metric = METRICS.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("not listed: {name}"));
        let keys: Vec<&str> = labels
            .split_once('}')
            .map_or("", |(labels, _)| labels)
            .split("\",")
            .filter_map(|label| label.split_once('=').map(|(key, _)| key))
            .filter(|key| *key != "le")
            .collect();
        assert_eq!(keys, metric.labels, "{series}");
        seen.insert(name);
    }
    for expected in [
        "socialgraph_rpc_duration_seconds",
        "socialgraph_rpc_in_flight",
        "socialgraph_rpc_shed_total",
        "socialgraph_rpc_panics_total",
        "socialgraph_tasks_dead_total",
        "socialgraph_redis_client_replaced_total",
    ] {
        assert!(seen.contains(expected), "{expected} is missing");
    }
    assert!(text.contains("method=\"_OTHER\""), "unknown methods share a label");
    assert!(!text.contains("NoSuchMethod"));
}

#[tokio::test]
async fn field_r9_a_stall_of_the_runtime_is_seen() {
    let server = TestServer::start(&[]).await;
    let late = async || {
        let (_, text) = server.get("/metrics").await;
        let count = |name: &str| -> u64 {
            text.lines().find_map(|line| line.strip_prefix(name)).map_or(0, |count| count.trim().parse().unwrap())
        };
        count("socialgraph_runtime_delay_seconds_count")
            - count("socialgraph_runtime_delay_seconds_bucket{le=\"0.25\"}")
    };
    let before = late().await;
    // The runtime of this test has one thread: the watchdog is asleep, and this is what it is to notice.
    while late().await == before {
        std::thread::sleep(std::time::Duration::from_millis(400));
    }
}
