//! Long lists, against plain sorted ones.

mod model;
mod parts;
mod shards;
mod star;

use std::{
    env,
    sync::atomic::{AtomicBool, Ordering},
};

use ::model::{Deadline, Entry, Order, Version, Window};
use futures::{future::join_all, stream};
use keyspace::List;
use rand::{Rng, SeedableRng, rngs::StdRng};
use socialgraph_service::{FeedPolicy, Graph, ImportRow, ListQuery};
use store::ops::FollowerChange;

use self::{model::Model, parts::check_parts};
use crate::support::{LIMIT, World, edge, micros, on_each_backend, user};

const OWNER: i64 = 1;

fn seed() -> u64 {
    let seed = env::var("SEED").map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
    println!("SEED={seed}");
    seed
}

#[test]
fn a_long_list_is_a_sorted_list() {
    let seed = seed();
    on_each_backend(async |world| {
        for list in [List::Following, List::Followers] {
            for times in [1, 5, 10_000_000] {
                is_a_sorted_list(world, Model::new(list, times, seed)).await;
            }
        }
    });
}

/// While its oldest segments move into shards of few segments.
#[test]
fn a_list_in_shards_is_a_sorted_list() {
    let seed = seed();
    for times in [1, 5, 10_000_000] {
        on_each_backend(async |world| {
            is_a_sorted_list(world, Model::new(List::Followers, times, seed).in_shards()).await;
        });
    }
}

async fn is_a_sorted_list(world: &World, mut model: Model) {
    let list = model.list;
    let mut most_parts = 0;
    for key in [List::Following, List::Followers].map(|list| world.store.keys().list(list, user(OWNER))) {
        assert_eq!(world.redis("EXISTS", &key, &[]).await, "0");
    }
    for number in 0..50 {
        model.step(world).await;
        model.check(world).await;
        if number % 25 == 24 {
            most_parts = most_parts.max(check_parts(world, list, user(OWNER), model.entries.len()).await);
        }
    }
    model.grow(world).await;
    model.check(world).await;
    most_parts = most_parts.max(check_parts(world, list, user(OWNER), model.entries.len()).await);
    assert!(most_parts > 4, "{most_parts}");
    if model.has_shards {
        assert!(star::shards(world).await > 1);
    }
    model.empty(world).await;
}

/// A half edge in a long list goes with the unfollow of nothing, as in a short one.
#[test]
fn field_g11_a_half_edge_in_a_segment_is_removed() {
    on_each_backend(async |world| {
        let at = |follower: i64| micros(1_600_000_000_000_000 + follower as u64);
        let changes: Vec<_> = (2..502)
            .map(|follower| {
                (edge(follower, OWNER), FollowerChange::Present { followed_at: at(follower), version: Version(5) })
            })
            .collect();
        for changes in changes.chunks(64) {
            world.apply_all(changes).await;
        }
        for follower in [3, 250, 501] {
            let change = world.commit_unfollow(edge(follower, OWNER)).await;
            let FollowerChange::Absent { removed: None, .. } = change else { panic!("{change:?}") };
            assert!(world.list(List::Followers, user(OWNER)).await.iter().any(|entry| entry.user == user(follower)));
            world.apply(edge(follower, OWNER), change).await;
            assert!(world.list(List::Followers, user(OWNER)).await.iter().all(|entry| entry.user != user(follower)));
        }
        assert_eq!(world.list(List::Followers, user(OWNER)).await.len(), 497);
    });
}

/// The relay applies changes as the log has them.
#[test]
fn changes_of_several_followees_come_in_any_order() {
    const EACH: i64 = 1_000;
    on_each_backend(async |world| {
        let mut random = StdRng::seed_from_u64(seed());
        let home = |followee| world.store.keys().partition(user(followee));
        let other = (OWNER + 1..).find(|&other| home(other) == home(OWNER)).unwrap();
        let change_of = |follower: i64, version, is_left: bool| {
            let followed_at = micros(1_600_000_000_000_000 + follower as u64);
            match is_left {
                true => FollowerChange::Absent { removed: Some(followed_at), version },
                false => FollowerChange::Present { followed_at, version },
            }
        };
        // Every third leaves again, a few changes later: mostly within the same script.
        let mut changes = Vec::new();
        for follower in 0..EACH {
            for followee in [OWNER, other] {
                let edge = edge(10_000_000 + follower, followee);
                changes.push((2 * follower, edge, change_of(follower, Version(5), false)));
                if follower % 3 == 0 {
                    let later = 2 * follower + random.random_range(1..10);
                    changes.push((later, edge, change_of(follower, Version(6), true)));
                }
            }
        }
        changes.sort_by_key(|(place, ..)| *place);
        for changes in changes.chunks(64) {
            let changes: Vec<_> = changes.iter().map(|&(_, edge, change)| (edge, change)).collect();
            world.apply_all(&changes).await;
        }
        let wanted: Vec<_> =
            (0..EACH).filter(|follower| follower % 3 != 0).map(|follower| user(10_000_000 + follower)).collect();
        for followee in [OWNER, other].map(user) {
            let listed: Vec<_> =
                world.whole_list(List::Followers, followee).await.iter().map(|entry| entry.user).collect();
            assert_eq!(listed, wanted);
            assert!(check_parts(world, List::Followers, followee, wanted.len()).await > 4);
        }
    });
}

/// Writers of one list, and readers of all its pages: nobody is met twice or missed who is there all along.
#[test]
fn many_write_one_list_while_others_page_through_it() {
    const STEADY: i64 = 300;
    const WRITERS: i64 = 16;
    const EACH: i64 = 40;
    on_each_backend(async |world| {
        let graph = world.graph().await;
        let deadline = || Deadline::after(LIMIT);
        for list in [List::Following, List::Followers] {
            let edge = |other| match list {
                List::Following => edge(OWNER, other),
                List::Followers => edge(other, OWNER),
            };
            // Their times are spread over those of the others.
            let steady: Vec<_> = (0..STEADY).map(|number| 10 + number).collect();
            let rows = steady.iter().map(|&other| {
                let followed_at = (other % 3 == 0).then(|| micros(1_600_000_000_000_000 + other as u64));
                Ok(ImportRow { edge: edge(other), followed_at })
            });
            graph.import(stream::iter(rows.collect::<Vec<_>>()), None).await.unwrap();
            let writers = join_all((0..WRITERS).map(|writer| {
                let graph = graph.clone();
                async move {
                    let others = (0..EACH).map(|number| 1_000 + writer * EACH + number);
                    for other in others.clone() {
                        assert!(graph.follow(edge(other), String::new(), deadline()).await.unwrap().created);
                    }
                    for other in others.step_by(2) {
                        assert!(graph.unfollow(edge(other), FeedPolicy::Hide, deadline()).await.unwrap().removed);
                    }
                }
            }));
            let done = AtomicBool::new(false);
            let readers = join_all([Order::NewestFirst, Order::OldestFirst].map(|order| {
                let (graph, done, steady) = (&graph, &done, &steady);
                async move {
                    let mut walks = 0;
                    while !done.load(Ordering::Relaxed) || walks == 0 {
                        let mut met = whole_walk(graph, list, order, 1 + 37 * (walks % 9)).await;
                        assert!(met.is_sorted_by(|one, next| order.is_after(*next, *one)));
                        met.retain(|entry| entry.user.get() < 1_000);
                        let mut met: Vec<_> = met.iter().map(|entry| entry.user.get()).collect();
                        met.sort_unstable();
                        assert_eq!(met, *steady);
                        walks += 1;
                    }
                }
            }));
            let writers = async {
                writers.await;
                done.store(true, Ordering::Relaxed);
            };
            futures::join!(writers, readers);
            let left = (STEADY + WRITERS * EACH / 2) as usize;
            world.wait_until(async || world.pending(user(OWNER)).await == 0).await;
            assert_eq!(world.whole_list(list, user(OWNER)).await.len(), left);
            assert!(check_parts(world, list, user(OWNER), left).await > 3);
        }
    });
}

async fn whole_walk(graph: &Graph, list: List, order: Order, page_size: usize) -> Vec<Entry> {
    let (mut all, mut page_token) = (Vec::new(), String::new());
    loop {
        let query =
            ListQuery { list, user: user(OWNER), order, window: Window::ALL, page_size, page_token, viewer: None };
        let page = graph.list(query, Deadline::after(LIMIT)).await.unwrap();
        all.extend(page.entries);
        if page.next_page_token.is_empty() {
            return all;
        }
        page_token = page.next_page_token;
    }
}

/// Also where a batch ends between them, and the list needs a new segment just then.
#[test]
fn of_two_rows_of_one_edge_the_first_wins() {
    on_each_backend(async |world| {
        let graph = world.graph().await;
        let rows = (0..3_000).flat_map(|number| [1_000_u64, 2_000].map(|time| (10 + number, time)));
        // One row before them, so that a pair lies across two batches.
        let rows = [(5, 1_000)].into_iter().chain(rows).map(|(followee, time)| {
            Ok(ImportRow { edge: edge(OWNER, followee), followed_at: Some(micros(time * 1_000_000)) })
        });
        let summary = graph.import(stream::iter(rows.collect::<Vec<_>>()), None).await.unwrap();
        assert_eq!((summary.created, summary.existing), (3_001, 3_000));
        let list = world.whole_list(List::Following, user(OWNER)).await;
        assert_eq!(list.len(), 3_001);
        assert!(list.iter().all(|entry| entry.at == micros(1_000_000_000)));
    });
}
