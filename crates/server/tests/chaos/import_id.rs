//! An import with an id whose service is killed in the middle, and that goes on from its checkpoint.

use std::{fmt::Write as _, path::Path, time::Duration};

use serde_json::Value;
use tokio::io::AsyncWriteExt;

use crate::support::{
    caller::Caller,
    graph, http,
    process::{self, Process},
    redis, turn, until,
};

const USERS: i64 = 3_000;
const FOLLOWEES: i64 = 100;
const EDGES: i64 = USERS * FOLLOWEES;
/// The first checkpoint of an import.
const CHECKPOINT: i64 = 262_144;
const ID: [&str; 2] = ["--import-id", "edges"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_with_an_id_goes_on_from_its_checkpoint() {
    let _turn = turn().await;
    let dir = tempfile::tempdir().expect("temporary directory");
    let (file, data) = (dir.path().join("edges.txt"), dir.path().join("data"));
    let text = text();
    std::fs::write(&file, &text).expect("write the file");

    killed_after_the_checkpoint(&data, &text).await;

    let process = Process::dev(&data).await;
    let output = process::finish(process::import_with(process.grpc, &file, &ID)).await;
    assert!(output.status.success(), "{output:?}");
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let count = |name: &str| summary[name].as_str().and_then(|text| text.parse::<i64>().ok()).expect("a count");
    assert_eq!(count("created") + count("existing"), EDGES, "{summary}");
    assert_eq!(count("rowsSkipped"), CHECKPOINT, "{summary}");
    let written = http::metric(process.admin, "socialgraph_import_rows_total", "").await;
    assert_eq!(written, (EDGES - CHECKPOINT) as f64, "rows that were written now");

    redis::quiescent(&process.redis).await;
    let users: Vec<_> = (1..=USERS).collect();
    for counts in graph::counts(&Caller::new(process.grpc, Duration::from_secs(5)), &users).await {
        assert_eq!([counts.following, counts.followers], [FOLLOWEES; 2], "counts of {}", counts.user_id);
    }
    process.stop().await;
}

/// Feeds an import, and kills its server once there is a checkpoint. The input stays open, so that the import cannot be done before.
async fn killed_after_the_checkpoint(data: &Path, text: &str) {
    let process = Process::dev(data).await;
    let mut import = process::import_with(process.grpc, Path::new("-"), &ID);
    let mut input = import.stdin.take().expect("piped");
    input.write_all(text.as_bytes()).await.expect("feed the import");
    until("a checkpoint", async || http::metric(process.admin, "socialgraph_import_checkpoints_total", "").await > 0.0)
        .await;
    process.kill().await;
    let output = process::finish(import).await;
    drop(input);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

/// Everyone follows the hundred after them.
fn text() -> String {
    let mut text = String::new();
    for step in 1..=FOLLOWEES {
        for follower in 1..=USERS {
            writeln!(text, "{follower} {} 1600000000", (follower + step - 1) % USERS + 1).expect("a string");
        }
    }
    text
}
