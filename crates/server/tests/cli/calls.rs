use serde_json::{Value, json};
use socialgraph::v1::{consistency::Requirement, *};
use tokio::net::TcpListener;

use crate::{
    run,
    server::{Call, Fake, OVERLOADED, SILENT},
};

#[tokio::test]
async fn every_option_reaches_the_server() {
    let (fake, endpoint) = Fake::start().await;
    let is_following = |requirement| {
        let consistency = Some(Consistency { requirement: Some(requirement) });
        Call::IsFollowing(IsFollowingRequest { follower_id: 1, followee_id: 2, consistency })
    };
    let unfollow = |policy: FeedPolicy| {
        Call::Unfollow(UnfollowRequest { follower_id: 1, followee_id: 2, feed_policy: policy.into() })
    };
    let source = "profile".to_owned();
    let cases = [
        ("follow 1 2 --source profile", Call::Follow(FollowRequest { follower_id: 1, followee_id: 2, source })),
        ("unfollow 1 2", unfollow(FeedPolicy::Unspecified)),
        ("unfollow 1 2 --feed-policy hide", unfollow(FeedPolicy::Hide)),
        ("unfollow 1 2 --feed-policy purge", unfollow(FeedPolicy::Purge)),
        ("unfollow 1 2 --feed-policy keep-delivered", unfollow(FeedPolicy::KeepDelivered)),
        (
            "is-following -1 -9223372036854775808",
            Call::IsFollowing(IsFollowingRequest { follower_id: -1, followee_id: i64::MIN, consistency: None }),
        ),
        ("is-following 1 2 --consistency minimize-latency", is_following(Requirement::MinimizeLatency(true))),
        ("is-following 1 2 --consistency fully-consistent", is_following(Requirement::FullyConsistent(true))),
        ("is-following 1 2 --at-least-as-fresh t", is_following(Requirement::AtLeastAsFresh("t".to_owned()))),
        (
            "batch-is-following 1 -1 3 3",
            Call::BatchIsFollowing(BatchIsFollowingRequest {
                follower_id: 1,
                followee_ids: vec![-1, 3, 3],
                consistency: None,
            }),
        ),
        (
            "recommend -1 --limit 7 --time-budget 20ms",
            Call::Recommend(RecommendFollowsRequest {
                user_id: -1,
                limit: 7,
                time_budget: Some(prost_types::Duration { seconds: 0, nanos: 20_000_000 }),
                consistency: None,
            }),
        ),
        (
            "set-user-state -1 suspended",
            Call::SetUserState(SetUserStateRequest { user_id: -1, state: UserState::Suspended.into() }),
        ),
        (
            "set-user-state 1 deactivated",
            Call::SetUserState(SetUserStateRequest { user_id: 1, state: UserState::Deactivated.into() }),
        ),
        ("delete-user -1", Call::DeleteUser(DeleteUserRequest { user_id: -1 })),
        (
            "operation x/1",
            Call::Operation(GetOperationRequest {
                target: Some(get_operation_request::Target::OperationId("x/1".to_owned())),
            }),
        ),
        ("dismiss 1 2", Call::Dismiss(DismissRecommendationRequest { user_id: 1, dismissed_id: 2 })),
        ("counts 1 -2 1", Call::Counts(BatchGetCountsRequest { user_ids: vec![1, -2, 1], consistency: None })),
        ("keys -1", Call::Keys(socialgraph::admin::v1::InspectUserRequest { user_id: -1 })),
    ];
    for (line, expected) in cases {
        let outcome = run(&endpoint, line).await;
        assert!(outcome.ok, "{line}: {}", outcome.err);
        assert_eq!(fake.calls().last(), Some(&expected), "{line}");
    }
}

#[tokio::test]
async fn the_timeout_is_sent_to_the_server() {
    let (fake, endpoint) = Fake::start().await;
    run(&endpoint, "follow 1 2").await;
    run(&endpoint, "counts 1 --timeout 250ms").await;
    let micros = fake.timeouts().into_iter().map(|timeout| timeout.trim_end_matches('u').parse::<u64>().unwrap());
    assert_eq!(micros.collect::<Vec<_>>(), [10_000_000, 250_000]);
}

#[tokio::test]
async fn answers_are_printed_for_people() {
    let (_fake, endpoint) = Fake::start().await;
    let cases = [
        (
            "follow 1 2",
            "created            true\n\
             followed_at        2023-11-14T22:13:20.000007Z\n\
             consistency_token  token-1\n\
             followers_pending  false\n",
        ),
        ("is-following 1 3", "following    false\nfollowed_at  -\n"),
        (
            "batch-is-following 1 2 1003",
            "followee_id  following  followed_at\n          \
             2  true       2023-11-14T22:13:20.000007Z\n       \
             1003  false      -\n",
        ),
        (
            "counts 1 20000000",
            " user_id  following  followers  posts\n       1         10          0      3\n\
             20000000  200000000          0      3\n",
        ),
        (
            "recommend 1",
            "user_id  mutual_count  mutual_user_ids  score\n      \
             9             2           [20,3]  1.25\n\
             complete  true\n",
        ),
        ("dismiss 1 2", ""),
        ("list-followers 1", "none\n"),
        (
            "keys 1",
            "key               shared  exists  encoding  bytes  entries\n\
             {p7}:following:1  false   true    listpack   1024       12\n\
             {p7}:log          true    false   -             0        -\n\
             partition                   7\n\
             hash_tag                    p7\n\
             slot                        1234\n\
             node                        127.0.0.1:7000\n\
             compact_sorted_set_entries  60\n\
             compact_number_set_entries  -\n",
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(run(&endpoint, line).await.out, expected, "{line}");
    }
}

#[tokio::test]
async fn an_operation_is_waited_for_if_so_said() {
    for command in ["delete-user 7", "set-user-state 7 active"] {
        let (fake, endpoint) = Fake::start().await;
        let outcome = run(&endpoint, command).await;
        assert!(outcome.out.contains("state          OPERATION_STATE_RUNNING\n"), "{}", outcome.out);
        assert_eq!(fake.calls().len(), 1);
        let outcome = run(&endpoint, &format!("{command} --wait")).await;
        assert!(outcome.out.contains("state          OPERATION_STATE_DONE\n"), "{}", outcome.out);
        let target = Some(get_operation_request::Target::UserId(7));
        assert_eq!(
            fake.calls()[2..],
            [GetOperationRequest { target: target.clone() }, GetOperationRequest { target }].map(Call::Operation)
        );
    }
}

#[tokio::test]
async fn answers_are_printed_as_proto3_json() {
    let (_fake, endpoint) = Fake::start().await;
    let at = "2023-11-14T22:13:20.000007Z";
    let cases = [
        (
            "follow 1 2",
            json!({"created": true, "followedAt": at, "consistencyToken": "token-1", "followersPending": false}),
        ),
        ("is-following 1 3", json!({"following": false})),
        (
            "batch-is-following 1 2 3",
            json!({"states": [
                {"followeeId": "2", "following": true, "followedAt": at},
                {"followeeId": "3", "following": false},
            ]}),
        ),
        (
            "counts 9007199254740993",
            json!({"counts": [
                {"userId": "9007199254740993", "following": "90071992547409930", "followers": "0", "posts": "3"},
            ]}),
        ),
        ("list-followers 1", json!({"users": [], "nextPageToken": "", "filteredCount": 0})),
    ];
    for (line, expected) in cases {
        assert_eq!(run(&endpoint, &format!("{line} --json")).await.json(), expected, "{line}");
    }
    let keys = run(&endpoint, "keys 1 --json").await.json();
    assert_eq!(keys["slot"], json!(1234));
    assert_eq!(keys["keys"][0]["entries"], json!("12"));
    assert_eq!(keys["keys"][1]["entries"], Value::Null);
}

#[tokio::test]
async fn a_refused_call_tells_code_reason_and_fields() {
    let (_fake, endpoint) = Fake::start().await;
    let outcome = run(&endpoint, "follow -1 2").await;
    assert!(!outcome.ok && outcome.out.is_empty());
    assert_eq!(
        outcome.err,
        "error: INVALID_ARGUMENT INVALID_FIELD: follower_id is bad\n  follower_id: must be greater than 0\n"
    );
    let outcome = run(&endpoint, "follow -1 2 --json").await;
    let error: Value = serde_json::from_str(&outcome.err).unwrap();
    let violations = json!([{"field": "follower_id", "description": "must be greater than 0"}]);
    assert_eq!(
        error,
        json!({
            "code": "INVALID_ARGUMENT",
            "reason": "INVALID_FIELD",
            "message": "follower_id is bad",
            "fieldViolations": violations,
        })
    );
}

#[tokio::test]
async fn a_call_that_may_be_repeated_tells_when() {
    let (_fake, endpoint) = Fake::start().await;
    let outcome = run(&endpoint, &format!("follow {OVERLOADED} 2")).await;
    assert_eq!(outcome.err, "error: UNAVAILABLE STORE_UNAVAILABLE: the store is away\n  retry in 1s 500ms\n");
    let outcome = run(&endpoint, &format!("follow {OVERLOADED} 2 --json")).await;
    let error: Value = serde_json::from_str(&outcome.err).unwrap();
    assert_eq!(error["retryDelay"], "1.5s");
}

#[tokio::test]
async fn a_call_without_an_answer_ends_at_its_deadline() {
    let (_fake, endpoint) = Fake::start().await;
    let outcome = run(&endpoint, &format!("follow {SILENT} 2 --timeout 20ms")).await;
    assert!(!outcome.ok);
    // Either the client's clock or the server's is first.
    assert!(outcome.err.starts_with("error: "), "{}", outcome.err);
    assert!(outcome.err.contains("DEADLINE_EXCEEDED"), "{}", outcome.err);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_in_one_line() {
    // Bound and closed, so that nobody listens there.
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for endpoint in [format!("http://{address}"), address.to_string()] {
        let outcome = run(&endpoint, "follow 1 2").await;
        assert!(!outcome.ok);
        assert_eq!(outcome.err.lines().count(), 1, "{}", outcome.err);
        assert!(outcome.err.starts_with(&format!("error: cannot reach {endpoint}: ")), "{}", outcome.err);
        assert!(outcome.err.contains("refused"), "{}", outcome.err);
    }
    for endpoint in ["", "http://", "no such thing://", "http://host:port"] {
        let outcome = run(endpoint, "follow 1 2").await;
        assert!(outcome.err.starts_with(&format!("error: cannot reach {endpoint}: ")), "{}", outcome.err);
    }
}
