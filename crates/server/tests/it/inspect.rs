//! Admin.InspectUser.

use std::collections::BTreeSet;

use model::UserId;
use socialgraph::{
    admin::v1::{InspectUserRequest, InspectUserResponse, RedisKey},
    v1::{DismissRecommendationRequest, ScrollFeedRequest},
};

use crate::support::{Api, Place, eventually, now, row};

async fn inspect(api: &Api, user_id: i64) -> InspectUserResponse {
    api.admin().inspect_user(InspectUserRequest { user_id }).await.expect("inspect").into_inner()
}

fn key<'a>(answer: &'a InspectUserResponse, kind: &str) -> &'a RedisKey {
    let kind = format!("}}:{kind}");
    let holds = |key: &&RedisKey| key.key.contains(&kind);
    answer.keys.iter().find(holds).unwrap_or_else(|| panic!("no {kind} in {answer:?}"))
}

async fn a_user_never_seen_has_no_keys(place: Place) {
    let api = place.serve(&[]).await;
    let answer = inspect(&api, i64::MAX).await;
    let keys = place.keys();
    let partition = keys.partition(UserId::new(i64::MAX).unwrap());
    assert_eq!(answer.partition, u32::from(partition.get()));
    assert_eq!(answer.hash_tag, keys.hash_tag(partition));
    assert_eq!(answer.slot, u32::from(keys.slot(partition).get()));
    assert_eq!(answer.keys.len(), 11);
    for key in &answer.keys {
        let none = RedisKey { key: key.key.clone(), shared: key.shared, ..RedisKey::default() };
        assert_eq!(*key, none);
    }
}

/// Every key but those of single posts, of which there may be any number.
async fn it_names_every_key_that_the_user_and_the_partition_have(place: Place) {
    let api = place.serve(&[("limits.follows-per-hour", "10")]).await;
    api.follow(1, 2).await;
    api.follow(2, 1).await;
    api.follow(1, 3).await;
    api.unfollow(1, 3).await;
    api.follow(3, 1).await;
    api.unfollow(3, 1).await;
    api.publish(1, "a post").await;
    api.scroll(ScrollFeedRequest { user_id: 1, ..ScrollFeedRequest::default() }).await;
    api.block(1, 4).await;
    api.mute(1, 4, None).await;
    api.mute(1, 5, Some(now() + 3_600_000_000)).await;
    api.social()
        .dismiss_recommendation(DismissRecommendationRequest { user_id: 1, dismissed_id: 4 })
        .await
        .expect("dismiss");
    place.settled().await;
    let answer = inspect(&api, 1).await;
    let in_redis: BTreeSet<String> = place
        .redis
        .scan(&format!("{}:{{{}}}:*", place.name, answer.hash_tag))
        .await
        .into_iter()
        .map(|(_, key)| key)
        .filter(|key| !key.contains(":post:"))
        .collect();
    let existing = answer.keys.iter().filter(|key| key.exists);
    assert_eq!(existing.map(|key| key.key.clone()).collect::<BTreeSet<_>>(), in_redis);

    for (kind, entries, encoding) in [
        ("following:1", Some(1), "listpack"),
        ("followers:1", Some(1), "listpack"),
        ("left:1", Some(1), "listpack"),
        ("gone:1", Some(1), "listpack"),
        ("posts:1", Some(1), "listpack"),
        // The post, and what keeps an empty inbox in being.
        ("inbox:1", Some(2), "listpack"),
        ("feed:1", None, "listpack"),
        ("blocking:1", Some(1), "listpack"),
        ("muting:1", Some(2), "listpack"),
        ("mute_ends:1", Some(1), "listpack"),
        ("dismissed:1", Some(1), "listpack"),
        ("log", Some(7), "stream"),
    ] {
        let key = key(&answer, kind);
        assert_eq!((key.entries, key.encoding.as_str()), (entries, encoding), "{key:?}");
        assert!(key.exists && key.bytes > 0 && key.shared == (kind == "log"), "{key:?}");
    }
    let clock = key(&answer, "clock");
    assert!(clock.exists && clock.shared && clock.bytes > 0 && clock.entries.is_none() && !clock.encoding.is_empty());
    let rate = key(&answer, "rate:1");
    assert!(rate.exists && !rate.shared && rate.bytes > 0 && rate.entries.is_none());
    let pending = key(&answer, "pending");
    assert!(!pending.exists && pending.shared && pending.entries.is_none());
}

async fn the_node_is_the_one_that_has_the_slot(place: Place) {
    let api = place.serve(&[]).await;
    let addresses: Vec<String> = place.redis.urls().split(',').map(str::to_owned).collect();
    let mut met = BTreeSet::new();
    for user in 1..=30 {
        api.follow(user, 1_000).await;
        let answer = inspect(&api, user).await;
        let following = key(&answer, "following:").key.clone();
        let nodes = place.redis.scan(&following).await;
        assert_eq!(nodes.len(), 1);
        assert_eq!(answer.node, addresses[nodes[0].0], "{following}");
        met.insert(answer.node);
    }
    assert_eq!(met.len(), if place.backend.is_cluster() { 3 } else { 1 });
}

/// They are found out in the background.
async fn it_tells_up_to_how_many_entries_values_are_compact(place: Place) {
    let api = place.serve(&[]).await;
    eventually("the limits are known", async || {
        let answer = inspect(&api, 1).await;
        let limits = (answer.compact_sorted_set_entries?, answer.compact_number_set_entries?);
        assert_eq!(limits, (128, 16_384));
        Some(())
    })
    .await;
}

async fn a_long_list_shows_its_encoding(place: Place) {
    let api = place.serve(&[]).await;
    api.import((2..=1_001).map(|followee| row(1, followee)).collect()).await;
    let keys = inspect(&api, 1).await.keys;
    let of_list: Vec<&RedisKey> = keys.iter().filter(|key| key.key.contains("}:following:1")).collect();
    let (entries, members): (Vec<&RedisKey>, Vec<&RedisKey>) =
        of_list.iter().partition(|key| key.encoding == "listpack");
    let ends_with = |end: &str| of_list.iter().filter(|key| key.key.ends_with(end)).count();
    assert_eq!((ends_with(":1"), ends_with(":parts"), ends_with(":ids")), (1, 1, 1));
    let parts = entries.iter().find(|key| key.key.ends_with(":parts")).unwrap().entries.unwrap();
    assert_eq!(entries.iter().map(|key| key.entries.unwrap()).sum::<i64>() - parts, 1_000);
    assert_eq!(entries.len() as i64 - 2, parts - 1);
    assert!(entries.iter().all(|key| key.entries.unwrap() <= 128));
    assert_eq!(members.iter().map(|key| key.encoding.as_str()).collect::<Vec<_>>(), ["intset"]);
}

on_each_backend!(
    a_user_never_seen_has_no_keys,
    it_names_every_key_that_the_user_and_the_partition_have,
    the_node_is_the_one_that_has_the_slot,
    it_tells_up_to_how_many_entries_values_are_compact,
    a_long_list_shows_its_encoding,
);
