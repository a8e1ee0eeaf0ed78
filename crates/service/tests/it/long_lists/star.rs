//! A very long list of followers through the whole service, which moves parts of it.

use std::sync::atomic::{AtomicBool, Ordering};

use ::model::{Deadline, Entry, Order};
use futures::{future::join_all, stream};
use keyspace::List;
use socialgraph_service::{FeedPolicy, Graph, ImportRow};

use super::{OWNER, parts::check_parts, whole_walk};
use crate::support::{LIMIT, World, edge, micros, on_each_backend, user};

const FIRST: i64 = 1_000;
const FOLLOWERS: i64 = 20_000;

fn followed(follower: i64) -> Entry {
    Entry { at: micros(1_600_000_000_000_000 + follower as u64), user: user(follower) }
}

async fn import(graph: &Graph, followers: impl Iterator<Item = Entry>) {
    let rows =
        followers.map(|entry| Ok(ImportRow { edge: edge(entry.user.get(), OWNER), followed_at: Some(entry.at) }));
    graph.import(stream::iter(rows.collect::<Vec<_>>()), None).await.unwrap();
}

/// How many shards the list has. Its hash has three facts besides.
pub(super) async fn shards(world: &World) -> usize {
    let fields: usize = world.redis("HLEN", &world.store.keys().shards(user(OWNER)), &[]).await.parse().unwrap();
    fields.saturating_sub(3)
}

async fn is(world: &World, graph: &Graph, wanted: &[Entry]) {
    for (order, page_size) in [(Order::OldestFirst, 500), (Order::NewestFirst, 499), (Order::NewestFirst, 77)] {
        let mut met = whole_walk(graph, List::Followers, order, page_size).await;
        if order == Order::NewestFirst {
            met.reverse();
        }
        assert!(met == wanted, "{} instead of {}", met.len(), wanted.len());
    }
    check_parts(world, List::Followers, user(OWNER), wanted.len()).await;
}

/// Changes of all parts of it, and readers of all pages, while its segments move.
#[test]
fn a_star_is_spread_over_partitions_while_it_is_read_and_changed() {
    on_each_backend(async |world| {
        let graph = world.graph().await;
        let mut wanted: Vec<_> = (FIRST..FIRST + FOLLOWERS).map(followed).collect();
        let steady = 3_000;
        import(&graph, wanted[..steady].iter().copied()).await;
        let done = AtomicBool::new(false);
        let readers = join_all([Order::NewestFirst, Order::OldestFirst].map(|order| {
            let (graph, done, steady) = (&graph, &done, &wanted[..steady]);
            async move {
                let mut walks = 0;
                while !done.load(Ordering::Relaxed) || walks == 0 {
                    let mut met = whole_walk(graph, List::Followers, order, 400 + walks % 100).await;
                    assert!(met.is_sorted_by(|one, next| order.is_after(*next, *one)));
                    if order == Order::NewestFirst {
                        met.reverse();
                    }
                    // Rows of an import come in no particular order.
                    met.retain(|entry| steady.binary_search(entry).is_ok());
                    assert!(met == steady, "{}", met.len());
                    walks += 1;
                }
            }
        }));
        let writer = async {
            import(&graph, wanted[steady..].iter().copied()).await;
            let is_spread = async || shards(world).await > 0;
            world.wait_until(is_spread).await;
            done.store(true, Ordering::Relaxed);
        };
        futures::join!(writer, readers);
        let parts = async || {
            let parts: usize = world
                .redis("ZCARD", &world.store.keys().list_parts(List::Followers, user(OWNER)), &[])
                .await
                .parse()
                .unwrap();
            parts - shards(world).await
        };
        world.wait_until(async || parts().await <= 65).await;
        is(world, &graph, &wanted).await;

        // Every 50th leaves; some come back; and old follows are imported between the others.
        let deadline = || Deadline::after(LIMIT);
        let leaving: Vec<_> = wanted.iter().copied().step_by(50).collect();
        for entry in &leaving {
            assert!(graph.unfollow(edge(entry.user.get(), OWNER), FeedPolicy::Hide, deadline()).await.unwrap().removed);
        }
        wanted.retain(|entry| !leaving.contains(entry));
        for entry in leaving.iter().step_by(4) {
            let edge = edge(entry.user.get(), OWNER);
            let back = graph.follow(edge, String::new(), deadline()).await.unwrap();
            assert!(back.created);
            wanted.push(Entry { at: back.followed_at, user: entry.user });
        }
        let late = (0..2_000).map(|number| Entry { at: followed(FIRST + 7 * number).at, user: user(100_000 + number) });
        import(&graph, late.clone()).await;
        wanted.extend(late);
        wanted.sort_unstable();
        world.wait_until(async || world.pending(user(OWNER)).await == 0).await;
        is(world, &graph, &wanted).await;
    });
}
