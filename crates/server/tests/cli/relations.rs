use prost_types::{Duration, Timestamp};
use serde_json::json;
use socialgraph::v1::{consistency::Requirement, *};

use crate::{
    answers::ENTRIES,
    run,
    server::{Call, Fake},
};

fn fresh(token: &str) -> Option<Consistency> {
    Some(Consistency { requirement: Some(Requirement::AtLeastAsFresh(token.to_owned())) })
}

fn latest() -> Option<Consistency> {
    Some(Consistency { requirement: Some(Requirement::FullyConsistent(true)) })
}

#[tokio::test]
async fn every_option_reaches_the_server() {
    let (fake, endpoint) = Fake::start().await;
    let time_budget = Some(Duration { seconds: 0, nanos: 250_000_000 });
    let cases = [
        (
            "relationships 1 -2 3 3 --at-least-as-fresh t",
            Call::Relationships(GetRelationshipsRequest {
                viewer_id: 1,
                target_ids: vec![-2, 3, 3],
                consistency: fresh("t"),
            }),
        ),
        (
            "mutuals -1 --order oldest-first --from 2023-11-14T22:13:20Z --before 1800000000000 --page-size 7 --page-token 9 --viewer 6 --consistency fully-consistent",
            Call::Mutuals(ListMutualsRequest {
                user_id: -1,
                order: ListOrder::OldestFirst.into(),
                followed_from: Some(Timestamp { seconds: 1_700_000_000, nanos: 0 }),
                followed_before: Some(Timestamp { seconds: 1_800_000_000, nanos: 0 }),
                page_size: 7,
                page_token: "9".to_owned(),
                consistency: latest(),
                viewer_id: 6,
            }),
        ),
        (
            "known-followers 1 -2 --page-size -1 --page-token 9 --time-budget 250ms --at-least-as-fresh t",
            Call::KnownFollowers(KnownFollowersRequest {
                viewer_id: 1,
                user_id: -2,
                page_size: -1,
                page_token: "9".to_owned(),
                time_budget,
                consistency: fresh("t"),
            }),
        ),
        (
            "common-followers 1 2 --viewer 6 --page-size 3 --page-token 9 --time-budget 250ms --consistency fully-consistent",
            Call::CommonFollowers(CommonFollowersRequest {
                user_id: 1,
                other_id: 2,
                page_size: 3,
                page_token: "9".to_owned(),
                time_budget,
                consistency: latest(),
                viewer_id: 6,
            }),
        ),
        (
            "common-followers 1 2",
            Call::CommonFollowers(CommonFollowersRequest { user_id: 1, other_id: 2, ..Default::default() }),
        ),
        (
            "batch-is-following 1 2 --at-least-as-fresh t",
            Call::BatchIsFollowing(BatchIsFollowingRequest {
                follower_id: 1,
                followee_ids: vec![2],
                consistency: fresh("t"),
            }),
        ),
        (
            "counts 1 --at-least-as-fresh t",
            Call::Counts(BatchGetCountsRequest { user_ids: vec![1], consistency: fresh("t") }),
        ),
        (
            "list-following 1 --at-least-as-fresh t",
            Call::ListFollowing(ListFollowingRequest { user_id: 1, consistency: fresh("t"), ..Default::default() }),
        ),
        (
            "list-followers 1 --consistency fully-consistent",
            Call::ListFollowers(ListFollowersRequest { user_id: 1, consistency: latest(), ..Default::default() }),
        ),
        (
            "common-follows 1 2 --at-least-as-fresh t",
            Call::CommonFollows(CommonFollowsRequest {
                user_id: 1,
                other_id: 2,
                consistency: fresh("t"),
                ..Default::default()
            }),
        ),
        (
            "scroll 1 --at-least-as-fresh t",
            Call::Scroll(ScrollFeedRequest { user_id: 1, consistency: fresh("t"), ..Default::default() }),
        ),
    ];
    for (line, expected) in cases {
        run(&endpoint, line).await;
        assert_eq!(fake.calls().last(), Some(&expected), "{line}");
    }
}

#[tokio::test]
async fn relationships_are_printed_for_people_and_as_json() {
    let (_fake, endpoint) = Fake::start().await;
    let outcome = run(&endpoint, "relationships 1 2 3 5 6").await;
    let lines: Vec<Vec<_>> = outcome.out.lines().map(|line| line.split_whitespace().collect()).collect();
    let (at, since) = ("2023-11-14T22:13:20.000007Z", "2023-11-14T22:13:20.000008Z");
    let columns =
        ["target_id", "following", "followed_by", "mutual", "followed_at", "blocking", "blocked_by", "muting"];
    let times = ["muted_until", "followed_by_at", "blocked_at", "blocked_by_at", "muted_at"];
    assert_eq!(lines[0], [&columns[..], &times].concat());
    let blocked_at = "2023-11-14T22:13:20.000009Z";
    assert_eq!(
        lines[1..],
        [
            ["2", "true", "false", "false", at, "false", "false", "false", "-", "-", "-", "-", "-"],
            ["3", "false", "true", "false", "-", "false", "false", "false", "-", since, "-", "-", "-"],
            ["5", "false", "false", "false", "-", "true", "false", "false", "-", "-", blocked_at, "-", "-"],
            ["6", "true", "true", "true", at, "false", "false", "false", "-", since, "-", "-", "-"],
        ]
    );
    let json = run(&endpoint, "relationships 1 3 --json").await.json();
    let expected = json!({
        "targetId": "3",
        "following": false,
        "followedBy": true,
        "mutual": false,
        "followedByAt": since,
        "blocking": false,
        "blockedBy": false,
        "muting": false,
    });
    assert_eq!(json, json!({"relationships": [expected]}));
}

#[tokio::test]
async fn all_pages_are_one_document() {
    let (_fake, endpoint) = Fake::start().await;
    for line in ["mutuals 1", "known-followers 1 2"] {
        let json = run(&endpoint, &format!("{line} --all --json")).await.json();
        let users = json["users"].as_array().unwrap().iter().map(|user| user["userId"].as_str().unwrap().to_owned());
        assert_eq!(users.collect::<Vec<_>>(), (1..=ENTRIES).map(|id| id.to_string()).collect::<Vec<_>>(), "{line}");
        assert_eq!(json["nextPageToken"], "");
    }
    // The pages after the first were not complete.
    let json = run(&endpoint, "known-followers 1 2 --all --json").await.json();
    assert_eq!((&json["complete"], &json["totalCount"]), (&json!(false), &json!(ENTRIES.to_string())));
    let json = run(&endpoint, "common-followers 1 2 --all --json").await.json();
    assert_eq!(
        json,
        json!({"users": [], "totalCount": "0", "complete": true, "nextPageToken": "", "filteredCount": 0})
    );
}
