use socialgraph::v1::WatchRelationshipsRequest;

use crate::{
    run,
    server::{Call, Fake},
};

const LINES: &str = "\
-\tfollows\t5\t10\t2023-11-14T22:13:20.000001Z
-\tfollows\t5\t9\t2023-11-14T22:13:20.000001Z
token a
2023-11-14T22:13:20.000007Z\tfollowed\t1\t2\t2023-11-14T22:13:20.000003Z
2023-11-14T22:13:20.000008Z\tunfollowed\t1\t2\t2023-11-14T22:13:20.000003Z
token b
2023-11-14T22:13:20.000009Z\tfollowed\t1\t2\t2023-11-14T22:13:20.000003Z\tcontacts
2023-11-14T22:13:20.000010Z\tdeleted\t1
2023-11-14T22:13:20.000011Z\tchanged\t11
token c
2023-11-14T22:13:20.000012Z\tblocked\t1\t2\t2023-11-14T22:13:20.000003Z
2023-11-14T22:13:20.000013Z\tunblocked\t1\t2\t2023-11-14T22:13:20.000003Z
2023-11-14T22:13:20.000014Z\tmuted\t1\t2\t2023-11-14T22:13:20.000003Z
2023-11-14T22:13:20.000015Z\tmuted\t1\t2\t2023-11-14T22:13:20.000003Z\t2023-11-14T22:13:20.000004Z
2023-11-14T22:13:20.000016Z\tunmuted\t1\t2\t2023-11-14T22:13:20.000003Z
token d
2023-11-14T22:13:20.000017Z\tstate\t2\tsuspended
2023-11-14T22:13:20.000018Z\tput-aside\t1\t2\t2023-11-14T22:13:20.000003Z
2023-11-14T22:13:20.000019Z\trestored\t1\t2\t2023-11-14T22:13:20.000003Z
token e
";

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_where_it_broke() {
    let (fake, endpoint) = Fake::start().await;
    let outcome = run(&endpoint, "watch --snapshot --user 5 --user 1 --tokens").await;
    assert!(!outcome.ok);
    assert_eq!(outcome.out, LINES);
    assert!(outcome.err.starts_with("error: INVALID_ARGUMENT INVALID_FIELD: "), "{}", outcome.err);
    let asked = ["", "b"].map(|token| {
        Call::Watch(WatchRelationshipsRequest {
            resume_token: token.to_owned(),
            user_ids: vec![5, 1],
            snapshot: true,
            checkpoint_interval: None,
        })
    });
    assert_eq!(fake.calls(), asked);
}

#[tokio::test]
async fn messages_are_lines_of_json() {
    let (_fake, endpoint) = Fake::start().await;
    let outcome = run(&endpoint, "watch --from b --json").await;
    let message: serde_json::Value = serde_json::from_str(outcome.out.lines().next().unwrap()).unwrap();
    assert_eq!(message["resumeToken"], "c");
    assert_eq!(message["changes"][0]["followed"]["source"], "contacts");
    assert_eq!(message["changes"][1]["userDeleted"]["userId"], "1");
}
