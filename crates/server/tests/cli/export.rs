use std::{fs, path::Path};

use socialgraph::v1::ExportEdgesRequest;

use crate::{
    run, run_words,
    server::{Call, Fake},
};

const LINES: &str = "1\t10\t2023-11-14T22:13:20.000001Z\n1\t9\t2023-11-14T22:13:20.000001Z\n\
                     2\t10\t2023-11-14T22:13:20.000002Z\n2\t9\t2023-11-14T22:13:20.000002Z\n\
                     3\t10\t2023-11-14T22:13:20.000003Z\n3\t9\t2023-11-14T22:13:20.000003Z\n";

fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn an_export_goes_on_where_it_broke() {
    let (fake, endpoint) = Fake::start().await;
    let outcome = run(&endpoint, "export").await;
    assert!(outcome.ok, "{}", outcome.err);
    assert_eq!(outcome.out, LINES);
    let asked = ["", "1", "2"].map(|token| Call::Export(ExportEdgesRequest { resume_token: token.to_owned() }));
    assert_eq!(fake.calls(), asked);

    let outcome = run(&endpoint, "export").await;
    assert!(!outcome.ok);
    assert!(LINES.starts_with(&outcome.out) && !outcome.out.is_empty(), "{}", outcome.out);
    let told = "error: INVALID_ARGUMENT INVALID_FIELD: the export broke after 2 edges and is not complete: ";
    assert!(outcome.err.starts_with(told), "{}", outcome.err);
}

#[tokio::test(start_paused = true)]
async fn a_file_is_there_only_when_it_is_complete() {
    let (_fake, endpoint) = Fake::start().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("edges.txt");
    let words = ["export", "--output", path.to_str().unwrap()];
    let outcome = run_words(&endpoint, &words).await;
    assert!(outcome.ok, "{}", outcome.err);
    assert!(outcome.out.starts_with("6 edges of 3 followers in "), "{}", outcome.out);
    assert_eq!(fs::read_to_string(&path).unwrap(), LINES);

    // The next one fails, and what was there stays.
    let outcome = run_words(&endpoint, &[&words[..], &["--json"]].concat()).await;
    assert!(!outcome.ok && outcome.out.is_empty());
    let error: serde_json::Value = serde_json::from_str(&outcome.err).unwrap();
    assert_eq!(error["code"], "INVALID_ARGUMENT");
    assert_eq!(fs::read_to_string(&path).unwrap(), LINES);
    assert_eq!(names(folder.path()), ["edges.txt"]);
}

#[tokio::test]
async fn a_place_that_cannot_be_written_is_told() {
    let (fake, endpoint) = Fake::start().await;
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("nowhere/edges.txt")] {
        let outcome = run_words(&endpoint, &["export", "--output", path.to_str().unwrap()]).await;
        assert!(!outcome.ok);
        assert!(outcome.err.starts_with(&format!("error: cannot write {}: ", path.display())), "{}", outcome.err);
    }
    assert_eq!(fake.calls(), [], "asked for nothing");
    assert!(names(folder.path()).is_empty());
}
