//! The second half of a write: late, twice, in any order.

use model::{Edge, Micros};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::SliceRandom};
use store::ops::{FollowerChange, RowOutcome};

use crate::support::{World, edge, micros, on_each_backend};

/// A follower's changes of one edge, as they were committed.
async fn history(world: &World, edge: Edge, random: &mut StdRng) -> Vec<FollowerChange> {
    let mut changes = Vec::new();
    for _ in 0..random.random_range(1..6) {
        if random.random_bool(0.4) {
            changes.push(world.commit_unfollow(edge).await);
            continue;
        }
        let ago = random.random_bool(0.5).then(|| micros(random.random_range(1..Micros::now().get())));
        let committed = world.commit(edge, ago).await;
        match committed.outcomes[..] {
            [RowOutcome::Created { followed_at, version }] => {
                changes.push(FollowerChange::Present { followed_at, version });
            }
            // A repeated follow applies again, under the partition's last version.
            [RowOutcome::Existing { followed_at: Some(followed_at) }] => {
                changes.push(FollowerChange::Present { followed_at, version: committed.version });
            }
            [RowOutcome::Superseded] => {}
            ref other => panic!("{other:?}"),
        }
    }
    changes
}

#[test]
fn changes_applied_in_any_order_and_repeatedly_end_in_the_truth() {
    let seed = std::env::var("SEED").map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
    println!("SEED={seed}");
    on_each_backend(async |world| {
        let mut random = StdRng::seed_from_u64(seed);
        for followee in 2..152 {
            let edge = edge(1, followee);
            let changes = history(world, edge, &mut random).await;
            let mut order: Vec<_> = changes.iter().chain(&changes).copied().collect();
            order.shuffle(&mut random);
            for &change in &order {
                world.apply(edge, change).await;
            }
            let [forward, backward] = world.ends(edge).await;
            assert_eq!(forward, backward, "{changes:?} applied as {order:?}");
        }
    });
}

#[test]
fn an_old_addition_does_not_undo_a_newer_removal() {
    on_each_backend(async |world| {
        let edge = edge(1, 2);
        let followed = world.commit_new(edge, None).await;
        let unfollowed = world.commit_unfollow(edge).await;
        world.apply(edge, unfollowed).await;
        world.apply(edge, followed).await;
        assert_eq!(world.both_ends(edge).await, None);
    });
}

#[test]
fn a_late_removal_does_not_take_away_a_newer_follow() {
    on_each_backend(async |world| {
        let edge = edge(1, 2);
        let first = world.commit_new(edge, None).await;
        world.apply(edge, first).await;
        let unfollowed = world.commit_unfollow(edge).await;
        let second = world.commit_new(edge, None).await;
        world.apply(edge, second).await;
        world.apply(edge, unfollowed).await;
        world.apply(edge, unfollowed).await;
        world.apply(edge, first).await;
        assert!(world.both_ends(edge).await.is_some());
    });
}

#[test]
fn a_late_removal_of_nothing_does_not_take_away_a_newer_follow() {
    on_each_backend(async |world| {
        let edge = edge(1, 2);
        let unfollowed = world.commit_unfollow(edge).await;
        let followed = world.commit_new(edge, None).await;
        world.apply(edge, followed).await;
        world.apply(edge, unfollowed).await;
        assert!(world.both_ends(edge).await.is_some());
    });
}

#[test]
fn removals_are_forgotten_after_an_hour_a_few_at_a_time() {
    on_each_backend(async |world| {
        let gone = world.store.keys().gone(edge(1, 2).followee());
        for follower in 100..130 {
            world.redis("ZADD", &gone, &["1000", &follower.to_string()]).await;
        }
        let edge = edge(1, 2);
        for left in [15, 1] {
            let unfollowed = world.commit_unfollow(edge).await;
            world.apply(edge, unfollowed).await;
            assert_eq!(world.redis("ZCARD", &gone, &[]).await, left.to_string());
        }
        let seconds: u32 = world.redis("TTL", &gone, &[]).await.parse().unwrap();
        assert!((3_590..=3_600).contains(&seconds));
    });
}
