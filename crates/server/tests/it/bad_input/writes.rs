use std::collections::BTreeMap;

use socialgraph::v1::{FollowRequest, UnfollowRequest};

use super::{BAD_ENUMS, BAD_IDS};
use crate::support::{Api, Instance, Place, Refusal, refused};

/// A server with some edges, and how the keyspace looks then.
async fn filled(place: &Place) -> (Instance, BTreeMap<String, String>) {
    let api = place.serve(&[]).await;
    api.follow(1, 2).await;
    api.follow(2, 1).await;
    api.unfollow(2, 1).await;
    (api, place.snapshot().await)
}

async fn assert_untouched(place: &Place, api: &Api, before: BTreeMap<String, String>) {
    assert_eq!(place.snapshot().await, before, "something was written");
    assert_eq!(api.counts(&[1, 2]).await, [(1, 0), (0, 1)]);
}

async fn of_follow(place: Place) {
    let (api, before) = filled(&place).await;
    let follow = async |follower_id, followee_id, source: &str, expected: Refusal| {
        let request = FollowRequest { follower_id, followee_id, source: source.to_owned() };
        refused(api.social().follow(request.clone()).await, &expected, request);
    };
    for bad in BAD_IDS {
        follow(bad, 2, "", Refusal::fields(&["follower_id"])).await;
        follow(1, bad, "", Refusal::fields(&["followee_id"])).await;
        follow(bad, bad, "", Refusal::fields(&["follower_id", "followee_id"])).await;
        follow(bad, i64::MIN, "é", Refusal::fields(&["follower_id", "followee_id", "source"])).await;
    }
    let long = "x".repeat(65);
    for bad in [long.as_str(), "é", "a\nb", "a\tb", "\0", "\x7f", "\u{202e}", "\u{1f600}"] {
        follow(1, 3, bad, Refusal::fields(&["source"])).await;
        follow(1, 1, bad, Refusal::fields(&["source"])).await;
    }
    for id in [1, 3, i64::MAX] {
        follow(id, id, "", Refusal::self_reference()).await;
    }
    assert_untouched(&place, &api, before).await;
}

async fn of_unfollow(place: Place) {
    let (api, before) = filled(&place).await;
    let unfollow = async |follower_id, followee_id, feed_policy, expected: Refusal| {
        let request = UnfollowRequest { follower_id, followee_id, feed_policy };
        refused(api.social().unfollow(request).await, &expected, request);
    };
    for bad in BAD_IDS {
        unfollow(bad, 2, 0, Refusal::fields(&["follower_id"])).await;
        unfollow(1, bad, 0, Refusal::fields(&["followee_id"])).await;
        unfollow(bad, bad, 99, Refusal::fields(&["follower_id", "followee_id", "feed_policy"])).await;
    }
    for bad in BAD_ENUMS {
        unfollow(1, 2, bad, Refusal::fields(&["feed_policy"])).await;
        unfollow(1, 1, bad, Refusal::fields(&["feed_policy"])).await;
    }
    for id in [1, 3, i64::MAX] {
        unfollow(id, id, 0, Refusal::self_reference()).await;
    }
    assert_untouched(&place, &api, before).await;
}

on_each_backend!(of_follow, of_unfollow);
