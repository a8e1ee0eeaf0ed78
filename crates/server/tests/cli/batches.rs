use socialgraph::v1::{BatchFollowRequest, BatchUnfollowRequest};

use crate::{
    run,
    server::{Call, Fake},
};

#[tokio::test]
async fn each_row_is_printed_with_its_outcome() {
    let (fake, endpoint) = Fake::start().await;
    let outcome = run(&endpoint, "batch-follow 1 2 -3 1 --source contacts").await;
    assert!(outcome.ok, "{}", outcome.err);
    let request = BatchFollowRequest { follower_id: 1, followee_ids: vec![2, -3, 1], source: "contacts".to_owned() };
    assert_eq!(fake.calls().last(), Some(&Call::BatchFollow(request)));
    let rows: Vec<Vec<&str>> = outcome.out.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["2", "true", "2023-11-14T22:13:20.000007Z", "ERROR_REASON_UNSPECIFIED", "-"]);
    assert_eq!(rows[2], ["1", "false", "-", "ERROR_REASON_SELF_REFERENCE", "refused"]);

    let outcome = run(&endpoint, "batch-unfollow 1 2 2 --json").await;
    let request = BatchUnfollowRequest { follower_id: 1, followee_ids: vec![2, 2] };
    assert_eq!(fake.calls().last(), Some(&Call::BatchUnfollow(request)));
    assert_eq!(outcome.json()["results"][1]["removed"], true);
}
