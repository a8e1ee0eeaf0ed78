//! A whole graph, that of a file if `SOCIALGRAPH_TEST_GRAPH` names one, and what the file says by brute force.
//!
//! The figures are printed, and shown by `--nocapture`.

mod deletion;
mod file;
mod reads;
mod served;

use std::{collections::BTreeSet, fs};

use self::served::{Served, export, import, serve};
use crate::support::turn;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_counts_mutuals_and_shared_followers_are_those_of_the_file() {
    let _turn = turn().await;
    let served = Served::start().await;
    reads::lists_and_counts(&served).await;
    reads::mutuals(&served).await;
    reads::searches(&served).await;
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_that_is_imported_elsewhere_is_exported_with_the_same_bytes() {
    let _turn = turn().await;
    let served = Served::start().await;
    let other = serve(&served.cluster, &["--keyspace-name", "other"]).await;
    let files = ["empty", "first", "second"].map(|name| served.dir.path().join(name));
    export(&other, &files[0]).await;
    let exported = export(&served.process, &files[1]).await;
    let edges = served.graph.edges.len().to_string();
    let imported = import(&other, &files[1], &[]).await;
    let again = export(&other, &files[2]).await;
    assert_eq!([&exported["edges"], &imported["created"], &again["edges"]], [&*edges; 3]);
    let [empty, first, second] = files.map(|file| fs::read_to_string(file).expect("read the export"));
    assert!(exported_edges(&first) == served.graph.edges, "the export has the edges of the file");
    assert!(empty.is_empty(), "the other keyspace was empty");
    assert!(first == second, "exports of {} and {} bytes", first.len(), second.len());
    println!(
        "d: {edges} edges exported in {}, imported into an empty keyspace in {}, and exported in {}: {} bytes, and the same",
        exported["elapsed"],
        imported["elapsed"],
        again["elapsed"],
        first.len()
    );
    other.stop().await;
    served.stop().await;
}

fn exported_edges(export: &str) -> BTreeSet<(i64, i64)> {
    let rows = export.lines().map(|line| {
        let mut ids = line.split('\t').map(|id| id.parse().expect("an id"));
        (ids.next().expect("a follower"), ids.next().expect("a followee"))
    });
    rows.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_of_the_largest_account_that_is_killed_goes_on_and_leaves_no_reference() {
    let _turn = turn().await;
    let served = deletion::killed_midway(Served::start().await).await;
    deletion::assert_no_reference(&served).await;
    deletion::assert_others_are_whole(&served).await;
    served.stop().await;
}
