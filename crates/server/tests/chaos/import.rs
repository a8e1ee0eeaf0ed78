//! An import whose service is killed in the middle, with the real binary from end to end.

use std::{collections::BTreeSet, fmt::Write as _, path::Path, time::Duration};

use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
use serde_json::Value;
use tokio::io::AsyncWriteExt;

use crate::support::{
    caller::Caller,
    graph,
    process::{self, Process},
    redis, seed, turn, until,
};

const USERS: i64 = 5_000;
/// So many that scripts fill up, and are run, before the input ends.
const EDGES: usize = 150_000;
const DUPLICATES: usize = 2_000;
const SELVES: usize = 500;
const BAD: [&str; 4] = ["one two", "7", "0 5", "3 99999999999999999999"];
const DEADLINE: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_that_was_killed_is_completed_by_the_next() {
    let _turn = turn().await;
    let edges = graph::power_law(seed(), USERS, EDGES);
    let dir = tempfile::tempdir().expect("temporary directory");
    let (file, data) = (dir.path().join("edges.txt"), dir.path().join("data"));
    let text = file_of(&edges);
    std::fs::write(&file, &text).expect("write the file");

    killed_in_mid_import(&data, &text).await;

    let process = Process::dev(&data).await;
    let first = summary(&process, &file).await;
    let counts = ["created", "existing", "superseded", "self", "overLimit", "bad"].map(|name| count(&first, name));
    let [created, existing, others @ ..] = counts;
    println!("created {created}, existing {existing}");
    assert_eq!((created + existing, others), (EDGES + DUPLICATES, [0, SELVES, 0, BAD.len()]));
    assert!(existing > DUPLICATES, "the killed import had written something");
    let again = summary(&process, &file).await;
    assert_eq!([count(&again, "created"), count(&again, "existing")], [0, EDGES + DUPLICATES]);

    redis::quiescent(&process.redis).await;
    let users: Vec<_> = (1..=USERS).collect();
    let listed = graph::consistent(&Caller::new(process.grpc, DEADLINE), &users).await;
    assert!(listed.keys().eq(&edges));
    process.stop().await;
    assert_eq!(redis::servers_on(&data), [0; 0], "redis servers left behind");
}

/// Feeds an import, kills its server once it has written some of it, and sees the import fail.
async fn killed_in_mid_import(data: &Path, text: &str) {
    let process = Process::dev(data).await;
    let mut import = process::import(process.grpc, Path::new("-"));
    let mut input = import.stdin.take().expect("piped");
    input.write_all(text.as_bytes()).await.expect("feed the import");
    // The input stays open, so that the import cannot be done before the kill.
    let caller = Caller::new(process.grpc, DEADLINE);
    let popular: Vec<_> = (1..=200).collect();
    until("something is imported", async || {
        graph::counts(&caller, &popular).await.iter().any(|counts| counts.followers > 0)
    })
    .await;
    process.kill().await;
    let output = process::finish(import).await;
    drop(input);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let error: Value = serde_json::from_slice(&output.stderr).expect("JSON");
    let message = error["message"].as_str().expect("a message");
    assert!(message.starts_with("the import broke after "), "{message}");
    assert!(message.contains("running the same command again completes it"), "{message}");
    println!("{message}");
}

async fn summary(process: &Process, file: &Path) -> Value {
    let output = process::finish(process::import(process.grpc, file)).await;
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn count(summary: &Value, name: &str) -> usize {
    summary[name].as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{name} of {summary}"))
}

/// A file with the edges, shuffled, some twice, and with what else files have.
fn file_of(edges: &BTreeSet<(i64, i64)>) -> String {
    let mut random = StdRng::seed_from_u64(edges.len() as u64);
    let mut rows: Vec<_> =
        edges.iter().chain(edges.iter().step_by(EDGES / DUPLICATES).take(DUPLICATES)).copied().collect();
    rows.extend((1..=SELVES as i64).map(|user| (user, user)));
    rows.shuffle(&mut random);
    let mut text = "# follower followee\r\n\r\n".to_owned();
    for (number, (follower, followee)) in rows.into_iter().enumerate() {
        let separator = ["\t", ",", "  "][number % 3];
        let end = ["\n", "\r\n"][number % 2];
        write!(text, "{follower}{separator}{followee}{end}").expect("a string");
        if number % 10_000 == 0 {
            write!(text, "# row {number}{end}{end}").expect("a string");
        }
    }
    BAD.iter().for_each(|bad| text.extend([bad, "\r\n"]));
    text
}
