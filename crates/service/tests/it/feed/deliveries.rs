//! How a post reaches the inboxes whatever becomes of who published it.

use std::time::Duration;

use bytes::Bytes;
use model::{Entry, FeedEntry, Micros, PostId, Version};
use socialgraph_service::{NewPost, ServiceError};
use store::ops::{FindDelivery, Listed, Place, Publish, PublishOutcome, SaveDelivery, Timeline};

use super::{AUTHOR, CAP, READER, assert_feed, deadline, follow, is_following_since, live};
use crate::support::{World, edge, micros, on_each_backend, user};

/// Who follows after `READER`.
const LATER: i64 = 30;

fn commit_of(author: i64, at: Option<Micros>, post: i64) -> Publish {
    Publish {
        author: user(author),
        post: PostId::new(post).unwrap(),
        is_given: true,
        call: 1,
        request_id: String::new(),
        published_at: at,
        fingerprint: 5,
        content: Bytes::from_static(b"text"),
        attributes: [].into(),
        inbox_cap: CAP,
        patience: Duration::ZERO,
        pull_above: 1_000,
        push_below: 0,
        seen: Version(0),
    }
}

#[test]
fn a_post_whose_fan_out_died_is_delivered_by_the_relay() {
    on_each_backend(async |world| {
        let graph = world.graph().await;
        follow(&graph, edge(READER, AUTHOR)).await;
        assert_feed(&graph, READER, vec![]).await;
        let PublishOutcome::Created(published) = world.run(commit_of(AUTHOR, None, 9)).await else { panic!() };
        let entry = FeedEntry { at: published.published_at, post: published.post, author: user(AUTHOR) };
        world.wait_until(async || world.pending(user(AUTHOR)).await == 0).await;
        assert_eq!(live(world).await.3, [entry]);

        // One of a commit that failed after its log entry: it is not in the timeline, and goes nowhere.
        let keys = world.store.keys();
        let partition = keys.partition(user(AUTHOR));
        let entry = [&format!("{}-0", published.version.0 + 1), "p", "2 10 1600000000000000"];
        world.redis("XADD", &keys.log(partition), &entry).await;
        let version = (published.version.0 + 1).to_string();
        world.redis("ZADD", &keys.pending(partition), &[&version, &version]).await;
        world.wait_until(async || world.pending(user(AUTHOR)).await == 0).await;
        assert_eq!(live(world).await.3.len(), 1);
    });
}

/// Followers whom it has passed already do not get it again, as one sees who has lost it meanwhile.
#[test]
fn a_fan_out_that_died_goes_on_where_it_was() {
    on_each_backend(async |world| {
        let graph = world.graph().await;
        follow(&graph, edge(READER, AUTHOR)).await;
        let since = is_following_since(world, edge(READER, AUTHOR)).await;
        follow(&graph, edge(LATER, AUTHOR)).await;
        for reader in [READER, LATER] {
            assert_feed(&graph, reader, vec![]).await;
        }
        let (author, post) = (user(AUTHOR), PostId::new(9).unwrap());
        // Newest first: the later follower comes first.
        let later = is_following_since(world, edge(LATER, AUTHOR)).await;
        let commit = Publish { patience: Duration::from_secs(3600), ..commit_of(AUTHOR, None, 9) };
        let PublishOutcome::Created(published) = world.run(commit).await else { panic!() };
        let committed = published.version;
        let delivery = graph.delivery(author, post, deadline()).await.unwrap();
        assert_eq!((delivery.total, delivery.done, delivery.complete), (2, 0, false));
        let place = Entry { at: later, user: user(LATER) };
        world.run(SaveDelivery { author, post, committed, passed: 1, place: Some(place) }).await;
        let found = world.run(FindDelivery { author, post }).await.unwrap();
        assert_eq!((found.passed, found.place, found.delivered_at), (1, Some(place), None));
        assert_eq!(graph.delivery(author, post, deadline()).await.unwrap().done, 1);
        assert!(since < later);

        let keys = world.store.keys();
        let version = committed.to_string();
        world.redis("ZADD", &keys.pending(keys.partition(author)), &[&version, &version]).await;
        world.wait_until(async || world.pending(author).await == 0).await;
        let inbox_of = async |reader: i64| world.redis("ZCARD", &keys.inbox(user(reader)), &[]).await;
        assert_eq!((inbox_of(READER).await, inbox_of(LATER).await), ("2".to_owned(), "1".to_owned()));
        let delivery = graph.delivery(author, post, deadline()).await.unwrap();
        assert_eq!((delivery.total, delivery.done, delivery.complete), (2, 2, true));
        assert!(delivery.lag > Duration::ZERO && delivery.lag < Duration::from_secs(3600));
        assert_eq!(graph.delivery(author, post, deadline()).await.unwrap(), delivery, "it does not rise any more");
        // What is deleted does not come back by what is kept of its way.
        assert!(graph.delete_post(author, post, deadline()).await.unwrap().deleted);
        world.run(SaveDelivery { author, post, committed, passed: 1, place: None }).await;
        assert_eq!(world.run(FindDelivery { author, post }).await, None);
        assert_eq!(graph.delivery(author, post, deadline()).await, Err(ServiceError::PostNotFound));
    });
}

#[test]
fn a_repeated_request_delivers_what_the_first_did_not() {
    on_each_backend(async |world| {
        let graph = world.graph_without_relay().await;
        follow(&graph, edge(READER, AUTHOR)).await;
        assert_feed(&graph, READER, vec![]).await;
        let given = |post_id, request_id: &str| NewPost {
            author: user(AUTHOR),
            content: Bytes::from_static(b"again"),
            attributes: [].into(),
            published_at: None,
            request_id: request_id.to_owned(),
            post_id: PostId::new(post_id).ok(),
        };
        // Its server died between commit and fan-out; another one gets the same request.
        let other = world.graph_without_relay().await;
        let first = other.publish(given(7, "request"), deadline()).await.unwrap();
        assert!(first.created);
        let entry = FeedEntry { at: first.post.published_at, post: first.post.id, author: user(AUTHOR) };
        world.wait_until(async || live(world).await.3 == [entry]).await;
        let inbox = world.store.keys().inbox(user(READER));
        assert_eq!(world.redis("ZREMRANGEBYRANK", &inbox, &["1", "1"]).await, "1");
        let keys = world.store.keys();
        let version = world.redis("GET", &keys.clock(keys.partition(user(AUTHOR))), &[]).await;
        world.wait_until(async || world.pending(user(AUTHOR)).await == 0).await;
        world.redis("ZADD", &keys.pending(keys.partition(user(AUTHOR))), &[&version, &version]).await;
        let again = graph.publish(given(7, "request"), deadline()).await.unwrap();
        assert!(!again.created);
        assert_eq!((again.post, again.audience), (first.post.clone(), 1));
        assert_eq!(live(world).await.3, [entry]);

        // A request id stands for one post, and is remembered also for a post that was there.
        assert_eq!(graph.publish(given(0, "request"), deadline()).await.unwrap().post.id, first.post.id);
        let other_id = graph.publish(given(8, "request"), deadline()).await;
        assert_eq!(other_id, Err(ServiceError::IdReused("request_id")));
        assert!(!graph.publish(given(7, "second"), deadline()).await.unwrap().created);
        assert_eq!(graph.publish(given(0, "second"), deadline()).await.unwrap().post.id, first.post.id);
    });
}

#[test]
fn timelines_are_read_from_any_place_under_ties() {
    on_each_backend(async |world| {
        let at = micros(1_600_000_000_000_000);
        for post in [1, 2, 255, 256, 65_536, i64::MAX] {
            world.run(commit_of(AUTHOR, Some(at), post)).await;
        }
        let all: Vec<_> = [i64::MAX, 65_536, 256, 255, 2, 1]
            .map(|post| FeedEntry { at, post: PostId::new(post).unwrap(), author: user(AUTHOR) })
            .into();
        let read =
            async |from, limit| world.run(Timeline { author: user(AUTHOR), from, limit, reader: None }).await.entries;
        assert_eq!(read(None, 100).await, all);
        for (rank, &entry) in all.iter().enumerate() {
            assert_eq!(
                read(Some(Place::After(entry)), 2).await,
                all[rank + 1..].iter().take(2).copied().collect::<Vec<_>>()
            );
            assert_eq!(read(Some(Place::At(entry)), 100).await, all[rank..]);
            let [below, above] = [AUTHOR - 1, AUTHOR + 1].map(|author| FeedEntry { author: user(author), ..entry });
            assert_eq!(read(Some(Place::After(below)), 100).await, all[rank + 1..]);
            assert_eq!(read(Some(Place::After(above)), 100).await, all[rank..]);
        }
        let since = is_following_since_now(world).await;
        let listed = async |since| {
            let reader = Some((user(READER), since));
            world.run(Timeline { author: user(AUTHOR), from: None, limit: 1, reader }).await.listed
        };
        assert_eq!(listed(since).await, Listed::Yes);
        assert_eq!(listed(micros(since.get() + 1)).await, Listed::No);
    });
}

async fn is_following_since_now(world: &World) -> Micros {
    let edge = edge(READER, AUTHOR);
    let change = world.commit_new(edge, None).await;
    world.apply(edge, change).await;
    is_following_since(world, edge).await
}
