//! Blocks in all their interleavings with follows: each half at any time, or left to the relay.

use std::collections::{BTreeMap, BTreeSet};

use model::{Edge, Micros, Version};
use rand::{Rng, SeedableRng, rngs::StdRng};
use store::ops::{
    Apply, Block, Blocked, FollowerChange, Mark, MarkOutcome, Refusal, Refused, RowOutcome, Unfollow, Unmark,
};

use crate::support::{World, edge, on_each_backend, user};

impl World {
    /// The first half of a block.
    async fn commit_block(&self, user_id: i64, blocked: i64) -> Blocked {
        let block = Block { user: user(user_id), blocked: user(blocked), most: 5_000, seen: Version(0) };
        self.run(block).await
    }

    /// The first half of a block that must be new, and since when it is.
    async fn commit_new_block(&self, user_id: i64, blocked: i64) -> Micros {
        let outcome = self.commit_block(user_id, blocked).await.outcome;
        let MarkOutcome::Marked { created: true, since } = outcome else { panic!("a new block became {outcome:?}") };
        since
    }

    async fn end_block(&self, user_id: i64, blocked: i64) -> bool {
        let end = Unmark { mark: Mark::Block, user: user(user_id), other: user(blocked), seen: Version(0) };
        self.run(end).await.0
    }

    async fn nothing_pending(&self, users: impl IntoIterator<Item = i64>) {
        for id in users {
            self.wait_until(async || self.pending(user(id)).await == 0).await;
        }
    }
}

fn present(change: FollowerChange) -> (Micros, Version) {
    let FollowerChange::Present { followed_at, version } = change else { panic!("{change:?}") };
    (followed_at, version)
}

/// A follow that both sides show.
async fn followed(world: &World, edge: Edge) -> Micros {
    let change = world.commit_new(edge, None).await;
    world.apply(edge, change).await;
    present(change).0
}

#[test]
fn the_relay_finishes_what_a_dead_process_left() {
    on_each_backend(async |world| {
        let (own, other) = (edge(1, 2), edge(2, 1));
        followed(world, own).await;
        followed(world, other).await;
        world.commit_new_block(1, 2).await;
        assert_eq!(world.ends(own).await[0], None, "the blocker's own follow ends with the block");
        assert!(world.ends(own).await[1].is_some() && world.ends(other).await[0].is_some());
        let _graph = world.graph().await;
        world.nothing_pending([1, 2]).await;
        assert_eq!([world.both_ends(own).await, world.both_ends(other).await], [None, None]);
    });
}

#[test]
fn a_late_half_of_a_block_that_ended_does_nothing() {
    on_each_backend(async |world| {
        let (own, other) = (edge(1, 2), edge(2, 1));
        followed(world, other).await;
        world.commit_new_block(1, 2).await;
        assert!(world.end_block(1, 2).await);
        // The one follow is of before the block, the other of after it.
        let since = followed(world, own).await;
        let _graph = world.graph().await;
        world.nothing_pending([1, 2]).await;
        assert_eq!(world.both_ends(own).await, Some(since));
        assert!(world.both_ends(other).await.is_some());
    });
}

/// What is ended is the follow of before the second block, though the first one's second half comes first.
#[test]
fn a_block_that_came_back_ends_what_is_there_then() {
    on_each_backend(async |world| {
        let other = edge(2, 1);
        let first = world.commit_new_block(1, 2).await;
        assert!(world.end_block(1, 2).await);
        followed(world, other).await;
        let second = world.commit_new_block(1, 2).await;
        assert!(second > first);
        let _graph = world.graph().await;
        world.nothing_pending([1, 2]).await;
        assert_eq!(world.both_ends(other).await, None);
    });
}

#[test]
fn a_follow_of_who_is_blocked_is_refused_where_it_is_applied() {
    on_each_backend(async |world| {
        world.commit_new_block(1, 2).await;
        let (own, other, stranger) = (edge(1, 2), edge(2, 1), edge(3, 1));
        let committed = world.commit(own, None).await;
        assert_eq!(committed.outcomes, [RowOutcome::Blocked]);
        let change = world.commit_new(other, None).await;
        let of_stranger = world.commit_new(stranger, None).await;
        let applied = world.run(Apply::new(vec![(other, change), (stranger, of_stranger)])).await;
        let followed_at = present(change).0;
        assert_eq!(applied.refused, [Refused { edge: other, followed_at, refusal: Refusal::Blocked }]);
        assert!(world.both_ends(stranger).await.is_some());
        let _graph = world.graph().await;
        world.nothing_pending([1, 2, 3]).await;
        assert_eq!(world.both_ends(other).await, None);
        // Nothing is remembered that would keep the follow from coming after the block.
        assert!(world.end_block(1, 2).await);
        assert!(matches!(world.commit(other, None).await.outcomes[..], [RowOutcome::Created { .. }]));
    });
}

/// Of an edge of long ago in a segment of a long list.
#[test]
fn a_follow_in_a_segment_ends_with_the_block() {
    on_each_backend(async |world| {
        let own = edge(1, 2);
        let since = followed(world, own).await;
        for followee in 10..410 {
            world.commit_new(edge(1, followee), None).await;
        }
        let blocked = world.commit_block(1, 2).await;
        assert_eq!(blocked.ended, Some(since));
        assert_eq!(world.list(keyspace::List::Following, user(1)).await.len(), 400);
        let _graph = world.graph().await;
        world.nothing_pending([1, 2]).await;
        assert_eq!(world.both_ends(own).await, None);
    });
}

/// What is known of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    There,
    Gone,
    /// A block was there when it came, or came when it was there, and may have ended before it was withdrawn.
    InDoubt,
}

const USERS: i64 = 4;
const STEPS: usize = 150;

/// Some halves are done at once, some late, some never; with and without a relay meanwhile.
#[test]
fn whatever_comes_first_nobody_follows_across_a_block() {
    let seed = std::env::var("IT_SEED").ok().map_or_else(rand::random, |text| text.parse().unwrap());
    println!("IT_SEED={seed}");
    on_each_backend(async |world| {
        let mut random = StdRng::seed_from_u64(seed);
        let meanwhile = if random.random_bool(0.5) { Some(world.graph().await) } else { None };
        let (mut edges, mut blocks) = (BTreeMap::new(), BTreeSet::new());
        let mut late: Vec<(Edge, FollowerChange)> = Vec::new();
        for _ in 0..STEPS {
            let one = random.random_range(1..=USERS);
            let other = (one + random.random_range(1..USERS) - 1) % USERS + 1;
            match random.random_range(0..10) {
                0..4 => {
                    let is_refused = blocks.contains(&(one, other));
                    let outcome = world.commit(edge(one, other), None).await.outcomes[0];
                    assert_eq!(outcome == RowOutcome::Blocked, is_refused, "{outcome:?}");
                    if let RowOutcome::Created { followed_at, version } = outcome {
                        late.push((edge(one, other), FollowerChange::Present { followed_at, version }));
                    }
                    let is_withdrawn = blocks.contains(&(other, one));
                    match edges.get(&(one, other)) {
                        _ if is_refused => {}
                        Some(Known::InDoubt) if matches!(outcome, RowOutcome::Existing { .. }) => {}
                        _ => {
                            let known = if is_withdrawn { Known::InDoubt } else { Known::There };
                            edges.insert((one, other), known);
                        }
                    }
                }
                4..6 => {
                    let unfollowed =
                        world.run(Unfollow { edge: edge(one, other), keeps_posts: false, seen: Version(0) }).await;
                    if unfollowed.removed.is_some() {
                        let change =
                            FollowerChange::Absent { removed: unfollowed.removed, version: unfollowed.version };
                        late.push((edge(one, other), change));
                    }
                    edges.insert((one, other), Known::Gone);
                }
                6..8 => {
                    world.commit_block(one, other).await;
                    blocks.insert((one, other));
                    edges.insert((one, other), Known::Gone);
                    if edges.get(&(other, one)).is_some_and(|&known| known == Known::There) {
                        edges.insert((other, one), Known::InDoubt);
                    }
                }
                8 => {
                    let was_there = blocks.remove(&(one, other));
                    assert_eq!(world.end_block(one, other).await, was_there);
                }
                _ if late.is_empty() => {}
                _ => {
                    let (edge, change) = late.swap_remove(random.random_range(0..late.len()));
                    world.apply(edge, change).await;
                }
            }
        }
        let _graph = match meanwhile {
            Some(graph) => graph,
            None => world.graph().await,
        };
        world.nothing_pending(1..=USERS).await;
        // What comes too late for everybody.
        for (edge, change) in late {
            world.apply(edge, change).await;
        }
        world.nothing_pending(1..=USERS).await;
        for (&(one, other), known) in &edges {
            let since = world.both_ends(edge(one, other)).await;
            let is_blocked = blocks.contains(&(one, other)) || blocks.contains(&(other, one));
            match known {
                _ if is_blocked => assert_eq!(since, None, "{one} {other} {known:?}"),
                Known::There => assert!(since.is_some(), "{one} {other}"),
                Known::Gone => assert_eq!(since, None, "{one} {other}"),
                Known::InDoubt => {}
            }
        }
    });
}
