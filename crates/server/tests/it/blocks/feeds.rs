//! Feeds beside blocks and mutes.

use std::collections::BTreeSet;

use socialgraph::v1::{PublishPostRequest, ScrollFeedRequest};

use super::BEGIN;
use crate::support::{Api, Place, eventually, micros, now, row_at, stamp};

const SECOND: i64 = 1_000_000;

/// The posts of a feed, page by page.
async fn posts(api: &Api, reader: i64, page_size: i32) -> Vec<i64> {
    let mut request = ScrollFeedRequest { user_id: reader, page_size, ..Default::default() };
    let mut posts = Vec::new();
    loop {
        let page = api.scroll(request.clone()).await;
        posts.extend(page.items.iter().map(|item| item.post_id));
        if page.end_of_feed {
            return posts;
        }
        assert_eq!(page.items.len(), page_size as usize, "pages are full before the last");
        request.page_token = page.next_page_token;
    }
}

/// Publishes posts of authors in turns, an old one first, and gives their ids and authors, newest first.
async fn publish(api: &Api, authors: &[i64], each: i64) -> Vec<(i64, i64)> {
    let mut published = Vec::new();
    for round in 0..each {
        for &author_id in authors {
            let at = now() - 1_000 * SECOND + round * SECOND;
            let request = PublishPostRequest {
                author_id,
                content: "hello".into(),
                published_at: Some(stamp(at)),
                ..Default::default()
            };
            let post = api.publish_with(request).await.post.unwrap();
            published.push((micros(post.published_at), post.post_id, author_id));
        }
    }
    published.sort_unstable_by(|one, other| other.cmp(one));
    published.into_iter().map(|(_, post, author)| (post, author)).collect()
}

fn without(posts: &[(i64, i64)], author: i64) -> Vec<i64> {
    posts.iter().filter(|post| post.1 != author).map(|post| post.0).collect()
}

async fn becomes(api: &Api, reader: i64, expected: &[i64]) {
    eventually("all posts are delivered", async || (posts(api, reader, 100).await == expected).then_some(())).await;
}

/// Neither of the two sees the other's posts any more, and a later follow brings them back.
async fn field_f30_posts_of_a_blocked_author_are_not_shown(place: Place) {
    let api = place.serve(&[]).await;
    let rows = [(1, 2), (1, 3), (2, 1), (2, 3)].map(|(one, other)| row_at(one, other, BEGIN));
    api.import(rows.to_vec()).await;
    let published = publish(&api, &[1, 2, 3], 5).await;
    let all: Vec<_> = published.iter().map(|post| post.0).collect();
    becomes(&api, 1, &all).await;
    becomes(&api, 2, &all).await;
    api.block(1, 2).await;
    for page_size in [3, 100] {
        assert_eq!(posts(&api, 1, page_size).await, without(&published, 2));
        assert_eq!(posts(&api, 2, page_size).await, without(&published, 1));
    }
    api.unblock(1, 2).await;
    assert_eq!(posts(&api, 1, 100).await, without(&published, 2));
    api.follow(1, 2).await;
    becomes(&api, 1, &all).await;
    assert_eq!(posts(&api, 2, 100).await, without(&published, 1));
}

/// From the inbox, and from timelines below its floor: at once, and back at once.
async fn posts_of_a_muted_author_are_gone_and_come_back(place: Place) {
    for cap in ["1000", "10"] {
        let place = place.another().await;
        let api = place.serve(&[("feed.inbox-cap", cap)]).await;
        api.import([2, 3].map(|author| row_at(1, author, BEGIN)).to_vec()).await;
        let published = publish(&api, &[2, 3], 25).await;
        let all: Vec<_> = published.iter().map(|post| post.0).collect();
        becomes(&api, 1, &all).await;
        assert!(api.mute(1, 2, None).await.created);
        for page_size in [1, 4, 100] {
            assert_eq!(posts(&api, 1, page_size).await, without(&published, 2), "cap {cap}, pages of {page_size}");
        }
        // What they publish meanwhile is not shown either, nor lost.
        let later = publish(&api, &[2], 1).await[0].0;
        assert_eq!(posts(&api, 1, 100).await, without(&published, 2));
        // The follow stays.
        assert_eq!(api.count(1).await, (2, 0));
        assert_eq!(api.is_following(1, 2).await, Some(BEGIN));
        assert!(api.unmute(1, 2).await);
        assert!(!api.unmute(1, 2).await);
        eventually("the later post is delivered", async || posts(&api, 1, 100).await.contains(&later).then_some(()))
            .await;
        let shown: BTreeSet<_> = posts(&api, 1, 100).await.into_iter().collect();
        assert_eq!(shown, all.into_iter().chain([later]).collect());
    }
}

/// A mute ends by itself.
async fn a_mute_with_an_end_ends(place: Place) {
    let api = place.serve(&[]).await;
    api.import([2, 3].map(|author| row_at(1, author, BEGIN)).to_vec()).await;
    let published = publish(&api, &[2, 3], 3).await;
    let all: Vec<_> = published.iter().map(|post| post.0).collect();
    becomes(&api, 1, &all).await;
    let end = now() + 3 * SECOND;
    api.mute(1, 2, Some(end)).await;
    let shown = posts(&api, 1, 100).await;
    let mutes = api.mutes(1, 10).await;
    if now() < end {
        assert_eq!(shown, without(&published, 2));
        assert_eq!((mutes[0].0, mutes[0].2), (2, Some(end)));
    }
    becomes(&api, 1, &all).await;
    assert!(now() >= end, "the mute ended too early");
    let over = api.relationship(1, 2).await;
    assert_eq!((over.muting, over.muted_at, over.muted_until), (false, None, None));
    assert_eq!(api.mutes(1, 10).await, []);
    assert!(!api.unmute(1, 2).await);
    // Another one is new.
    assert!(api.mute(1, 2, None).await.created);
    assert_eq!(posts(&api, 1, 100).await, without(&published, 2));
}

/// Muted before the inbox is there, before the follow, and before the author publishes.
async fn a_mute_of_before_holds(place: Place) {
    let api = place.serve(&[]).await;
    api.mute(1, 2, None).await;
    api.mute(1, 4, None).await;
    api.follow(1, 3).await;
    let first = publish(&api, &[2, 3], 2).await;
    assert_eq!(posts(&api, 1, 100).await, without(&first, 2));
    api.follow(1, 2).await;
    assert_eq!(posts(&api, 1, 100).await, without(&first, 2));
    api.follow(1, 4).await;
    publish(&api, &[4], 2).await;
    place.settled().await;
    assert_eq!(posts(&api, 1, 100).await, without(&first, 2));
}

/// One does not mute oneself by muting others: one's own posts stay.
async fn many_mutes_leave_the_others(place: Place) {
    let api = place.serve(&[]).await;
    let authors: Vec<i64> = (2..=31).collect();
    api.import(authors.iter().map(|&author| row_at(1, author, BEGIN)).collect()).await;
    let published = publish(&api, &[vec![1], authors.clone()].concat(), 2).await;
    let all: Vec<_> = published.iter().map(|post| post.0).collect();
    becomes(&api, 1, &all).await;
    for author in 2..=30 {
        api.mute(1, author, None).await;
    }
    let expected: Vec<_> = published.iter().filter(|post| [1, 31].contains(&post.1)).map(|post| post.0).collect();
    for page_size in [1, 100] {
        assert_eq!(posts(&api, 1, page_size).await, expected);
    }
}

on_each_backend!(
    field_f30_posts_of_a_blocked_author_are_not_shown,
    posts_of_a_muted_author_are_gone_and_come_back,
    a_mute_with_an_end_ends,
    a_mute_of_before_holds,
    many_mutes_leave_the_others,
);
