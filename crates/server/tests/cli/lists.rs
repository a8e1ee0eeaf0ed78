use prost_types::{Duration, Timestamp};
use serde_json::{Value, json};
use socialgraph::v1::*;

use crate::{
    answers::{ENTRIES, FAILING},
    run,
    server::{Call, Fake},
};

#[tokio::test]
async fn every_option_reaches_the_server() {
    let (fake, endpoint) = Fake::start().await;
    let options = "--order oldest-first --from 2023-11-14T22:13:20Z --before 1800000000000 --page-size 7 --page-token 9 --viewer 6";
    let (followed_from, followed_before) =
        (Some(Timestamp { seconds: 1_700_000_000, nanos: 0 }), Some(Timestamp { seconds: 1_800_000_000, nanos: 0 }));
    let (order, page_size, page_token) = (ListOrder::OldestFirst.into(), 7, "9".to_owned());
    let common = CommonFollowsRequest {
        user_id: 1,
        other_id: -2,
        order: CommonFollowsOrder::OtherNewestFirst.into(),
        page_size: -1,
        page_token: String::new(),
        time_budget: Some(Duration { seconds: 0, nanos: 250_000_000 }),
        consistency: None,
        viewer_id: -6,
    };
    let cases = [
        (
            format!("list-following 1 {options}"),
            Call::ListFollowing(ListFollowingRequest {
                user_id: 1,
                order,
                followed_from,
                followed_before,
                page_size,
                page_token: page_token.clone(),
                consistency: None,
                viewer_id: 6,
            }),
        ),
        (
            format!("list-followers -1 {options}"),
            Call::ListFollowers(ListFollowersRequest {
                user_id: -1,
                order,
                followed_from,
                followed_before,
                page_size,
                page_token,
                consistency: None,
                viewer_id: 6,
            }),
        ),
        (
            "common-follows 1 -2 --order other-newest-first --page-size -1 --time-budget 250ms --viewer -6".to_owned(),
            Call::CommonFollows(common.clone()),
        ),
        (
            "common-follows 1 2".to_owned(),
            Call::CommonFollows(CommonFollowsRequest { user_id: 1, other_id: 2, ..CommonFollowsRequest::default() }),
        ),
    ];
    for (line, expected) in cases {
        run(&endpoint, &line).await;
        assert_eq!(fake.calls().last(), Some(&expected), "{line}");
    }
}

#[tokio::test]
async fn a_page_is_printed_with_the_token_of_the_next() {
    let (_fake, endpoint) = Fake::start().await;
    let outcome = run(&endpoint, "list-following 1 --page-size 2").await;
    assert_eq!(
        outcome.out,
        "user_id  followed_at\n      \
         1  2023-11-14T22:13:20.000001Z\n      \
         2  2023-11-14T22:13:20.000002Z\n\
         next_page_token  2\n"
    );
    let outcome = run(&endpoint, "list-following 1 --page-size 1 --page-token 1200").await;
    assert_eq!(outcome.out, "user_id  followed_at\n   1201  2023-11-14T22:13:20.001201Z\n");
}

#[tokio::test]
async fn all_pages_are_one_table_and_one_document() {
    let (fake, endpoint) = Fake::start().await;
    let outcome = run(&endpoint, "list-following 1 --all").await;
    assert!(outcome.ok);
    let lines: Vec<_> = outcome.out.lines().collect();
    assert_eq!(lines.len(), 1 + usize::try_from(ENTRIES).unwrap());
    assert_eq!(lines[1_201], "   1201  2023-11-14T22:13:20.001201Z");
    assert_eq!(fake.calls().len(), 3);

    let users = |value: Value| -> Vec<i64> {
        let users = value["users"].as_array().unwrap();
        users.iter().map(|user| user["userId"].as_str().unwrap().parse().unwrap()).collect()
    };
    let json = run(&endpoint, "list-following 1 --all --json --page-size 100").await.json();
    assert_eq!(json["nextPageToken"], "");
    assert_eq!(users(json), (1..=ENTRIES).collect::<Vec<_>>());

    // One row of each page is left out.
    let outcome = run(&endpoint, "list-following 1 --all --viewer 6").await;
    assert!(outcome.out.ends_with("\nfiltered_count  3\n"), "{}", outcome.out);

    let json = run(&endpoint, "common-follows 1 2 --all --json").await.json();
    assert_eq!(json["filteredCount"], 3);
    assert_eq!(json["totalCount"], "1201");
    // The first page was not complete.
    assert_eq!(json["complete"], false);
    assert_eq!(json["users"][0]["otherFollowedAt"], "2023-11-14T22:13:20.000002Z");
    assert_eq!(users(json), (1..=ENTRIES).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_list_that_breaks_keeps_its_pages_and_tells_where_to_go_on() {
    let (_fake, endpoint) = Fake::start().await;
    let outcome = run(&endpoint, &format!("list-following {FAILING} --all --json")).await;
    assert!(!outcome.ok);
    let json = outcome.json();
    assert_eq!(json["users"].as_array().unwrap().len(), 500);
    assert_eq!(json["nextPageToken"], "500");
    let error: Value = serde_json::from_str(&outcome.err).unwrap();
    assert_eq!((&error["code"], &error["reason"]), (&json!("UNAVAILABLE"), &json!("STORE_UNAVAILABLE")));
}
