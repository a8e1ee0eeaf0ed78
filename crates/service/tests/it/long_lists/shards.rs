//! Segments that move into shards, and what may happen meanwhile.

use std::{sync::Arc, time::Duration};

use ::model::Version;
use keyspace::{List, Shard};
use store::ops::{
    Adopt, Apply, ApplyToShard, Cause, Count, FollowerChange, HandOver, Outline, Outlined, Recount, Segment, Span,
    SpanUsers, Spread, SpreadStep, Spreading,
};

use super::{OWNER, parts::check_parts};
use crate::support::{World, edge, micros, on_each_backend, user};

const FOLLOWERS: i64 = 1_000;

/// Moves some segments, but the last two.
pub(super) async fn spread(world: &World, steps: usize, full: u32) {
    for _ in 0..steps {
        let Some(spreading) = take(world, "worker", full).await else { break };
        assert!(world.run(Adopt(&spreading)).await);
        assert!(world.run(HandOver(&spreading)).await);
    }
}

async fn take(world: &World, worker: &str, full: u32) -> Option<Spreading> {
    let (user, worker, lease) = (user(OWNER), worker.to_owned(), Duration::from_millis(50));
    match world.run(Spread { user, worker, lease, stays: 2, full }).await {
        SpreadStep::Move(spreading) => Some(spreading),
        SpreadStep::Elsewhere | SpreadStep::Done => None,
    }
}

fn followed(follower: i64) -> (::model::Edge, FollowerChange) {
    let followed_at = micros(1_600_000_000_000_000 + follower as u64);
    (edge(follower, OWNER), FollowerChange::Present { followed_at, version: Version(5) })
}

fn unfollowed(follower: i64) -> (::model::Edge, FollowerChange) {
    let removed = Some(micros(1_600_000_000_000_000 + follower as u64));
    (edge(follower, OWNER), FollowerChange::Absent { removed, version: Version(6) })
}

async fn has_followers(world: &World) {
    let changes: Vec<_> = (2..2 + FOLLOWERS).map(followed).collect();
    for changes in changes.chunks(64) {
        world.apply_all(changes).await;
    }
}

/// The list is what it should be, in every part and in its length.
async fn check(world: &World, followers: impl Iterator<Item = i64>) {
    let listed: Vec<_> = world.list(List::Followers, user(OWNER)).await.iter().map(|entry| entry.user).collect();
    let wanted: Vec<_> = followers.map(user).collect();
    assert_eq!(listed, wanted);
    check_parts(world, List::Followers, user(OWNER), wanted.len()).await;
}

#[test]
fn steps_may_come_twice() {
    on_each_backend(async |world| {
        has_followers(world).await;
        let mut shards = std::collections::BTreeSet::new();
        while let Some(spreading) = take(world, "worker", 3).await {
            shards.insert(spreading.shard);
            for _ in 0..2 {
                assert!(world.run(Adopt(&spreading)).await);
            }
            assert!(world.run(HandOver(&spreading)).await);
            assert!(!world.run(HandOver(&spreading)).await);
        }
        assert!(shards.len() > 1, "{shards:?}");
        check(world, 2..2 + FOLLOWERS).await;
    });
}

/// A connection that was given up may still deliver a step when others are done.
#[test]
fn a_step_that_comes_again_much_later_does_nothing() {
    on_each_backend(async |world| {
        has_followers(world).await;
        let first = take(world, "worker", 100).await.unwrap();
        assert!(world.run(Adopt(&first)).await && world.run(HandOver(&first)).await);
        let removed = 10;
        world.apply_all(&[unfollowed(removed)]).await;
        assert!(world.run(Adopt(&first)).await);
        let wanted = || (2..2 + FOLLOWERS).filter(|follower| *follower != removed);
        check(world, wanted()).await;
        let second = take(world, "worker", 100).await.unwrap();
        assert!(!world.run(HandOver(&first)).await);
        assert!(world.run(Adopt(&second)).await);
        assert!(!world.run(Adopt(&first)).await);
        assert!(world.run(HandOver(&second)).await);
        assert!(!world.run(Adopt(&first)).await && world.run(Adopt(&second)).await);
        assert!(!world.run(HandOver(&second)).await);
        check(world, wanted()).await;
    });
}

#[test]
fn a_segment_that_changed_after_its_copy_stays() {
    on_each_backend(async |world| {
        has_followers(world).await;
        spread(world, 1, 100).await;
        let spreading = take(world, "worker", 100).await.unwrap();
        assert!(world.run(Adopt(&spreading)).await);
        // In the copied segment, which begins after the one that was moved.
        let removed = 2 + 96 + 5;
        world.apply_all(&[unfollowed(removed)]).await;
        assert!(!world.run(HandOver(&spreading)).await);
        check_list(world, removed).await;
        spread(world, 1, 100).await;
        check(world, (2..2 + FOLLOWERS).filter(|follower| *follower != removed)).await;
    });
}

/// As seen by readers: the shard may have a copy that is not part of the list.
async fn check_list(world: &World, removed: i64) {
    let listed = world.list(List::Followers, user(OWNER)).await;
    let listed: Vec<_> = listed.iter().map(|entry| entry.user).collect();
    assert_eq!(listed, (2..2 + FOLLOWERS).filter(|other| *other != removed).map(user).collect::<Vec<_>>());
}

#[test]
fn a_worker_that_was_superseded_does_nothing() {
    on_each_backend(async |world| {
        has_followers(world).await;
        let late = take(world, "late", 100).await.unwrap();
        assert!(world.run(Adopt(&late)).await);
        assert_eq!(take(world, "other", 100).await, None, "the lease is not over");
        world.wait_until(async || take(world, "other", 100).await.is_some()).await;
        let taken = take(world, "other", 100).await.unwrap();
        assert_eq!(taken.shard, late.shard);
        assert!(world.run(Adopt(&taken)).await);
        assert!(!world.run(HandOver(&late)).await);
        assert!(!world.run(Adopt(&late)).await);
        assert!(world.run(HandOver(&taken)).await);
        assert!(!world.run(Adopt(&late)).await);
        check(world, 2..2 + FOLLOWERS).await;
    });
}

/// An addition on its way to a shard, which a removal passes.
#[test]
fn a_late_addition_to_a_shard_does_not_bring_back_what_was_removed() {
    on_each_backend(async |world| {
        has_followers(world).await;
        spread(world, 4, 100).await;
        let gone = 50;
        let late = world.run(Apply::new(vec![followed(gone)])).await.routed;
        assert_eq!(late.len(), 1);
        world.apply_all(&[unfollowed(gone)]).await;
        world.apply_routed(&late).await;
        let wanted = || (2..2 + FOLLOWERS).filter(|follower| *follower != gone);
        check(world, wanted()).await;
        // A newer edge of the same follower is another one.
        let followed_at = micros(1_600_000_000_000_000 + gone as u64 + FOLLOWERS as u64 * 2);
        world.apply_all(&[(edge(gone, OWNER), FollowerChange::Present { followed_at, version: Version(7) })]).await;
        world.apply_routed(&late).await;
        check(world, wanted().chain([gone])).await;
    });
}

#[test]
fn lengths_follow_shards_in_any_order() {
    on_each_backend(async |world| {
        has_followers(world).await;
        spread(world, 4, 100).await;
        let mut recounts = Vec::new();
        for follower in [10, 20, 30] {
            let routed = world.run(Apply::new(vec![unfollowed(follower)])).await.routed;
            let [routed] = routed[..] else { panic!("{routed:?}") };
            let changes = vec![(routed.edge, routed.change)];
            let growth =
                world.run(ApplyToShard { shard: routed.shard, cause: Cause::Edge, changes, segments: [].into() }).await;
            recounts.push(Recount { user: user(OWNER), shard: routed.shard, growth });
        }
        for recount in [recounts[2], recounts[0], recounts[1], recounts[2]] {
            world.run(recount).await;
        }
        assert_eq!(world.run(Count(user(OWNER))).await.followers, FOLLOWERS as u64 - 3);
        check(world, (2..2 + FOLLOWERS).filter(|follower| ![10, 20, 30].contains(follower))).await;
    });
}

async fn outline(world: &World, shard: Shard) -> Arc<[Segment]> {
    let outline = Outline { list: List::Followers, user: user(OWNER), shard: Some(shard), first: 0 };
    let Outlined::Segments(segments) = world.run(outline).await else { panic!("a shard without segments") };
    segments.into()
}

/// Changes of a shard take what is known of its segments, which may be what it was long ago.
#[test]
fn segments_of_shards_may_be_known_and_may_have_changed() {
    on_each_backend(async |world| {
        has_followers(world).await;
        spread(world, 4, 100).await;
        let shard = world.run(Apply::new(vec![unfollowed(9)])).await.routed[0].shard;
        let before = outline(world, shard).await;
        let between = |follower: i64| {
            let followed_at = micros(1_600_000_000_000_050);
            (edge(follower, OWNER), FollowerChange::Present { followed_at, version: Version(5) })
        };
        // They come between two others, and split segments.
        let new = 2 * FOLLOWERS..2 * FOLLOWERS + 300;
        for followers in new.clone().collect::<Vec<_>>().chunks(64) {
            world.apply_all(&followers.iter().copied().map(between).collect::<Vec<_>>()).await;
        }
        let now = outline(world, shard).await;
        assert!(now.len() > before.len() + 1, "{} {}", now.len(), before.len());
        for (follower, segments) in [(9, now.clone()), (10, before.clone()), (90, before), (91, now)] {
            let changes = vec![unfollowed(follower)];
            world.run(Apply::new(changes.clone())).await;
            let growth = world.run(ApplyToShard { shard, cause: Cause::Edge, changes, segments }).await;
            world.run(Recount { user: user(OWNER), shard, growth }).await;
        }
        let wanted = (2..50).chain(new).chain(50..2 + FOLLOWERS);
        check(world, wanted.filter(|follower| ![9, 10, 90, 91].contains(follower))).await;
    });
}

/// Users alone are read of what belongs to the list, and not of a copy that is not given over yet; and not at all where segments came.
#[test]
fn users_of_a_shard_are_those_of_its_entries() {
    on_each_backend(async |world| {
        has_followers(world).await;
        spread(world, 4, 100).await;
        // The copy keeps somebody who leaves the list.
        let copied = take(world, "worker", 100).await.unwrap();
        assert!(world.run(Adopt(&copied)).await);
        let list = Outline { list: List::Followers, user: user(OWNER), shard: None, first: 0 };
        let Outlined::Segments(home) = world.run(list).await else { panic!("a long list without segments") };
        let (shard, bound) = home.iter().find_map(|part| Some((part.shard()?, part.bound))).unwrap();
        assert_eq!(shard, copied.shard);
        let mut segments = outline(world, shard).await.to_vec();
        let all = segments.len();
        segments.retain(|segment| segment.bound <= bound);
        assert_eq!(segments.len(), all - 1);
        segments.drain(..segments.len().saturating_sub(7));
        let span = Span { list: List::Followers, user: user(OWNER), shard: Some(shard), after: None, segments };

        let entries = world.run(span.clone()).await.unwrap();
        let users: Vec<_> = entries.iter().map(|entry| entry.user).collect();
        assert_eq!(world.run(SpanUsers(&span)).await, Some(users.clone()));
        let between = entries[entries.len() / 2].at;
        let changes: Vec<_> = (0..130)
            .map(|n| {
                let present = FollowerChange::Present { followed_at: between, version: Version(7) };
                (edge(9 * FOLLOWERS + n, OWNER), present)
            })
            .collect();
        for changes in changes.chunks(64) {
            world.apply_all(changes).await;
        }
        assert_eq!(world.run(SpanUsers(&span)).await, None, "segments came");
        let entries = world.run(span.clone()).await.unwrap();
        assert_eq!(entries.len(), users.len() + changes.len());
    });
}

/// Shards that lost all of their followers, and get others.
#[test]
fn an_empty_shard_stays_and_is_used_again() {
    on_each_backend(async |world| {
        has_followers(world).await;
        spread(world, 100, 3).await;
        for chunk in (2..2 + FOLLOWERS).collect::<Vec<_>>().chunks(64) {
            world.apply_all(&chunk.iter().copied().map(unfollowed).collect::<Vec<_>>()).await;
        }
        check(world, std::iter::empty()).await;
        let again = (2..2 + FOLLOWERS).map(|follower| {
            let followed_at = micros(1_600_000_000_000_000 + follower as u64);
            let change = FollowerChange::Present { followed_at, version: Version(8) };
            (edge(follower + 2 * FOLLOWERS, OWNER), change)
        });
        let again: Vec<_> = again.collect();
        for changes in again.chunks(64) {
            world.apply_all(changes).await;
        }
        check(world, (2..2 + FOLLOWERS).map(|follower| follower + FOLLOWERS * 2)).await;
    });
}
