//! Every key in Redis is of a known kind, and where the keyspace crate says.

use std::collections::{BTreeMap, BTreeSet};

use keyspace::{Keyspace, Slot};
use model::UserId;
use rand::Rng;
use socialgraph::v1::{PublishPostRequest, ScrollFeedRequest};

use crate::support::{Api, Described, Place, now, row, row_at, seeded};

const OF_USERS: [&str; 11] =
    ["following", "left", "followers", "gone", "posts", "inbox", "feed", "blocking", "muting", "mute_ends", "rate"];
/// Those of a post or a request of a user.
const OF_POSTS: [&str; 2] = ["post", "request"];
const OF_PARTITIONS: [&str; 4] = ["log", "pending", "clock", "trimmed"];
const OF_KEYSPACES: [&str; 2] = ["format", "instances"];
const IDS: [i64; 12] =
    [1, 2, 3, 10, 99, 1_024, 65_536, 1 << 40, (1 << 53) + 1, (1 << 62) + 12_345, i64::MAX - 1, i64::MAX];

/// Some of everything that writes.
async fn mixed_workload(api: &Api) {
    let mut random = seeded();
    let mut pick = || {
        let follower = random.random_range(0..IDS.len());
        let followee = (follower + random.random_range(1..IDS.len())) % IDS.len();
        (IDS[follower], IDS[followee], random.random_range(0..9))
    };
    for _ in 0..400 {
        let (follower, followee, choice) = pick();
        match choice {
            0 | 1 => drop(api.try_follow(follower, followee).await),
            2 => drop(api.unfollow(follower, followee).await),
            3 => {
                let request_id = format!("{{x}}:{followee}");
                let request = PublishPostRequest { author_id: follower, request_id, ..Default::default() };
                drop(api.publish_with(request).await);
            }
            4 => drop(api.block(follower, followee).await),
            5 => drop(api.unblock(follower, followee).await),
            6 => drop(api.mute(follower, followee, (followee > 99).then(|| now() + 3_600_000_000)).await),
            7 => drop(api.scroll(ScrollFeedRequest { user_id: follower, ..Default::default() }).await),
            _ => {
                drop(api.import(vec![row_at(follower, followee, 1_600_000_000_000_000), row(followee, follower)]).await)
            }
        }
    }
    api.import((0..2_000).map(|number| row(number % 50 + 200, number + 300)).collect()).await;
}

/// The slot of a key that the service may have, by the keyspace crate, and the user that it belongs to if to one.
fn expected(place: &Place, key: &str) -> (Slot, Option<i64>) {
    let keys = place.keys();
    let rest = key.strip_prefix(&format!("{}:{{", place.name)).unwrap_or_else(|| panic!("foreign: {key}"));
    let (tag, kind) = rest.split_once("}:").unwrap_or_else(|| panic!("no tag: {key}"));
    let parts: Vec<&str> = kind.splitn(3, ':').collect();
    match parts[..] {
        [kind, id] if OF_USERS.contains(&kind) => expected_of_user(&keys, key, tag, id),
        [kind, id, _] if OF_POSTS.contains(&kind) => expected_of_user(&keys, key, tag, id),
        [kind] if OF_PARTITIONS.contains(&kind) => {
            let partition = keys.partitions().all().find(|&partition| keys.hash_tag(partition) == tag);
            (keys.slot(partition.unwrap_or_else(|| panic!("no partition: {key}"))), None)
        }
        [kind] if OF_KEYSPACES.contains(&kind) => {
            assert_eq!(tag, "000", "{key}");
            (keys.format().slot(), None)
        }
        _ => panic!("a key of unknown kind: {key}"),
    }
}

fn expected_of_user(keys: &Keyspace, key: &str, tag: &str, id: &str) -> (Slot, Option<i64>) {
    let user = UserId::new(id.parse().unwrap_or_else(|_| panic!("no id: {key}"))).unwrap();
    let partition = keys.partition(user);
    assert_eq!(tag, keys.hash_tag(partition), "{key}");
    (keys.slot(partition), Some(user.get()))
}

async fn after_a_mixed_workload_every_key_is_known_and_in_its_slot(place: Place) {
    for partitions in [64, 1_024] {
        let place = Place { partitions, ..place.another().await };
        let api = place.serve(&[("limits.follows-per-hour", "1000")]).await;
        mixed_workload(&api).await;
        place.settled().await;
        let found = place.redis.scan(&format!("{}:*", place.name)).await;
        assert!(found.len() > 300, "{} keys", found.len());
        for kind in OF_USERS {
            assert!(found.iter().any(|(_, key)| key.contains(&format!("}}:{kind}:"))), "no {kind}");
        }
        let mut of_users: BTreeMap<i64, BTreeSet<Slot>> = BTreeMap::new();
        for (_, key) in &found {
            let (slot, user) = expected(&place, key);
            assert_eq!(Slot::of(key.as_bytes()), slot, "{key}");
            if let Some(user) = user {
                of_users.entry(user).or_default().insert(slot);
            }
        }
        assert!(of_users.values().all(|slots| slots.len() == 1), "{of_users:?}");
        if place.backend.is_cluster() {
            assert_slots_are_those_of_redis(&place, &found).await;
        }
    }
}

/// Redis' own word on it: a node counts the keys in the slot where it has them.
async fn assert_slots_are_those_of_redis(place: &Place, found: &[(usize, String)]) {
    let keys: Vec<&str> = found.iter().map(|(_, key)| key.as_str()).collect();
    let slots = place.redis.key_slots(&keys).await;
    for (key, slot) in keys.iter().zip(slots) {
        assert_eq!(Slot::of(key.as_bytes()).get(), slot, "{key}");
    }
    let nodes: BTreeSet<usize> = found.iter().map(|(node, _)| *node).collect();
    assert_eq!(nodes.len(), 3, "a node has nothing");
}

async fn nothing_stays_pending_and_tombstones_expire(place: Place) {
    let api = place.serve(&[]).await;
    mixed_workload(&api).await;
    place.settled().await;
    for Described { key, expires_in, .. } in place.redis.describe(&format!("{}:*", place.name)).await {
        let most = if key.contains("}:left:") {
            7 * 24 * 3_600
        } else if key.contains("}:inbox:") || key.contains("}:feed:") {
            14 * 24 * 3_600
        } else if key.contains("}:request:") {
            24 * 3_600
        } else if key.contains("}:gone:") {
            3_600
        } else {
            assert_eq!(expires_in, -1, "{key} expires");
            continue;
        };
        assert!((1..=most).contains(&expires_in), "{key} expires in {expires_in} s");
    }
}

on_each_backend!(
    after_a_mixed_workload_every_key_is_known_and_in_its_slot,
    nothing_stays_pending_and_tombstones_expire,
);
