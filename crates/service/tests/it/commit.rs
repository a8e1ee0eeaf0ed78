//! The first half of a write.

use keyspace::List;
use model::{Micros, Version};
use store::{
    StoreError, Traffic,
    ops::{Committed, Follow, FollowRow, FollowerRows, RowOutcome, Unfollow},
};

use crate::support::{World, edge, micros, on_each_backend, user};

fn version_of(committed: &Committed) -> Version {
    match committed.outcomes[..] {
        [RowOutcome::Created { version, .. }] => version,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn versions_are_unique_and_rising_within_a_partition() {
    on_each_backend(async |world| {
        let mut last = Version(0);
        for followee in 2..50 {
            let version = version_of(&world.commit(edge(1, followee), None).await);
            assert!(version > last);
            last = version;
            let removed = world.run(Unfollow { edge: edge(1, followee), keeps_posts: false, seen: Version(0) }).await;
            assert!(removed.version > last);
            last = removed.version;
        }
    });
}

#[test]
fn a_version_is_above_what_was_seen_even_where_redis_lost_its_clock() {
    on_each_backend(async |world| {
        let ahead = Version(Micros::now().get() + 3_600_000_000);
        let committed = world.run(world.follow_op(edge(1, 2), None, ahead)).await;
        assert_eq!(version_of(&committed), Version(ahead.0 + 1));
        // A promoted replica may lack the last changes.
        let partition = world.store.keys().partition(user(1));
        for key in [world.store.keys().clock(partition), world.store.keys().log(partition)] {
            world.redis("DEL", &key, &[]).await;
        }
        let seen = version_of(&committed);
        let committed = world.run(world.follow_op(edge(1, 3), None, seen)).await;
        assert_eq!(version_of(&committed), Version(seen.0 + 1));
        let removed = world.run(Unfollow { edge: edge(1, 3), keeps_posts: false, seen: Version(0) }).await;
        assert_eq!(removed.version, Version(seen.0 + 2));
    });
}

#[test]
fn an_edge_that_exists_is_returned_unchanged_and_writes_nothing() {
    on_each_backend(async |world| {
        let first = world.commit(edge(1, 2), None).await;
        let log = world.store.keys().log(world.store.keys().partition(user(1)));
        for followed_at in [None, Some(micros(5))] {
            let again = world.commit(edge(1, 2), followed_at).await;
            let RowOutcome::Created { followed_at, version } = first.outcomes[0] else { panic!("{first:?}") };
            let followed_at = Some(followed_at);
            assert_eq!(again, Committed { outcomes: vec![RowOutcome::Existing { followed_at }], version });
        }
        assert_eq!(world.redis("XLEN", &log, &[]).await, "1");
    });
}

#[test]
fn field_g16_a_row_older_than_an_unfollow_is_superseded_even_if_there_was_nothing_to_unfollow() {
    on_each_backend(async |world| {
        let never_followed = edge(1, 2);
        let unfollowed = world.run(Unfollow { edge: never_followed, keeps_posts: false, seen: Version(0) }).await;
        assert_eq!(unfollowed.removed, None);
        let at = |version: u64| Some(micros(version));
        for (time, outcome) in [(unfollowed.version.0 - 1, "older"), (unfollowed.version.0, "of the same time")] {
            let committed = world.commit(never_followed, at(time)).await;
            assert_eq!(committed.outcomes, [RowOutcome::Superseded], "{outcome}");
        }
        assert_eq!(world.both_ends(never_followed).await, None);
        let committed = world.commit(never_followed, at(unfollowed.version.0 + 1)).await;
        assert!(matches!(committed.outcomes[..], [RowOutcome::Created { .. }]), "{committed:?}");
    });
}

#[test]
fn a_batch_commits_each_row_once_and_numbers_the_new_ones() {
    on_each_backend(async |world| {
        let keys = world.store.keys();
        let partition = keys.partition(user(1));
        let neighbour = (2..).map(user).find(|&other| keys.partition(other) == partition).unwrap();
        world.commit(edge(1, 1_000_001), None).await;
        let row = |followee, followed_at: Option<u64>| FollowRow {
            followee: user(followee),
            followed_at: followed_at.map(micros),
        };
        let batch = Follow {
            partition,
            followers: vec![
                FollowerRows {
                    follower: user(1),
                    rows: vec![row(1_000_001, None), row(1_000_002, Some(7)), row(1_000_002, None)],
                },
                FollowerRows { follower: neighbour, rows: vec![row(1_000_001, None), row(1_000_003, Some(9))] },
            ],
            source: String::new(),
            max_following: 3,
            per_hour: 0,
            seen: Version(0),
        };
        let committed = world.run(batch).await;
        let versions: Vec<_> = committed
            .outcomes
            .iter()
            .filter_map(|outcome| match outcome {
                RowOutcome::Created { version, .. } => Some(version.0),
                RowOutcome::Existing { .. }
                | RowOutcome::Superseded
                | RowOutcome::OverLimit
                | RowOutcome::Unavailable
                | RowOutcome::Blocked
                | RowOutcome::TooMany { .. } => None,
            })
            .collect();
        let last = committed.version.0;
        assert_eq!(versions, [last - 2, last - 1, last]);
        assert!(matches!(
            committed.outcomes[..],
            [
                RowOutcome::Existing { .. },
                RowOutcome::Created { .. },
                RowOutcome::Existing { .. },
                RowOutcome::Created { .. },
                RowOutcome::Created { .. }
            ]
        ));
        let times: Vec<_> = world.list(List::Following, neighbour).await.iter().map(|entry| entry.at.get()).collect();
        assert_eq!(times, [9, last - 1]);
    });
}

#[test]
fn the_limit_holds_for_the_resulting_set() {
    on_each_backend(async |world| {
        let rows = (2..8).map(|followee| FollowRow { followee: user(followee), followed_at: None }).collect();
        let batch = Follow {
            partition: world.store.keys().partition(user(1)),
            followers: vec![FollowerRows { follower: user(1), rows }],
            source: String::new(),
            max_following: 4,
            per_hour: 0,
            seen: Version(0),
        };
        let committed = world.run(batch.clone()).await;
        assert!(committed.outcomes[..4].iter().all(|outcome| matches!(outcome, RowOutcome::Created { .. })));
        assert_eq!(committed.outcomes[4..], [RowOutcome::OverLimit, RowOutcome::OverLimit]);
        assert_eq!(world.list(List::Following, user(1)).await.len(), 4);
    });
}

/// A commit that Redis aborts.
async fn refused(world: &World) {
    let follow = world.follow_op(edge(1, 2), None, Version(0));
    let deadline = model::Deadline::after(std::time::Duration::from_secs(5));
    let error = world.store.run(&follow, Traffic::Interactive, deadline).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "{error}");
}

#[test]
fn a_commit_that_fails_in_its_checks_writes_nothing() {
    on_each_backend(async |world| {
        let keys = world.store.keys();
        let partition = keys.partition(user(1));
        for key in [keys.following(user(1)), keys.left(user(1)), keys.clock(partition)] {
            world.redis("DEL", &key, &[]).await;
            world.redis("HSET", &key, &["field", "wrong type"]).await;
            refused(world).await;
            assert_eq!(world.redis("EXISTS", &keys.log(partition), &[]).await, "0");
            assert_eq!(world.redis("EXISTS", &keys.pending(partition), &[]).await, "0");
            world.redis("DEL", &key, &[]).await;
        }
    });
}

#[test]
fn a_commit_that_fails_half_way_can_be_repeated_and_the_relay_does_no_harm() {
    on_each_backend(async |world| {
        let keys = world.store.keys();
        let partition = keys.partition(user(1));
        let pending = keys.pending(partition);
        world.redis("HSET", &pending, &["field", "wrong type"]).await;
        refused(world).await;
        assert_eq!(world.redis("XLEN", &keys.log(partition), &[]).await, "1", "the log is written first");
        assert_eq!(world.both_ends(edge(1, 2)).await, None);
        world.redis("DEL", &pending, &[]).await;

        world.commit_new(edge(1, 2), None).await;
        world.relay(user(1)).await;
        assert!(world.both_ends(edge(1, 2)).await.is_some());
    });
}

/// The client library miscounts the digits of some integers.
#[test]
fn numbers_just_below_powers_of_ten_are_numbers_like_others() {
    on_each_backend(async |world| {
        for number in (1..19).flat_map(|digits| [10_i64.pow(digits) - 1, 10_i64.pow(digits) - 2, 10_i64.pow(digits)]) {
            let at = micros(number.unsigned_abs().min(10_u64.pow(15) - 1));
            let edges = [edge(number, 5), edge(6, number)];
            for edge in edges {
                let change = world.commit_new(edge, Some(at)).await;
                world.apply(edge, change).await;
                assert_eq!(world.both_ends(edge).await, Some(at));
            }
        }
    });
}
