//! PublishPost.

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;
use futures::{StreamExt, future::join_all, stream};
use socialgraph::v1::{
    BatchGetCountsRequest, Consistency, Delivery, FeedView, IsFollowingRequest, Post, PublishPostRequest,
    consistency::Requirement,
};

use super::support::{
    BEGIN, SECOND, assert_reused, becomes, feed, newest_first, post, post_at, publish, publish_all, scrolled,
};
use crate::{
    feeds::{Entry, How},
    support::{Api, Place, now, stamp},
};

/// Every byte, and attributes with whatever may be in a text.
fn colourful(author_id: i64) -> PublishPostRequest {
    let attributes = [("k", ""), ("язык", "été 😀"), ("nul", "a\0b"), ("line", "a\r\nb")];
    PublishPostRequest {
        author_id,
        content: (0..=255).collect::<Vec<u8>>().into(),
        attributes: attributes.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        published_at: Some(stamp(BEGIN + 1)),
        request_id: "!~".repeat(32),
        post_id: 77,
    }
}

/// The only post in a feed.
async fn only_post(api: &Api, user: i64) -> Post {
    let how = How { view: FeedView::Full, ..How::pages(10) };
    let [item] = scrolled(api, user, how).await.shown.try_into().expect("one item");
    item.post.expect("a post")
}

async fn a_post_comes_back_as_it_was_given(place: Place) {
    let api = place.serve(&[]).await;
    let request = colourful(1);
    let expected = Post {
        post_id: 77,
        author_id: 1,
        content: request.content.clone(),
        attributes: request.attributes.clone(),
        published_at: request.published_at,
        ..Post::default()
    };
    api.follow(2, 1).await;
    api.follow(3, 1).await;
    assert_eq!(feed(&api, 3).await, []);
    let answer = api.publish_with(request).await;
    assert_eq!(answer.post.as_ref(), Some(&expected));
    assert_eq!((answer.created, answer.audience, answer.delivery()), (true, 2, Delivery::Push));
    for user in [1, 2, 3] {
        becomes(&api, user, &[Entry::of_post(&expected)]).await;
        assert_eq!(only_post(&api, user).await, expected);
    }
}

async fn the_smallest_and_the_largest_post_come_back_whole(place: Place) {
    let api = place.serve(&[]).await;
    let smallest = PublishPostRequest { author_id: 1, ..Default::default() };
    let attributes: HashMap<_, _> = (0..64).map(|number| (format!("{number:064}"), "v".repeat(100))).collect();
    let room = 64 * 1024 - 64 * (64 + 100);
    let largest = PublishPostRequest { author_id: 2, attributes, content: vec![0xff; room].into(), ..smallest.clone() };
    for request in [smallest, largest] {
        let answer = api.publish_with(request.clone()).await.post.unwrap();
        assert_eq!((&answer.content, &answer.attributes), (&request.content, &request.attributes));
        assert_eq!(only_post(&api, request.author_id).await, answer);
    }
}

/// Whoever has published sees the post at once.
async fn without_a_time_it_is_published_now(place: Place) {
    let api = place.serve(&[]).await;
    let mut expected = Vec::new();
    for _ in 0..20 {
        let begin = now();
        let entry = publish(&api, post(1)).await;
        assert!((begin..=now()).contains(&entry.at), "{entry:?}");
        expected.insert(0, entry);
        assert_eq!(feed(&api, 1).await, expected);
    }
}

async fn a_time_a_little_ahead_is_taken(place: Place) {
    let api = place.serve(&[]).await;
    for ahead in [1, 5 * SECOND, 9 * SECOND] {
        let at = now() + ahead;
        assert_eq!(publish(&api, post_at(1, at)).await.at, at);
    }
}

/// What names a post: its request, its id, or both.
fn named(number: i64) -> [PublishPostRequest; 3] {
    let request_id = format!("request-{number}");
    let by_request = PublishPostRequest { request_id: request_id.clone(), ..post(1) };
    let by_id = PublishPostRequest { post_id: 1_000 + number, ..post(1) };
    let by_both = PublishPostRequest { request_id: format!("both-{number}"), post_id: 2_000 + number, ..post(1) };
    [by_request, by_id, by_both]
}

async fn the_same_again_gives_the_same_post(place: Place) {
    let api = place.serve(&[]).await;
    let second = place.serve(&[]).await;
    let mut expected = Vec::new();
    for (number, published_at) in [(1, None), (2, Some(stamp(BEGIN)))] {
        for request in named(number).map(|request| PublishPostRequest { published_at, ..request }) {
            let first = api.publish_with(request.clone()).await;
            for api in [&api, &second, &api] {
                let again = api.publish_with(request.clone()).await;
                assert_eq!((&again.post, again.created), (&first.post, false));
            }
            expected.push(Entry::of_post(&first.post.unwrap()));
        }
    }
    becomes(&api, 1, &newest_first(expected)).await;
}

/// How many followers there were, not how many there are.
async fn a_repeat_tells_the_audience_of_the_first_time(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(2, 1).await;
    let first: Vec<_> = join_all(named(1).map(|request| api.publish_with(request))).await;
    api.follow(3, 1).await;
    for (first, request) in first.iter().zip(named(1)) {
        assert_eq!((first.audience, api.publish_with(request).await.audience), (1, 1));
    }
}

async fn an_id_of_another_post_is_refused(place: Place) {
    let api = place.serve(&[]).await;
    let mut expected = Vec::new();
    for request in named(1) {
        expected.push(publish(&api, request).await);
    }
    let before = place.snapshot().await;
    for request in named(1) {
        let attributes = HashMap::from([("k".to_owned(), "v".to_owned())]);
        let content = Bytes::from_static(b"hellO");
        for other in [
            PublishPostRequest { content, ..request.clone() },
            PublishPostRequest { content: Bytes::new(), ..request.clone() },
            PublishPostRequest { attributes, ..request.clone() },
        ] {
            assert_reused(api.social().publish_post(other).await);
        }
    }
    assert_eq!(place.snapshot().await, before, "a refused post wrote");
    assert_eq!(feed(&api, 1).await, newest_first(expected));
}

async fn ids_belong_to_their_authors(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(1, 2).await;
    api.follow(1, 3).await;
    let mut expected = Vec::new();
    for author_id in [1, 2, 3] {
        for (number, request) in named(1).into_iter().enumerate() {
            let content = format!("{author_id} {number}").into();
            expected.push(publish(&api, PublishPostRequest { author_id, content, ..request }).await);
        }
    }
    becomes(&api, 1, &newest_first(expected)).await;
}

/// Also where two servers make them in one microsecond, and the posts are alike.
async fn made_ids_are_different(place: Place) {
    let servers = [place.serve(&[]).await, place.serve(&[]).await];
    let calls = stream::iter(0..1_500).map(|number| publish(&servers[number % 2], post_at(1, BEGIN)));
    let published: Vec<_> = calls.buffer_unordered(64).collect().await;
    let ids: BTreeSet<_> = published.iter().map(|entry| entry.post).collect();
    assert_eq!(ids.len(), 1_500, "posts made, and calls that said so");
    assert!(ids.iter().all(|id| *id > 0));
    becomes(&servers[0], 1, &newest_first(published)).await;
}

async fn repeats_side_by_side_make_one_post(place: Place) {
    let servers = [place.serve(&[]).await, place.serve(&[]).await];
    let api = &servers[0];
    api.follow(2, 1).await;
    assert_eq!(feed(api, 2).await, []);
    let mut expected = Vec::new();
    for request in named(1) {
        let calls = (0..60).map(|number| servers[number % 2].publish_with(request.clone()));
        let answers = join_all(calls).await;
        assert_eq!(answers.iter().filter(|answer| answer.created).count(), 1);
        let posts: BTreeSet<_> = answers.iter().map(|answer| Entry::of_post(answer.post.as_ref().unwrap())).collect();
        assert_eq!(posts.len(), 1, "{posts:?}");
        expected.extend(posts);
    }
    for user in [1, 2] {
        becomes(api, user, &newest_first(expected.clone())).await;
    }
}

/// Two contents under one id, at once: one of them gets it, and every call is told which.
async fn of_two_posts_with_one_id_one_is_made(place: Place) {
    let servers = [place.serve(&[]).await, place.serve(&[]).await];
    let mut expected = Vec::new();
    for request in named(1) {
        let calls = (0..40).map(|number| {
            let content = Bytes::from_static([b"a", b"b"][number / 2 % 2]);
            publish_or_refused(&servers[number % 2], PublishPostRequest { content, ..request.clone() })
        });
        let answers = join_all(calls).await;
        let posts: Vec<_> = answers.into_iter().flatten().collect();
        assert_eq!(posts.len(), 20, "each content was sent so often");
        assert!(posts.iter().all(|post| *post == posts[0]), "{posts:?}");
        expected.push(Entry::of_post(&posts[0]));
    }
    becomes(&servers[0], 1, &newest_first(expected)).await;
}

/// The post; `None` if its id is another's.
async fn publish_or_refused(api: &Api, request: PublishPostRequest) -> Option<Post> {
    match api.social().publish_post(request).await {
        Ok(answer) => answer.into_inner().post,
        refused => {
            assert_reused(refused);
            None
        }
    }
}

async fn counts_tell_how_many_posts(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(2, 1).await;
    publish_all(&api, (0..130).map(|number| post_at(1, BEGIN + number))).await;
    for request in named(1) {
        api.publish_with(request.clone()).await;
        api.publish_with(request).await;
    }
    let request = BatchGetCountsRequest { user_ids: vec![2, 1, 3, 1], consistency: None };
    let counts = api.social().batch_get_counts(request).await.unwrap().into_inner().counts;
    assert_eq!(counts.iter().map(|counts| counts.posts).collect::<Vec<_>>(), [0, 133, 0, 133]);
    assert_eq!((counts[1].following, counts[1].followers), (0, 1));
}

async fn the_token_of_a_post_is_one_of_a_write(place: Place) {
    let api = place.serve(&[]).await;
    for request in [named(1)[0].clone(), named(1)[0].clone(), post(1)] {
        let token = api.publish_with(request).await.consistency_token;
        let consistency = Some(Consistency { requirement: Some(Requirement::AtLeastAsFresh(token)) });
        let request = IsFollowingRequest { follower_id: 1, followee_id: 2, consistency };
        assert!(!api.social().is_following(request).await.unwrap().into_inner().following);
    }
}

/// Ids beyond what a double can hold sort as numbers, posts of one time by them and then by their authors.
async fn field_f4_ids_of_any_size_sort_as_numbers(place: Place) {
    let api = place.serve(&[]).await;
    let ids = [1, 2, 255, 256, 65_535, 1 << 32, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, (1 << 62) + 1, i64::MAX - 1];
    let authors = [1, 10, 1 << 53, (1 << 53) + 1, i64::MAX];
    for author in &authors[1..] {
        api.follow(1, *author).await;
    }
    let requests = authors.into_iter().flat_map(|author| {
        ids.into_iter().chain([i64::MAX]).map(move |post_id| PublishPostRequest { post_id, ..post_at(author, BEGIN) })
    });
    let published = publish_all(&api, requests).await;
    assert_eq!(published.len(), 60);
    becomes(&api, 1, &published).await;
    for page_size in [1, 7, 100] {
        assert_eq!(scrolled(&api, 1, How::pages(page_size)).await.entries(), published);
    }
    let names: Vec<_> = published.iter().map(|entry| (entry.post, entry.author)).collect();
    assert!(names.is_sorted_by(|a, b| a > b), "{names:?}");
}

on_each_backend!(
    a_post_comes_back_as_it_was_given,
    the_smallest_and_the_largest_post_come_back_whole,
    without_a_time_it_is_published_now,
    a_time_a_little_ahead_is_taken,
    the_same_again_gives_the_same_post,
    a_repeat_tells_the_audience_of_the_first_time,
    an_id_of_another_post_is_refused,
    ids_belong_to_their_authors,
    made_ids_are_different,
    repeats_side_by_side_make_one_post,
    of_two_posts_with_one_id_one_is_made,
    counts_tell_how_many_posts,
    the_token_of_a_post_is_one_of_a_write,
    field_f4_ids_of_any_size_sort_as_numbers,
);
