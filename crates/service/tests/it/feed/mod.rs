//! How an inbox stays exact whatever happens between the steps of its making.

mod deliveries;

use std::time::Duration;

use bytes::Bytes;
use futures::{future::join_all, stream};
use keyspace::List;
use model::{Deadline, Edge, FeedEntry, Micros, UserId};
use socialgraph_service::{FeedPolicy, FeedQuery, FeedStart, Graph, ImportRow, NewPost};
use store::ops::{Inbox, IsListed, Lack, Listed, Merge, Merging, Purge, Scroll, Timeline};

use crate::support::{World, edge, micros, on_each_backend, user};

const READER: i64 = 1;
const AUTHOR: i64 = 2;
const OTHER: i64 = 3;
const CAP: u32 = 800;

fn deadline() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

async fn publish_at(graph: &Graph, author: i64, at: Option<Micros>) -> FeedEntry {
    let post = NewPost {
        author: user(author),
        content: Bytes::from_static(b"text"),
        attributes: [("key".to_owned(), "value".to_owned())].into(),
        published_at: at,
        request_id: String::new(),
        post_id: None,
    };
    let published = graph.publish(post, deadline()).await.unwrap();
    assert!(published.created);
    FeedEntry { at: published.post.published_at, post: published.post.id, author: user(author) }
}

async fn publish(graph: &Graph, author: i64) -> FeedEntry {
    publish_at(graph, author, None).await
}

/// The whole feed, page by page.
async fn feed(graph: &Graph, reader: i64, page_size: usize) -> Vec<FeedEntry> {
    let mut entries = Vec::new();
    let mut start = FeedStart::Newest;
    loop {
        let query = FeedQuery { user: user(reader), page_size, start, full: page_size.is_multiple_of(2) };
        let page = graph.scroll(query, deadline()).await.unwrap();
        entries.extend(page.items.iter().map(|item| item.entry));
        assert!(!page.partial && page.items.len() <= page_size);
        assert_eq!(page.end_of_feed, page.next_page_token.is_empty());
        if page.end_of_feed {
            return entries;
        }
        start = FeedStart::Token(page.next_page_token);
    }
}

/// Whether a reader gets an author's posts is told by a shard.
#[test]
fn a_reader_in_a_shard_of_the_authors_followers_has_all_posts() {
    on_each_backend(async |world| {
        let graph = world.graph().await;
        let first = publish(&graph, AUTHOR).await;
        let since = |number: u64| micros(1_600_000_000_000_000 + number);
        let rows = [READER]
            .into_iter()
            .chain(10..20_000)
            .map(|follower| Ok(ImportRow { edge: edge(follower, AUTHOR), followed_at: Some(since(follower as u64)) }));
        graph.import(stream::iter(rows.collect::<Vec<_>>()), None).await.unwrap();
        let listed = async |since| {
            let reader = Some((user(READER), since));
            world.run(Timeline { author: user(AUTHOR), from: None, limit: 1, reader }).await.listed
        };
        world.wait_until(async || matches!(listed(since(READER as u64)).await, Listed::In(_))).await;
        let Listed::In(shard) = listed(since(READER as u64)).await else { panic!("it does not move back") };
        for (number, is_listed) in [(READER as u64, true), (READER as u64 + 1, false)] {
            let look = IsListed { user: user(AUTHOR), shard, follower: user(READER), since: since(number) };
            assert_eq!(world.run(look).await, is_listed);
        }
        assert_eq!(feed(&graph, READER, 5).await, [first]);
        let second = publish(&graph, AUTHOR).await;
        // By then it is in the inbox, of which nothing is still to be merged.
        world
            .wait_until(async || {
                let (_, _, merging, entries) = live(world).await;
                merging.is_empty() && entries == [second, first]
            })
            .await;
        assert_eq!(feed(&graph, READER, 5).await, [second, first]);
        graph.unfollow(edge(READER, AUTHOR), FeedPolicy::Hide, deadline()).await.unwrap();
        let _third = publish(&graph, AUTHOR).await;
        assert_eq!(feed(&graph, READER, 5).await, []);
    });
}

/// The feed has exactly these entries, whatever the page size.
async fn assert_feed(graph: &Graph, reader: i64, mut expected: Vec<FeedEntry>) {
    expected.sort_unstable_by(|one, other| other.cmp(one));
    for page_size in [1, 2, 7, 100] {
        assert_eq!(feed(graph, reader, page_size).await, expected, "by {page_size}");
    }
}

async fn follow(graph: &Graph, edge: Edge) {
    assert!(!graph.follow(edge, String::new(), deadline()).await.unwrap().followers_pending);
}

async fn unfollow(graph: &Graph, edge: Edge) {
    assert!(graph.unfollow(edge, FeedPolicy::Hide, deadline()).await.unwrap().removed);
}

fn scroll(name: u64, lease: Duration) -> Scroll {
    Scroll { reader: user(READER), from: None, limit: 100, name, lease, idle: Duration::from_secs(3600), cap: CAP }
}

async fn live(world: &World) -> (u64, Option<FeedEntry>, Vec<(UserId, Micros)>, Vec<FeedEntry>) {
    let inbox = world.run(scroll(0, Duration::ZERO)).await;
    let Inbox::Live { name, floor, merging, entries, .. } = inbox else { panic!("an inbox that is {inbox:?}") };
    (name, floor, merging, entries)
}

async fn is_following_since(world: &World, edge: Edge) -> Micros {
    let following = world.list(List::Following, edge.follower()).await;
    following.iter().find(|entry| entry.user == edge.followee()).unwrap().at
}

#[test]
fn posts_of_oneself_and_of_those_followed_newest_first() {
    on_each_backend(async |world| {
        let graph = world.graph().await;
        assert_feed(&graph, READER, vec![]).await;
        follow(&graph, edge(READER, AUTHOR)).await;
        let mut all = vec![publish(&graph, AUTHOR).await, publish(&graph, READER).await];
        publish(&graph, OTHER).await;
        all.push(publish_at(&graph, AUTHOR, Some(micros(1_600_000_000_000_000))).await);
        assert_feed(&graph, READER, all.clone()).await;
        all.push(publish(&graph, AUTHOR).await);
        assert_feed(&graph, READER, all).await;
    });
}

#[test]
fn ids_of_every_size() {
    on_each_backend(async |world| {
        let graph = world.graph().await;
        let authors = [999_999, 1_000_000, 1 << 32, (1 << 53) + 1, 4_294_967_295_999_999, i64::MAX - 1, i64::MAX];
        assert_feed(&graph, READER, vec![]).await;
        let mut posts = Vec::new();
        for author in authors {
            follow(&graph, edge(READER, author)).await;
            posts.push(publish(&graph, author).await);
        }
        assert_feed(&graph, READER, posts.clone()).await;
        for post in posts.clone() {
            unfollow(&graph, edge(READER, post.author.get())).await;
            posts.retain(|other| other.author != post.author);
            assert_feed(&graph, READER, posts.clone()).await;
        }
    });
}

#[test]
fn a_post_that_arrives_while_the_inbox_is_built() {
    on_each_backend(async |world| {
        let graph = world.graph().await;
        follow(&graph, edge(READER, AUTHOR)).await;
        let before = publish(&graph, AUTHOR).await;
        // Its builder takes long.
        assert_eq!(world.run(scroll(7, Duration::from_secs(3600))).await, Inbox::New);
        let read = Timeline { author: user(AUTHOR), from: None, limit: 10, reader: None };
        let read = world.run(read).await.entries;
        assert_eq!(read, [before]);
        let meanwhile = publish(&graph, AUTHOR).await;
        assert_eq!(world.run(scroll(8, Duration::ZERO)).await, Inbox::Building);
        assert_feed(&graph, READER, vec![before, meanwhile]).await;

        let completes = Merging { fills: true, ..Merging::default() };
        assert!(world.run(Merge { reader: user(READER), name: 7, cap: CAP, entries: read, completes }).await);
        assert_eq!(live(world).await, (7, None, vec![], vec![meanwhile, before]));
        assert_feed(&graph, READER, vec![before, meanwhile]).await;
    });
}

#[test]
fn a_builder_that_dies_is_replaced_and_does_no_harm_if_it_lives() {
    on_each_backend(async |world| {
        let graph = world.graph().await;
        follow(&graph, edge(READER, AUTHOR)).await;
        let post = publish(&graph, AUTHOR).await;
        assert_eq!(world.run(scroll(7, Duration::ZERO)).await, Inbox::New);
        let meanwhile = publish(&graph, AUTHOR).await;
        assert_feed(&graph, READER, vec![post, meanwhile]).await;
        let (name, ..) = live(world).await;
        assert_ne!(name, 7);

        let completes = Merging { fills: true, floor: Some(meanwhile), ..Merging::default() };
        assert!(!world.run(Merge { reader: user(READER), name: 7, cap: CAP, entries: vec![], completes }).await);
        assert_feed(&graph, READER, vec![post, meanwhile]).await;
    });
}

#[test]
fn an_author_who_does_not_know_of_the_follow_yet_is_pulled() {
    on_each_backend(async |world| {
        let graph = world.graph_without_relay().await;
        let old = publish(&graph, AUTHOR).await;
        assert_feed(&graph, READER, vec![]).await;
        // Committed, and not applied.
        let change = world.commit_new(edge(READER, AUTHOR), None).await;
        assert_eq!(live(world).await.2.len(), 1);
        let missed = publish(&graph, AUTHOR).await;
        assert_feed(&graph, READER, vec![old, missed]).await;
        assert_eq!(live(world).await.2.len(), 1, "the mark stays until the author's list has the reader");
        world.apply(edge(READER, AUTHOR), change).await;
        assert_feed(&graph, READER, vec![old, missed]).await;
        assert_eq!(live(world).await.2, [], "merged");
        let pushed = publish(&graph, AUTHOR).await;
        assert_eq!(live(world).await.3, [pushed, missed, old]);
    });
}

#[test]
fn an_inbox_built_while_a_follow_is_pending() {
    on_each_backend(async |world| {
        let graph = world.graph_without_relay().await;
        let change = world.commit_new(edge(READER, AUTHOR), None).await;
        assert_feed(&graph, READER, vec![]).await;
        assert_eq!(live(world).await.2.len(), 1);
        let missed = publish(&graph, AUTHOR).await;
        assert_feed(&graph, READER, vec![missed]).await;
        world.apply(edge(READER, AUTHOR), change).await;
        let pushed = publish(&graph, AUTHOR).await;
        assert_feed(&graph, READER, vec![missed, pushed]).await;
        assert_eq!(live(world).await.2, []);
    });
}

#[test]
fn a_follow_again_is_not_taken_for_the_one_before() {
    on_each_backend(async |world| {
        let graph = world.graph_without_relay().await;
        assert_feed(&graph, READER, vec![]).await;
        follow(&graph, edge(READER, AUTHOR)).await;
        let first = publish(&graph, AUTHOR).await;
        assert_feed(&graph, READER, vec![first]).await;
        // Unfollow and follow again, of which the author's list knows nothing yet: it still has the follow before.
        let removal = world.commit_unfollow(edge(READER, AUTHOR)).await;
        let again = world.commit_new(edge(READER, AUTHOR), None).await;
        assert_feed(&graph, READER, vec![first]).await;
        world.apply(edge(READER, AUTHOR), removal).await;
        let missed = publish(&graph, AUTHOR).await;
        assert_feed(&graph, READER, vec![first, missed]).await;
        world.apply(edge(READER, AUTHOR), again).await;
        let pushed = publish(&graph, AUTHOR).await;
        assert_feed(&graph, READER, vec![first, missed, pushed]).await;
    });
}

#[test]
fn an_unfollow_while_posts_are_merged() {
    on_each_backend(async |world| {
        let graph = world.graph().await;
        let (post, own) = (publish(&graph, AUTHOR).await, publish(&graph, READER).await);
        assert_feed(&graph, READER, vec![own]).await;
        follow(&graph, edge(READER, AUTHOR)).await;
        let (name, _, merging, _) = live(world).await;
        let merged: Vec<_> = merging.into_iter().map(|(author, since)| (author, Lack::Followed(since))).collect();
        unfollow(&graph, edge(READER, AUTHOR)).await;
        // The merge comes late.
        let completes = Merging { merged: merged.clone(), ..Merging::default() };
        let entries = vec![post];
        assert!(world.run(Merge { reader: user(READER), name, cap: CAP, entries, completes }).await);
        assert_feed(&graph, READER, vec![own]).await;

        // A late merge for a follow that ended does not complete the next one.
        follow(&graph, edge(READER, AUTHOR)).await;
        let missed = publish_at(&graph, AUTHOR, Some(micros(1_600_000_000_000_000))).await;
        let completes = Merging { merged, ..Merging::default() };
        assert!(world.run(Merge { reader: user(READER), name, cap: CAP, entries: vec![], completes }).await);
        assert_eq!(live(world).await.2.len(), 1);
        assert_feed(&graph, READER, vec![own, post, missed]).await;
    });
}

#[test]
fn a_purge_takes_what_is_not_followed_and_a_late_one_nothing() {
    on_each_backend(async |world| {
        let graph = world.graph().await;
        follow(&graph, edge(READER, AUTHOR)).await;
        follow(&graph, edge(READER, OTHER)).await;
        let mut posts = Vec::new();
        for _ in 0..100 {
            posts.push(publish(&graph, AUTHOR).await);
        }
        let others = [publish(&graph, OTHER).await, publish(&graph, READER).await];
        assert_feed(&graph, READER, [&posts[..], &others].concat()).await;
        let inbox = world.store.keys().inbox(user(READER));
        assert_eq!(world.redis("ZCARD", &inbox, &[]).await, "103");
        unfollow(&graph, edge(READER, AUTHOR)).await;
        assert_feed(&graph, READER, others.to_vec()).await;
        world.wait_until(async || world.redis("ZCARD", &inbox, &[]).await == "3").await;

        follow(&graph, edge(READER, AUTHOR)).await;
        assert_feed(&graph, READER, [&posts[..], &others].concat()).await;
        assert!(!world.run(Purge { reader: user(READER), author: user(AUTHOR), cap: CAP }).await);
        assert_eq!(world.redis("ZCARD", &inbox, &[]).await, "103");
    });
}

#[test]
fn field_f37_trims_against_pushes_and_merges() {
    on_each_backend(async |world| {
        let graph = world.graph_with(|settings| settings.inbox_cap = 10).await;
        let authors = [AUTHOR, OTHER, 4, 5];
        for author in authors {
            follow(&graph, edge(READER, author)).await;
        }
        assert_feed(&graph, READER, vec![]).await;
        let rounds = authors.map(async |author| {
            let mut posts = Vec::new();
            for number in 0..20_u64 {
                let at = number.is_multiple_of(3).then(|| micros(1_600_000_000_000_000 + number));
                posts.push(publish_at(&graph, author, at).await);
            }
            posts
        });
        let scrolls = async {
            for page_size in 1..20 {
                let seen = feed(&graph, READER, page_size).await;
                assert!(seen.is_sorted_by(|one, next| one > next), "{seen:?}");
            }
        };
        let (posts, ()) = futures::join!(join_all(rounds), scrolls);
        let inbox = world.store.keys().inbox(user(READER));
        let held = async || world.redis("ZCARD", &inbox, &[]).await.parse::<u32>().unwrap() - 1;
        assert!((8..=10).contains(&held().await));
        let (_, floor, _, entries) = live(world).await;
        assert!(entries.iter().all(|&entry| floor.is_none_or(|floor| entry > floor)));
        assert_feed(&graph, READER, posts.concat()).await;

        // With an author whose posts are more than an inbox holds, the floor rises.
        let mut all = posts.concat();
        for _ in 0..30 {
            all.push(publish(&graph, 6).await);
        }
        follow(&graph, edge(READER, 6)).await;
        assert_feed(&graph, READER, all).await;
        assert!((8..=10).contains(&held().await));
    });
}

#[test]
fn an_inbox_that_lost_one_of_its_keys_is_built_again() {
    on_each_backend(async |world| {
        let graph = world.graph().await;
        follow(&graph, edge(READER, AUTHOR)).await;
        let mut posts = vec![publish(&graph, AUTHOR).await];
        let keys = world.store.keys();
        for lost in [keys.inbox(user(READER)), keys.feed(user(READER))] {
            assert_feed(&graph, READER, posts.clone()).await;
            assert_eq!(world.redis("DEL", &lost, &[]).await, "1");
            posts.push(publish(&graph, AUTHOR).await);
            assert_feed(&graph, READER, posts.clone()).await;
        }
        for key in [keys.inbox(user(READER)), keys.feed(user(READER))] {
            assert!(world.redis("PTTL", &key, &[]).await.parse::<i64>().unwrap() > 1_000_000);
        }
    });
}

#[test]
fn nobody_without_an_inbox_gets_one_by_a_push() {
    on_each_backend(async |world| {
        let graph = world.graph().await;
        follow(&graph, edge(READER, AUTHOR)).await;
        publish(&graph, AUTHOR).await;
        for key in [world.store.keys().inbox(user(READER)), world.store.keys().feed(user(READER))] {
            assert_eq!(world.redis("EXISTS", &key, &[]).await, "0");
        }
    });
}
