use std::{
    io::Write,
    process::{Command, Stdio},
};

use flate2::{Compression, write::GzEncoder};
use serde_json::json;
use socialgraph::v1::ImportEdgesRequest;
use tempfile::NamedTempFile;

use crate::{
    Outcome,
    answers::time,
    run_words,
    server::{BREAKING, BREAKS_ONCE, Fake},
};

fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

async fn import(endpoint: &str, bytes: &[u8], options: &[&str]) -> Outcome {
    let file = file(bytes);
    let words = [&["import", file.path().to_str().unwrap()], options].concat();
    run_words(endpoint, &words).await
}

fn edge(follower_id: i64, followee_id: i64) -> ImportEdgesRequest {
    ImportEdgesRequest { follower_id, followee_id, followed_at: None, import_id: String::new() }
}

#[tokio::test]
async fn rows_arrive_in_order_and_problems_are_named_by_line() {
    let (fake, endpoint) = Fake::start().await;
    let text = "follower,followee\r\n# comment\r\n\r\n1,2\r\n3,3\r\n-1,4\r\n1,2,3,4\r\n5\t6\t1700000000000009\r\n7 x";
    let outcome = import(&endpoint, text.as_bytes(), &[]).await;
    assert!(outcome.ok, "{}", outcome.err);
    let timed = ImportEdgesRequest { followed_at: time(9), ..edge(5, 6) };
    assert_eq!(fake.rows(), [edge(1, 2), edge(3, 3), edge(-1, 4), timed]);
    let (first, rest) = outcome.out.split_once('\n').unwrap();
    assert!(first.starts_with("7 rows in ") && first.ends_with(" rows/s"), "{first}");
    assert_eq!(
        rest,
        "created      2\n\
         existing     0\n\
         superseded   0\n\
         self         1\n\
         over limit   0\n\
         unavailable  0\n\
         blocked      0\n\
         bad          4\n\
         line 1: UNREADABLE: not a number: \"follower\"\n\
         line 5: SELF_REFERENCE: refused\n\
         line 6: INVALID_FIELD: refused\n\
         line 7: UNREADABLE: a column after the time: \"4\"\n\
         line 9: UNREADABLE: not a number: \"x\"\n"
    );
}

#[tokio::test]
async fn the_summary_is_json_as_well() {
    let (_fake, endpoint) = Fake::start().await;
    let text = "0 1\n".to_owned() + &"# skipped\n5 5\n".repeat(150);
    let outcome = import(&endpoint, text.as_bytes(), &["--json", "--id-offset", "-1"]).await;
    assert!(outcome.ok && outcome.err.is_empty());
    let json = outcome.json();
    let expected = [("created", "0"), ("self", "150"), ("bad", "1"), ("rows", "151"), ("moreProblems", "51")];
    for (name, count) in expected {
        assert_eq!(json[name], count, "{name}");
    }
    let problems = json["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 100);
    assert_eq!(problems[99], json!({"line": "199", "exact": true, "reason": "SELF_REFERENCE", "message": "refused"}));
}

#[tokio::test]
async fn many_rows_arrive_whole_from_plain_and_compressed_files() {
    let rows: Vec<_> = (1..=100_000).map(|id| edge(id, id + 1)).collect();
    let text: String = (0..100_000).map(|id| format!("{id}\t{}\r\n", id + 1)).collect();
    for bytes in [text.as_bytes().to_vec(), gzip(&text)] {
        let (fake, endpoint) = Fake::start().await;
        let outcome = import(&endpoint, &bytes, &["--id-offset", "1", "--json"]).await;
        assert_eq!(outcome.json()["created"], "100000");
        assert!(fake.rows() == rows);
    }
}

#[tokio::test]
async fn a_truncated_file_is_imported_up_to_the_cut_and_fails() {
    let (fake, endpoint) = Fake::start().await;
    let text: String = (1..=50_000).map(|id| format!("{id} {}\n", id * 7919 % 10_007 + 60_000)).collect();
    let whole = gzip(&text);
    let outcome = import(&endpoint, &whole[..whole.len() / 2], &["--json"]).await;
    assert!(!outcome.ok);
    let rows = fake.rows();
    assert!(rows.len() > 10_000 && rows.len() < 40_000, "{}", rows.len());
    assert!((1..).zip(&rows).all(|(id, row)| *row == edge(id, id * 7919 % 10_007 + 60_000)));
    assert_eq!(outcome.json()["created"], rows.len().to_string());
    let error: serde_json::Value = serde_json::from_str(&outcome.err).unwrap();
    assert_eq!(error["line"], rows.len().to_string());
}

#[tokio::test]
async fn an_import_that_breaks_says_how_far_it_came() {
    let (_fake, endpoint) = Fake::start().await;
    let text = "1 2\n".repeat(5_000) + &format!("{BREAKING} 2\n") + &"1 2\n".repeat(1_000_000);
    let outcome = import(&endpoint, text.as_bytes(), &[]).await;
    assert!(!outcome.ok && outcome.out.is_empty());
    assert!(
        outcome.err.starts_with("error: UNAVAILABLE STORE_UNAVAILABLE: the import broke after "),
        "{}",
        outcome.err
    );
    assert!(
        outcome.err.contains("running the same command again completes it: the store is away\n"),
        "{}",
        outcome.err
    );
    assert!(outcome.err.ends_with("  retry in 1s 500ms\n"), "{}", outcome.err);
    let outcome = import(&endpoint, text.as_bytes(), &["--json"]).await;
    let error: serde_json::Value = serde_json::from_str(&outcome.err).unwrap();
    let sent: u64 = error["rowsSent"].as_str().unwrap().parse().unwrap();
    // Back-pressure holds back what nobody reads.
    assert!((5_001..500_000).contains(&sent), "{sent}");
    assert_eq!(error["code"], "UNAVAILABLE");
}

#[tokio::test]
async fn an_import_with_an_id_begins_again_by_itself() {
    let (fake, endpoint) = Fake::start().await;
    let outcome = import(&endpoint, b"1 2\n3 4\n", &["--import-id", BREAKS_ONCE, "--json"]).await;
    assert!(outcome.ok, "{}", outcome.err);
    assert_eq!(outcome.json()["created"], "2");
    // The first row tells the id.
    let first = ImportEdgesRequest { import_id: BREAKS_ONCE.to_owned(), ..edge(1, 2) };
    assert_eq!(fake.rows(), [first.clone(), first, edge(3, 4)]);

    let outcome = run_words(&endpoint, &["import", "/dev/null", "--import-id", "x"]).await;
    assert!(outcome.ok, "{}", outcome.err);
}

#[tokio::test]
async fn a_missing_file_is_told_before_connecting() {
    let nowhere = tempfile::tempdir().unwrap();
    let missing = nowhere.path().join("missing");
    for path in [missing.as_path(), nowhere.path()] {
        let outcome = run_words("http://127.0.0.1:1", &["import", path.to_str().unwrap()]).await;
        assert!(!outcome.ok);
        assert!(outcome.err.starts_with(&format!("error: cannot open {}: ", path.display())), "{}", outcome.err);
    }
}

#[tokio::test]
async fn the_binary_reads_standard_input_and_exits_with_0() {
    let (fake, endpoint) = Fake::start().await;
    let mut child = Command::new(env!("CARGO_BIN_EXE_socialgraph"))
        .args(["import", "-", "--json"])
        .env("SOCIALGRAPH_ENDPOINT", endpoint)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&gzip("1 2\nx\n")).unwrap();
    let output = tokio::task::spawn_blocking(|| child.wait_with_output().unwrap()).await.unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().contains(r#""created":"1""#));
    assert_eq!(fake.rows(), [edge(1, 2)]);
}

#[tokio::test]
async fn the_binary_ends_when_the_call_breaks_though_its_input_stays_open() {
    let (_fake, endpoint) = Fake::start().await;
    let mut child = Command::new(env!("CARGO_BIN_EXE_socialgraph"))
        .args(["import", "-", "--endpoint", &endpoint])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{BREAKING} 2\n").as_bytes()).unwrap();
    let output = tokio::task::spawn_blocking(|| child.wait_with_output().unwrap()).await.unwrap();
    drop(stdin);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("after 1 rows were sent"));
}
