//! What `/metrics` shows after some work. In a process of its own, so that figures are exact.

use std::collections::{BTreeMap, BTreeSet};

use socialgraph::v1::{FollowRequest, FollowResponse, ScrollFeedRequest};
use socialgraph_server::telemetry::metrics::{Kind, METRICS};
use tonic::{Request, client::Grpc};
use tonic_prost::ProstCodec;

use crate::support::{Place, Process, Query, SIDES, eventually, row_at};

/// An id that nothing else in the text can look like.
const ID: i64 = 7_318_529_460_137_952_846;

/// A line of the text: a name, labels, a value.
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

fn samples(text: &str) -> Vec<Sample> {
    let lines = text.lines().filter(|line| line.starts_with("socialgraph_"));
    lines.map(sample).collect()
}

fn sample(line: &str) -> Sample {
    let (head, value) = line.rsplit_once(' ').expect("a value");
    let (name, labels) = head.split_once('{').unwrap_or((head, "}"));
    let labels = labels.strip_suffix('}').expect("labels").split("\",").filter(|label| !label.is_empty());
    let labels = labels.map(|label| {
        let (key, value) = label.split_once("=\"").expect("a label");
        (key.to_owned(), value.trim_end_matches('"').to_owned())
    });
    Sample { name: name.to_owned(), labels: labels.collect(), value: value.parse().expect("a number") }
}

/// The sum of all samples of a name whose labels include these.
fn total(samples: &[Sample], name: &str, labels: &[(&str, &str)]) -> f64 {
    let fits = |sample: &&Sample| {
        sample.name == name && labels.iter().all(|(key, value)| sample.labels.get(*key).is_some_and(|has| has == value))
    };
    samples.iter().filter(fits).map(|sample| sample.value).sum()
}

/// Two repeated follows, three unfollows of nothing, one refused follow, posts to a feed that was scrolled before, and some of
/// everything else.
async fn work(server: &Process) {
    let api = &server.api;
    for followee in [1, 2, 1, 1] {
        api.follow(ID, followee).await;
    }
    for followee in [2, 2, 3, 4] {
        api.unfollow(ID, followee).await;
    }
    let refused = FollowRequest { follower_id: ID, followee_id: ID, source: String::new() };
    assert!(api.social().follow(refused).await.is_err());
    api.import(vec![row_at(ID, 1, 5), row_at(ID, 2, 5), row_at(ID, 9, 5), row_at(ID, ID, 5), row_at(ID, 0, 5)]).await;
    assert!(api.is_following(ID, 1).await.is_some());
    api.batch_is_following(ID, &[1, ID - 1]).await;
    api.counts(&[ID]).await;
    for side in SIDES {
        api.walk(&Query::all(side, ID)).await;
    }
    let feed = ScrollFeedRequest { user_id: ID, ..ScrollFeedRequest::default() };
    assert!(api.scroll(feed.clone()).await.items.is_empty());
    for author in [1, ID] {
        api.publish(author, ID.to_string()).await;
    }
    api.scroll(feed).await;
    let mut client = Grpc::new(api.channel.clone());
    client.ready().await.unwrap();
    let path = format!("/nobody.{ID}/Calls{ID}").parse().unwrap();
    let codec = ProstCodec::<FollowRequest, FollowResponse>::default();
    let request = FollowRequest { follower_id: ID, followee_id: 1, source: String::new() };
    assert!(client.unary(Request::new(request), path, codec).await.is_err());
}

async fn they_count_what_was_done(place: Place) {
    let server = Process::serve(&place, &[]).await;
    work(&server).await;
    let samples = samples(&server.metrics().await);
    let noop = "socialgraph_follow_noop_total";
    assert_eq!(total(&samples, noop, &[("kind", "follow")]), 2.0);
    assert_eq!(total(&samples, noop, &[("kind", "unfollow")]), 3.0);
    let calls = "socialgraph_rpc_duration_seconds_count";
    for (method, code, expected) in [
        ("socialgraph.v1.SocialGraph/Follow", "OK", 4.0),
        ("socialgraph.v1.SocialGraph/Follow", "INVALID_ARGUMENT", 1.0),
        ("socialgraph.v1.SocialGraph/Unfollow", "OK", 4.0),
        ("socialgraph.v1.SocialGraph/ImportEdges", "OK", 1.0),
        ("socialgraph.v1.SocialGraph/PublishPost", "OK", 2.0),
        ("socialgraph.v1.SocialGraph/ScrollFeed", "OK", 2.0),
        ("socialgraph.v1.SocialGraph/ListFollowers", "OK", 1.0),
        ("socialgraph.v1.SocialGraph/CommonFollows", "OK", 0.0),
        ("_OTHER", "UNIMPLEMENTED", 1.0),
    ] {
        assert_eq!(total(&samples, calls, &[("method", method), ("code", code)]), expected, "{method} {code}");
    }
    let rows = "socialgraph_import_rows_total";
    for outcome in ["created", "existing", "superseded", "self", "invalid"] {
        assert_eq!(total(&samples, rows, &[("outcome", outcome)]), 1.0, "{outcome}");
    }
    assert_eq!(total(&samples, rows, &[("outcome", "over_limit")]), 0.0);
    assert_eq!(total(&samples, "socialgraph_relay_partitions", &[]), 64.0);
}

/// Those that show only once something went wrong.
const OF_TROUBLE: [&str; 4] = [
    "socialgraph_tasks_dead_total",
    "socialgraph_redis_errors_total",
    "socialgraph_redis_retries_total",
    "socialgraph_relay_replayed_total",
];

/// The label keys of every line that a metric may show as.
fn documented() -> BTreeMap<String, BTreeSet<&'static str>> {
    let mut documented = BTreeMap::new();
    for metric in METRICS {
        let labels: BTreeSet<&str> = metric.labels.iter().copied().collect();
        let is_histogram = matches!(metric.kind, Kind::Histogram(_));
        let parts: &[&str] = if is_histogram { &["_bucket", "_sum", "_count"] } else { &[""] };
        documented.extend(parts.iter().map(|part| (format!("{}{part}", metric.name), labels.clone())));
    }
    documented
}

/// The text, once it shows every metric: some show what background tasks find when they next look.
async fn all_of_them(server: &Process) -> String {
    let expected = documented().into_keys().filter(|name| !OF_TROUBLE.contains(&name.as_str()));
    let expected: BTreeSet<String> = expected.collect();
    let shown = eventually("every metric is shown", async || {
        let text = server.metrics().await;
        let shown: BTreeSet<String> = samples(&text).into_iter().map(|sample| sample.name).collect();
        println!("not shown: {:?}", expected.difference(&shown));
        expected.is_subset(&shown).then_some(text)
    });
    shown.await
}

async fn they_are_the_documented_ones_and_never_hold_an_id(place: Place) {
    let server = Process::serve(&place, &[]).await;
    work(&server).await;
    let documented = documented();
    let text = all_of_them(&server).await;
    assert!(!text.contains(&ID.to_string()), "an id in {text}");
    for sample in samples(&text) {
        let labels = documented.get(&sample.name).unwrap_or_else(|| panic!("not documented: {}", sample.name));
        let has = sample.labels.keys().map(String::as_str).filter(|&label| label != "le");
        assert_eq!(has.collect::<BTreeSet<_>>(), *labels, "{}", sample.name);
        let mut values = sample.labels.iter().filter(|(label, _)| *label != "le").map(|(_, value)| value);
        assert!(values.all(|value| value.parse::<i64>().is_err()), "a number as a label of {}", sample.name);
    }
}

async fn field_r9_nothing_in_the_process_grows_with_the_users(place: Place) {
    const USERS: i64 = 20_000;
    let server = Process::serve(&place, &[]).await;
    let touch = async |first: i64| {
        let users: Vec<i64> = (first..first + USERS).collect();
        let rows = users.iter().map(|&user| row_at(user, user + 1, 5)).collect();
        assert_eq!(server.api.import(rows).await.created, USERS);
        for users in users.chunks(200) {
            assert_eq!(server.api.counts(users).await.len(), users.len());
        }
    };
    work(&server).await;
    touch(1).await;
    // Not the lines: a command may have gone to a node for the first time.
    let labels = |text: &str| -> BTreeSet<(String, String)> {
        samples(text).into_iter().flat_map(|sample| sample.labels).collect()
    };
    let before = labels(&all_of_them(&server).await);
    touch(1 + USERS).await;
    assert_eq!(labels(&server.metrics().await), before);
}

on_each_backend!(
    field_r9_nothing_in_the_process_grows_with_the_users,
    they_are_the_documented_ones_and_never_hold_an_id,
    they_count_what_was_done,
);
