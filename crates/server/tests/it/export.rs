//! ExportEdges.

use std::{collections::BTreeMap, sync::atomic::AtomicBool, sync::atomic::Ordering};

use rand::Rng;
use socialgraph::v1::{ExportEdgesRequest, social_graph_client::SocialGraphClient};
use tonic::transport::Endpoint;

use crate::support::{
    Api, Instance, Place, Process, Refusal, Row, assert_whole, eventually, in_order, refused, row_at, rows, seeded,
};

const BEGIN: i64 = 1_600_000_000_000_000;
const USERS: i64 = 300;
/// Has a list in segments.
const BUSY: i64 = 1_000_001;
/// Whom everybody follows.
const STAR: i64 = 1_000_002;

/// A graph with lists of many lengths and times that many edges have, in the order of an export.
fn graph(place: &Place) -> Vec<Row> {
    let mut random = seeded();
    let mut edges = BTreeMap::new();
    for user in 1..=USERS {
        let id = if user % 3 == 0 { i64::MAX - user } else { user };
        edges.insert((id, STAR), BEGIN);
        for _ in 0..random.random_range(0..if user % 50 == 0 { 300 } else { 10 }) {
            edges.insert((id, random.random_range(1_000..2_000)), BEGIN + random.random_range(0..5));
        }
    }
    edges.extend((1..=1_500).map(|followee| ((BUSY, followee), BEGIN + followee / 7)));
    let mut rows: Vec<Row> = edges.into_iter().map(|((follower, followee), at)| (follower, followee, at)).collect();
    in_order(place, &mut rows);
    rows
}

async fn fill(api: &Api, graph: &[Row]) {
    let rows = graph.iter().map(|&(follower, followee, at)| row_at(follower, followee, at)).collect();
    assert_eq!(api.import(rows).await.created, graph.len() as i64);
}

async fn it_is_the_graph_and_goes_on_from_each_token(place: Place) {
    let api = place.serve(&[]).await;
    assert!(api.export("").await.is_empty());
    let graph = graph(&place);
    fill(&api, &graph).await;
    let chunks = api.export("").await;
    assert_whole(&place, &chunks);
    assert!(rows(&chunks) == graph);
    assert!(chunks.len() > 50, "{} messages", chunks.len());
    for at in (0..chunks.len()).step_by(7).chain([chunks.len() - 1]) {
        let rest = api.export(&chunks[at].resume_token).await;
        assert!(rows(&rest) == rows(&chunks[at + 1..]), "after message {at}");
    }
}

async fn who_ceased_to_follow_is_not_in_it(place: Place) {
    let api = place.serve(&[]).await;
    fill(&api, &[(1, 2, BEGIN), (3, 2, BEGIN), (3, 4, BEGIN)]).await;
    api.unfollow(1, 2).await;
    api.unfollow(3, 2).await;
    assert_eq!(rows(&api.export("").await), [(3, 4, BEGIN)]);
}

/// Somebody who follows ever new users, and unfollows them in the same order: at any moment a row of `length` or one more.
#[derive(Clone, Copy)]
struct Window {
    user: i64,
    length: i64,
}

/// About a list of one, one that is about to become segments, and one of many.
const WINDOWS: [Window; 5] = [
    Window { user: 51, length: 0 },
    Window { user: 52, length: 1 },
    Window { user: 53, length: 127 },
    Window { user: 54, length: 128 },
    Window { user: 55, length: 700 },
];
const FIRST: i64 = 10_000;

async fn churn(api: &Api, window: Window, is_over: &AtomicBool) -> i64 {
    let mut first = FIRST;
    while !is_over.load(Ordering::Relaxed) {
        assert!(api.follow(window.user, first + window.length).await.created);
        assert!(api.unfollow(window.user, first).await.removed);
        first += 1;
    }
    first
}

/// Each list is one that there was at one moment, and what nobody touches is all there.
async fn exact_under_writes(place: Place, settings: &[(&'static str, &str)]) {
    let api = place.serve(settings).await;
    let still: Vec<Row> = (1..=40).map(|user| (user, STAR, BEGIN)).collect();
    fill(&api, &still).await;
    let begin = WINDOWS
        .iter()
        .flat_map(|window| (FIRST..FIRST + window.length).map(|followee| (window.user, followee, BEGIN + followee)));
    fill(&api, &begin.collect::<Vec<_>>()).await;
    let is_over = AtomicBool::new(false);
    let churns = futures::future::join_all(WINDOWS.map(|window| churn(&api, window, &is_over)));
    let exports = async {
        let mut seen = Vec::new();
        // Until the short lists were met as well before as after a step.
        let mut lengths = std::collections::BTreeSet::new();
        while seen.len() < 10 || lengths.len() < 4 {
            let chunks = api.export("").await;
            assert_whole(&place, &chunks);
            let all = rows(&chunks);
            let untouched: Vec<_> = all.iter().copied().filter(|row| row.0 <= 40).collect();
            assert_eq!(untouched.len(), still.len());
            for window in WINDOWS {
                let mut ids: Vec<_> = all.iter().filter(|row| row.0 == window.user).map(|row| row.1).collect();
                ids.sort_unstable();
                assert!(ids.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{}: {ids:?}", window.user);
                let more = ids.len() as i64 - window.length;
                assert!((0..=1).contains(&more), "{}: {} of {}", window.user, ids.len(), window.length);
                if window.user >= 54 {
                    lengths.insert((window.user, more));
                }
            }
            seen.push(chunks.len());
        }
        is_over.store(true, Ordering::Relaxed);
    };
    let (reached, ()) = tokio::join!(churns, exports);
    assert!(reached.iter().all(|&first| first > FIRST));
}

async fn each_list_is_of_one_moment(place: Place) {
    exact_under_writes(place, &[]).await;
}

async fn each_list_is_of_one_moment_while_logs_are_trimmed(place: Place) {
    exact_under_writes(place, &[("changes.retention", "1s"), ("relay.interval", "100ms")]).await;
}

/// Places of exports are given back when their callers go away, in whatever state they are.
async fn as_many_as_an_instance_has_places_for(place: Place) {
    let api = place.serve(&[]).await;
    fill(&api, &[(1, 2, BEGIN)]).await;
    let request = ExportEdgesRequest::default;
    let mut streams = Vec::new();
    for _ in 0..4 {
        streams.push(api.social().export_edges(request()).await.unwrap());
    }
    refused(api.social().export_edges(request()).await.map(|_| tonic::Response::new(())), &Refusal::overloaded(), "");
    drop(streams);
    let again = async || api.social().export_edges(request()).await.ok();
    let mut stream = eventually("a place is free", again).await.into_inner();
    assert_eq!(rows(&[stream.message().await.unwrap().unwrap()]), [(1, 2, BEGIN)]);
}

/// An export that nobody reads does not go on.
async fn it_is_read_as_fast_as_it_is_taken(place: Place) {
    const METRIC: &str = "socialgraph_export_edges_total";
    let server = Process::serve(&place, &[]).await;
    let graph: Vec<Row> = (1..=100_000).map(|number| (1 + number % 10_000, 20_000 + number, BEGIN)).collect();
    fill(&server.api, &graph).await;
    let edges = graph.len() as f64;
    // By default a client takes 2 MiB unread.
    let endpoint = Endpoint::from_shared(server.endpoint.clone()).unwrap().initial_stream_window_size(65_535);
    let mut slow = SocialGraphClient::new(endpoint.connect().await.unwrap());
    let mut slow = slow.export_edges(ExportEdgesRequest::default()).await.unwrap().into_inner();
    let first = slow.message().await.unwrap().unwrap();
    assert_eq!(rows(&server.api.export("").await).len(), graph.len());
    let read = server.metric(METRIC).await.unwrap() - edges;
    assert!(read > 0.0 && read < edges / 2.0, "{read} edges were read for nobody");
    let mut rest = vec![first];
    while let Some(chunk) = slow.message().await.unwrap() {
        rest.push(chunk);
    }
    assert_eq!(rows(&rest).len(), graph.len());
    assert_eq!(server.metric(METRIC).await, Some(2.0 * edges));
}

/// The command line: what is exported, imported into an empty keyspace, and exported again, is the same file.
async fn an_imported_export_is_exported_alike(place: Place) {
    let api = place.serve(&[]).await;
    let graph = graph(&place);
    fill(&api, &graph).await;
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first.txt", "second.txt"].map(|name| folder.path().join(name));
    command(&api, &["export", "--output", first.to_str().unwrap()]).await;
    let copy = place.another().await.serve(&[]).await;
    command(&copy, &["import", first.to_str().unwrap()]).await;
    command(&copy, &["export", "--output", second.to_str().unwrap()]).await;
    let [first, second] = [first, second].map(|path| std::fs::read_to_string(path).unwrap());
    assert_eq!(first.lines().count(), graph.len());
    assert!(first == second);
}

async fn command(server: &Instance, words: &[&str]) {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_socialgraph"));
    let output = command.args(words).args(["--endpoint", &server.endpoint()]).output().await.unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
}

on_each_backend!(
    it_is_the_graph_and_goes_on_from_each_token,
    who_ceased_to_follow_is_not_in_it,
    each_list_is_of_one_moment,
    each_list_is_of_one_moment_while_logs_are_trimmed,
    as_many_as_an_instance_has_places_for,
    it_is_read_as_fast_as_it_is_taken,
    an_imported_export_is_exported_alike,
);
