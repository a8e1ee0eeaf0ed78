use prost_types::Timestamp;
use serde_json::json;
use socialgraph::v1::{consistency::Requirement, *};

use crate::{
    answers::ENTRIES,
    run,
    server::{Call, Fake},
};

#[tokio::test]
async fn every_option_reaches_the_server() {
    let (fake, endpoint) = Fake::start().await;
    let fresh = Some(Consistency { requirement: Some(Requirement::AtLeastAsFresh("t".to_owned())) });
    let mute = |muted_until| Call::Mute(MuteRequest { user_id: 1, muted_id: -2, muted_until });
    let cases = [
        ("block 1 -2", Call::Block(BlockRequest { user_id: 1, blocked_id: -2 })),
        ("unblock -1 2", Call::Unblock(UnblockRequest { user_id: -1, blocked_id: 2 })),
        (
            "list-blocked -1 --page-size 7 --page-token 9 --at-least-as-fresh t",
            Call::ListBlocked(ListBlockedRequest {
                user_id: -1,
                page_size: 7,
                page_token: "9".to_owned(),
                consistency: fresh.clone(),
            }),
        ),
        ("mute 1 -2", mute(None)),
        ("mute 1 -2 --until 2023-11-14T22:13:20Z", mute(Some(Timestamp { seconds: 1_700_000_000, nanos: 0 }))),
        ("unmute 1 2", Call::Unmute(UnmuteRequest { user_id: 1, muted_id: 2 })),
        (
            "list-muted 1 --page-size 7 --page-token 9 --at-least-as-fresh t",
            Call::ListMuted(ListMutedRequest {
                user_id: 1,
                page_size: 7,
                page_token: "9".to_owned(),
                consistency: fresh,
            }),
        ),
        ("list-muted 1", Call::ListMuted(ListMutedRequest { user_id: 1, ..Default::default() })),
    ];
    for (line, expected) in cases {
        let outcome = run(&endpoint, line).await;
        assert!(outcome.ok, "{line}: {}", outcome.err);
        assert_eq!(fake.calls().last(), Some(&expected), "{line}");
    }
}

#[tokio::test]
async fn answers_are_printed() {
    let (_fake, endpoint) = Fake::start().await;
    let at = "2023-11-14T22:13:20.000007Z";
    let cases = [
        ("unblock 1 2", "removed            true\nconsistency_token  token-1\n"),
        ("unmute 1 2", "removed            false\nconsistency_token  token-1\n"),
        (
            "list-muted 1 --page-size 2",
            "user_id  muted_at                     muted_until\n      \
             1  2023-11-14T22:13:20.000001Z  -\n      \
             2  2023-11-14T22:13:20.000002Z  2023-11-14T22:13:20.000003Z\n\
             next_page_token  2\n",
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(run(&endpoint, line).await.out, expected, "{line}");
    }
    let block = json!({"created": true, "blockedAt": at, "consistencyToken": "token-1", "followersPending": false});
    assert_eq!(run(&endpoint, "block 1 2 --json").await.json(), block);
    let mute = json!({"created": true, "mutedAt": at, "consistencyToken": "token-1"});
    assert_eq!(run(&endpoint, "mute 1 2 --json").await.json(), mute);
}

#[tokio::test]
async fn all_pages_are_one_document() {
    let (_fake, endpoint) = Fake::start().await;
    for line in ["list-blocked 1", "list-muted 1"] {
        let json = run(&endpoint, &format!("{line} --all --json")).await.json();
        let users = json["users"].as_array().unwrap().iter().map(|user| user["userId"].as_str().unwrap().to_owned());
        assert_eq!(users.collect::<Vec<_>>(), (1..=ENTRIES).map(|id| id.to_string()).collect::<Vec<_>>(), "{line}");
        assert_eq!(json["nextPageToken"], "");
    }
}
