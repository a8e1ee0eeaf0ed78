//! Several servers on one keyspace.

use model::UserId;
use nix::sys::signal::Signal;

use crate::support::{Instance, LIMIT, Place, Process, assert_mirrored, eventually, micros};

const HELD: &str = "socialgraph_relay_partitions";
const REPLAYED: &str = "socialgraph_relay_replayed_total{kind=\"follow\"}";
/// Users that are spread over most partitions.
const USERS: std::ops::RangeInclusive<i64> = 1..=100;
/// Whom they follow.
const STAR: i64 = 1_000;

async fn held(server: &Process) -> f64 {
    server.metric(HELD).await.unwrap_or(0.0)
}

async fn all_serve_one_graph(place: Place) {
    let (first, second) = (place.serve(&[]).await, place.serve(&[]).await);
    let followed = first.follow(1, 2).await;
    let again = second.follow(1, 2).await;
    assert!(!again.created);
    assert_eq!(again.followed_at, followed.followed_at);
    assert_eq!(second.followers(2).await, [(1, micros(followed.followed_at))]);
    assert!(second.unfollow(1, 2).await.removed);
    assert_eq!(first.is_following(1, 2).await, None);
    second.stop().await;
    assert!(first.follow(1, 2).await.created);
    assert_eq!(assert_mirrored(&first, 1..=2).await.len(), 1);
}

/// Makes it look as if a server had died right after the first half of each follow of [`STAR`].
async fn lose_all_followers(place: &Place) {
    place.settled().await;
    let keys = place.keys();
    place.redis.command(&["DEL", &keys.followers(UserId::new(STAR).unwrap()).to_string()]).await;
    for user in USERS {
        let partition = keys.partition(UserId::new(user).unwrap());
        let log = place.redis.command(&["XRANGE", &keys.log(partition).to_string(), "-", "+"]).await;
        let entries = log.lines().filter_map(|line| line.strip_suffix("-0"));
        for version in entries {
            place.redis.command(&["ZADD", &keys.pending(partition).to_string(), version, version]).await;
        }
    }
}

/// Partitions are shared out; when one server goes, the other takes all, and finishes what is pending in them.
async fn takes_over(place: &Place, end: Signal) {
    let mut first = Process::serve(place, &[]).await;
    let second = Process::serve(place, &[]).await;
    eventually("partitions are shared out", async || {
        let shares = [held(&first).await, held(&second).await];
        (shares[0] > 0.0 && shares[1] > 0.0 && shares[0] + shares[1] == 64.0).then_some(())
    })
    .await;
    for user in USERS {
        let api = if user % 2 == 0 { &first.api } else { &second.api };
        assert!(api.follow(user, STAR).await.created);
    }

    first.signal(end);
    let status = first.ended().await;
    assert_eq!(status.success(), end == Signal::SIGTERM, "{status}");
    eventually("the other takes all", async || (held(&second).await == 64.0).then_some(())).await;

    lose_all_followers(place).await;
    let followers = USERS.count();
    eventually("followers are back", async || (second.api.followers(STAR).await.len() == followers).then_some(()))
        .await;
    place.settled().await;
    assert!(second.metric(REPLAYED).await.unwrap() >= followers as f64);
    assert_eq!(assert_mirrored(&second.api, USERS.chain([STAR])).await.len(), followers);
}

async fn one_that_drains_hands_its_partitions_over(place: Place) {
    // Longer than anything here is waited for: it is handed over, and not waited for.
    let lease = format!("{}s", LIMIT.as_secs() * 2);
    let place = Place { more: vec![("relay.lease", lease)], ..place };
    takes_over(&place, Signal::SIGTERM).await;
}

async fn one_that_dies_loses_its_partitions(place: Place) {
    takes_over(&place, Signal::SIGKILL).await;
}

async fn another_number_of_partitions_is_refused(place: Place) {
    let _first = place.serve(&[]).await;
    let other = [("keyspace.partitions", "128")];
    let Err(error) = Instance::start(place.settings(&other)).await else { panic!("served") };
    let expected = "the keyspace has 64 partitions, but keyspace.partitions is 128; the number is fixed when a keyspace is \
                    created";
    assert_eq!(error.to_string(), expected);
    let (code, says) = Process::fails(&place, &other).await;
    assert_eq!(code, Some(1));
    assert!(says.lines().any(|line| line == format!("socialgraph: {expected}")), "{says}");
    // And the keyspace is as it was.
    place.serve(&[]).await.follow(1, 2).await;
}

async fn a_newer_format_is_refused(place: Place) {
    place.serve(&[]).await.stop().await;
    let format = place.keys().format().to_string();
    assert_eq!(place.redis.command(&["HSET", &format, "format", "3"]).await, "0");
    let Err(error) = Instance::start(place.settings(&[])).await else { panic!("served") };
    assert_eq!(error.to_string(), "the keyspace has format 3, and this version knows only 2");
}

on_each_backend!(
    all_serve_one_graph,
    one_that_drains_hands_its_partitions_over,
    one_that_dies_loses_its_partitions,
    another_number_of_partitions_is_refused,
    a_newer_format_is_refused,
);
