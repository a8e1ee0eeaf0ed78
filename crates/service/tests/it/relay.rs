//! What the relay finishes, and what it leaves alone.

use std::time::Duration;

use model::Entry;
use store::ops::{Apply, FollowerChange, Settle, TrimLog};

use crate::support::{World, edge, micros, on_each_backend, user};

async fn settle(world: &World, change: FollowerChange) {
    let partition = world.store.keys().partition(user(1));
    world.run(Settle { partition, versions: vec![change.version()] }).await;
}

#[test]
fn what_a_dead_process_left_is_finished() {
    on_each_backend(async |world| {
        let (followed, unfollowed) = (edge(1, 2), edge(1, 3));
        world.commit_new(followed, None).await;
        let change = world.commit_new(unfollowed, None).await;
        world.apply(unfollowed, change).await;
        settle(world, change).await;
        world.commit_unfollow(unfollowed).await;
        assert_eq!(world.pending(user(1)).await, 2);

        world.relay(user(1)).await;
        assert!(world.both_ends(followed).await.is_some());
        assert_eq!(world.both_ends(unfollowed).await, None);
    });
}

#[test]
fn unfollow_and_follow_around_a_pending_follow() {
    on_each_backend(async |world| {
        let edge = edge(1, 2);
        world.commit_new(edge, None).await;
        world.commit_unfollow(edge).await;
        let last = world.commit_new(edge, None).await;
        world.relay(user(1)).await;
        let FollowerChange::Present { followed_at, .. } = last else { panic!("{last:?}") };
        assert_eq!(world.both_ends(edge).await, Some(followed_at));
    });
}

#[test]
fn a_follow_that_was_undone_does_not_come_back_when_the_removal_is_forgotten() {
    on_each_backend(async |world| {
        let edge = edge(1, 2);
        world.commit_new(edge, None).await;
        let unfollowed = world.commit_unfollow(edge).await;
        world.apply(edge, unfollowed).await;
        settle(world, unfollowed).await;
        // As if more than an hour had passed.
        world.redis("DEL", &world.store.keys().gone(edge.followee()), &[]).await;
        assert_eq!(world.pending(user(1)).await, 1);
        world.relay(user(1)).await;
        assert_eq!(world.both_ends(edge).await, None);
    });
}

#[test]
fn a_removal_whose_commit_failed_half_way_is_not_replayed() {
    on_each_backend(async |world| {
        let edge = edge(1, 2);
        let followed = world.commit_new(edge, None).await;
        world.apply(edge, followed).await;
        settle(world, followed).await;
        let FollowerChange::Present { followed_at, version } = followed else { panic!("{followed:?}") };
        let keys = world.store.keys();
        let partition = keys.partition(user(1));
        let later = (version.0 + 1).to_string();
        let entry = [format!("{later}-0"), "-".to_owned(), format!("1 2 {followed_at}")];
        world.redis("XADD", &keys.log(partition), &entry.each_ref().map(String::as_str)).await;
        world.redis("ZADD", &keys.pending(partition), &[&later, &later]).await;

        world.relay(user(1)).await;
        assert_eq!(world.both_ends(edge).await, Some(followed_at));
    });
}

#[test]
fn a_pending_change_that_the_log_lost_is_settled_and_does_no_harm() {
    on_each_backend(async |world| {
        let edge = edge(1, 2);
        let followed = world.commit_new(edge, None).await;
        world.apply(edge, followed).await;
        let keys = world.store.keys();
        world.redis("DEL", &keys.log(keys.partition(user(1))), &[]).await;
        world.relay(user(1)).await;
        assert!(world.both_ends(edge).await.is_some());
    });
}

#[test]
fn a_batch_of_many_rows_is_finished_row_by_row() {
    on_each_backend(async |world| {
        let graph = world.graph().await;
        // Rows of an import, of which only some were applied before the process died.
        for followee in 2..40_i64 {
            let change = world.commit_new(edge(1, followee), Some(micros(1_000_000 + followee.unsigned_abs()))).await;
            if followee % 3 == 0 {
                world.run(Apply::new(vec![(edge(1, followee), change)])).await;
            }
        }
        world.wait_until(async || world.pending(user(1)).await == 0).await;
        for followee in 2..40_i64 {
            let at = micros(1_000_000 + followee.unsigned_abs());
            assert_eq!(world.both_ends(edge(1, followee)).await, Some(at));
        }
        drop(graph);
    });
}

#[test]
fn the_log_is_trimmed_to_what_is_pending() {
    on_each_backend(async |world| {
        let keys = world.store.keys();
        let partition = keys.partition(user(1));
        let mut changes = Vec::new();
        for followee in 2..1_002 {
            changes.push(world.commit_new(edge(1, followee), None).await);
        }
        let trim = TrimLog { partition, retention: Duration::ZERO, patience: Duration::ZERO };
        assert_eq!(world.run(trim).await, 0, "everything is pending");

        let versions = changes[..600].iter().map(|&change| change.version()).collect();
        world.run(Settle { partition, versions }).await;
        let removed = world.run(trim).await;
        assert!((500..=600).contains(&removed), "whole nodes of the stream before the oldest pending: {removed}");
        assert_eq!(
            world.run(TrimLog { partition, retention: Duration::from_secs(3600), patience: Duration::ZERO }).await,
            0
        );
        world.relay(user(1)).await;
        let followers = world.list(keyspace::List::Followers, user(1_001)).await;
        let FollowerChange::Present { followed_at, .. } = changes[999] else { panic!("{:?}", changes[999]) };
        assert_eq!(followers, [Entry { at: followed_at, user: user(1) }]);
    });
}
