//! LikePost, UnlikePost, and what whole posts tell of likes.

use std::collections::HashSet;

use futures::{StreamExt, stream};
use rand::Rng;
use socialgraph::v1::{
    BatchGetPostsRequest, BlockRequest, Consistency, DeletePostRequest, DeleteUserRequest, FeedView, LikePostRequest,
    LikePostResponse, ListUserPostsRequest, Post, PostName, ScrollFeedRequest, SetUserStateRequest, UnlikePostRequest,
    UnlikePostResponse, UserState, consistency::Requirement,
};
use tonic::{Code, Status};

use super::support::{BEGIN, MILLISECOND, post, post_at, publish, publish_all};
use crate::{
    feeds::Entry,
    lifecycle::{assert_no_trace, done},
    support::{Api, Place, Refusal, eventually, refused, seeded},
};

const AUTHOR: i64 = 1;
const ME: i64 = 50;
/// As many as the first set of a post takes.
const ROOM: i64 = 512;

async fn try_like(api: &Api, user_id: i64, liked: Entry) -> Result<tonic::Response<LikePostResponse>, Status> {
    api.social().like_post(LikePostRequest { user_id, author_id: liked.author, post_id: liked.post }).await
}

async fn like(api: &Api, user: i64, liked: Entry) -> LikePostResponse {
    let answer = try_like(api, user, liked).await.unwrap().into_inner();
    assert!(!answer.consistency_token.is_empty());
    answer
}

async fn unlike(api: &Api, user_id: i64, liked: Entry) -> UnlikePostResponse {
    let request = UnlikePostRequest { user_id, author_id: liked.author, post_id: liked.post };
    let answer = api.social().unlike_post(request).await.unwrap().into_inner();
    assert!(!answer.consistency_token.is_empty());
    answer
}

async fn likes(api: &Api, users: impl IntoIterator<Item = i64>, liked: Entry) {
    let done = stream::iter(users).map(|user| like(api, user, liked)).buffer_unordered(32);
    assert!(done.all(async |answer| answer.created).await);
}

fn told(post: &Post) -> (i64, bool) {
    (post.like_count, post.liked_by_viewer)
}

/// How many like a post, and whether a viewer does.
async fn seen(api: &Api, viewer_id: i64, entry: Entry) -> (i64, bool) {
    let names = vec![PostName { author_id: entry.author, post_id: entry.post }];
    let request = BatchGetPostsRequest { names, viewer_id, consistency: None };
    let results = api.social().batch_get_posts(request).await.unwrap().into_inner().results;
    told(results[0].post.as_ref().expect("a post"))
}

/// All keys that have to do with likes.
async fn like_keys(place: &Place) -> Vec<String> {
    let keys = place.snapshot().await.into_keys();
    keys.filter(|key| key.contains("}:likes:") || key.contains("}:liked:")).collect()
}

async fn assert_notes(place: &Place, user: i64, number: usize) {
    let entries = async || {
        let mut entries = 0;
        for (node, part) in place.redis.scan(&format!("{}:*:liked:{user}:*", place.name)).await {
            entries += place.redis.on_node(node, &["ZCARD", &part]).await.trim().parse::<usize>().unwrap();
        }
        (entries == number).then_some(())
    };
    eventually("the user's notes are those of the likes", entries).await;
}

async fn likes_are_counted_once_each(place: Place) {
    let api = place.serve(&[]).await;
    let liked = publish(&api, post(AUTHOR)).await;
    assert_eq!(seen(&api, ME, liked).await, (0, false));
    let first = like(&api, ME, liked).await;
    assert_eq!((first.created, first.like_count), (true, 1));
    let again = like(&api, ME, liked).await;
    assert_eq!((again.created, again.like_count), (false, 1));
    assert_eq!(like(&api, AUTHOR, liked).await.like_count, 2, "one's own");
    for (viewer, expected) in [(ME, (2, true)), (AUTHOR, (2, true)), (51, (2, false)), (0, (2, false))] {
        assert_eq!(seen(&api, viewer, liked).await, expected, "{viewer}");
    }
    assert_notes(&place, ME, 1).await;

    let ended = unlike(&api, ME, liked).await;
    assert_eq!((ended.removed, ended.like_count), (true, 1));
    let again = unlike(&api, ME, liked).await;
    assert_eq!((again.removed, again.like_count), (false, 1));
    assert_eq!(seen(&api, ME, liked).await, (1, false));
    assert_notes(&place, ME, 0).await;
    assert!(like(&api, ME, liked).await.created);
    assert_eq!(seen(&api, ME, liked).await, (2, true));
    assert_notes(&place, ME, 1).await;
}

async fn every_view_of_whole_posts_tells_of_likes(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(ME, AUTHOR).await;
    let posts = publish_all(&api, (0..3).map(|n| post_at(AUTHOR, BEGIN + n * MILLISECOND))).await;
    let token = like(&api, ME, posts[1]).await.consistency_token;
    like(&api, 51, posts[1]).await;
    like(&api, 51, posts[2]).await;
    let expected = [(0, false), (2, true), (1, false)];
    let fresh = Some(Consistency { requirement: Some(Requirement::AtLeastAsFresh(token)) });
    let view = FeedView::Full.into();
    let items = [
        api.scroll(ScrollFeedRequest { user_id: ME, view, consistency: fresh.clone(), ..Default::default() })
            .await
            .items,
        api.social()
            .list_user_posts(ListUserPostsRequest {
                author_id: AUTHOR,
                viewer_id: ME,
                view,
                consistency: fresh,
                ..Default::default()
            })
            .await
            .unwrap()
            .into_inner()
            .items,
    ];
    for items in items {
        assert_eq!(items.iter().map(|item| told(item.post.as_ref().unwrap())).collect::<Vec<_>>(), expected);
    }
    let own = api.scroll(ScrollFeedRequest { user_id: AUTHOR, view, ..Default::default() }).await.items;
    let own: Vec<_> = own.iter().map(|item| told(item.post.as_ref().unwrap())).collect();
    assert_eq!(own, [(0, false), (2, false), (1, false)]);
    let nobody = ListUserPostsRequest { author_id: AUTHOR, view, ..Default::default() };
    let nobody = api.social().list_user_posts(nobody).await.unwrap().into_inner().items;
    assert_eq!(nobody.iter().map(|item| told(item.post.as_ref().unwrap())).collect::<Vec<_>>(), own);
}

async fn more_like_a_post_than_its_first_set_takes(place: Place) {
    let api = place.serve(&[]).await;
    let liked = publish(&api, post(AUTHOR)).await;
    let users = 1_000..1_000 + ROOM + 100;
    likes(&api, users.clone(), liked).await;
    let parts = like_keys(&place).await.into_iter().filter(|key| key.contains("}:likes:")).count();
    assert!((50..=101).contains(&parts), "{parts}");
    for user in users.clone() {
        assert_eq!(seen(&api, user, liked).await, (ROOM + 100, true), "{user}");
        assert!(!like(&api, user, liked).await.created);
    }
    assert_eq!(seen(&api, ME, liked).await, (ROOM + 100, false));
    // Room in the first set, and somebody in a part: nobody is in both.
    let (ended, left): (Vec<_>, Vec<_>) = users.partition(|user| user % 3 == 0);
    for (&user, number) in ended.iter().zip((0..ROOM + 100).rev()) {
        let answer = unlike(&api, user, liked).await;
        assert_eq!((answer.removed, answer.like_count), (true, number));
    }
    for &user in &left {
        assert!(!like(&api, user, liked).await.created);
        assert_eq!(seen(&api, user, liked).await, (left.len() as i64, true));
    }
    for &user in &ended {
        assert_eq!(seen(&api, user, liked).await, (left.len() as i64, false));
    }
}

async fn what_cannot_be_liked_is_refused(place: Place) {
    let api = place.serve(&[]).await;
    let liked = publish(&api, post(AUTHOR)).await;
    let not_found = Refusal::new(Code::NotFound, "POST_NOT_FOUND");
    let unavailable = Refusal::new(Code::FailedPrecondition, "USER_UNAVAILABLE");
    let blocked = Refusal::new(Code::PermissionDenied, "BLOCKED");
    refused(try_like(&api, ME, Entry { post: 7, ..liked }).await, &not_found, "never there");
    refused(try_like(&api, ME, Entry { author: 2, ..liked }).await, &not_found, "of another author");
    let never = unlike(&api, ME, Entry { post: 7, ..liked }).await;
    assert_eq!((never.removed, never.like_count), (false, 0));
    assert_notes(&place, ME, 0).await;

    for (user_id, blocked_id) in [(ME, AUTHOR), (AUTHOR, ME)] {
        api.social().block(BlockRequest { user_id, blocked_id }).await.unwrap();
        refused(try_like(&api, ME, liked).await, &blocked, format!("{user_id} blocks"));
        api.social().unblock(socialgraph::v1::UnblockRequest { user_id, blocked_id }).await.unwrap();
    }
    for user_id in [ME, AUTHOR] {
        for state in [UserState::Suspended, UserState::Active] {
            let request = SetUserStateRequest { user_id, state: state.into() };
            api.social().set_user_state(request).await.unwrap();
            if state == UserState::Suspended {
                refused(try_like(&api, ME, liked).await, &unavailable, format!("{user_id} is suspended"));
            }
        }
        eventually("the user is active", async || try_like(&api, ME, liked).await.ok()).await;
        assert!(unlike(&api, ME, liked).await.removed);
    }
    assert_notes(&place, ME, 0).await;

    for (user_id, author_id, post_id, fields) in [
        (0, AUTHOR, 1, &["user_id"][..]),
        (ME, -1, 1, &["author_id"]),
        (ME, AUTHOR, 0, &["post_id"]),
        (-5, 0, i64::MIN, &["user_id", "author_id", "post_id"]),
    ] {
        let request = LikePostRequest { user_id, author_id, post_id };
        refused(api.social().like_post(request).await, &Refusal::fields(fields), request);
        let request = UnlikePostRequest { user_id, author_id, post_id };
        refused(api.social().unlike_post(request).await, &Refusal::fields(fields), request);
    }
}

/// Of a post that is deleted nothing is left, of few likes or of many.
async fn likes_end_with_their_post(place: Place) {
    let api = place.serve(&[]).await;
    let posts = publish_all(&api, (0..2).map(|n| post_at(AUTHOR, BEGIN + n))).await;
    likes(&api, 1_000..1_003, posts[0]).await;
    likes(&api, 2_000..2_000 + ROOM + 50, posts[1]).await;
    assert!(unlike(&api, 1_001, posts[0]).await.removed);
    for deleted in &posts {
        let request = DeletePostRequest { author_id: AUTHOR, post_id: deleted.post };
        assert!(api.social().delete_post(request).await.unwrap().into_inner().deleted);
        refused(try_like(&api, ME, *deleted).await, &Refusal::new(Code::NotFound, "POST_NOT_FOUND"), "a deleted post");
        let none = unlike(&api, 1_000, *deleted).await;
        assert_eq!((none.removed, none.like_count), (false, 0));
    }
    eventually("nothing is left of the likes", async || like_keys(&place).await.is_empty().then_some(())).await;
    let duties = place.redis.scan(&format!("{}:*:operations", place.name)).await;
    assert_eq!(duties, [], "work that is done");
}

/// A deleted user likes nothing, and nobody likes what a deleted user published.
async fn likes_end_with_their_users(place: Place) {
    let api = place.serve(&[]).await;
    let user = 777_777;
    let posts = publish_all(&api, (0..40).map(|n| post_at(1 + n % 4, BEGIN + n))).await;
    let own = publish_all(&api, (0..3).map(|n| post_at(user, BEGIN + n))).await;
    for &liked in posts.iter().chain(&own) {
        like(&api, user, liked).await;
        like(&api, ME, liked).await;
    }
    likes(&api, 1_000..1_000 + ROOM + 20, own[1]).await;
    assert!(unlike(&api, ME, own[0]).await.removed);
    api.social().delete_user(DeleteUserRequest { user_id: user }).await.unwrap();
    refused(
        try_like(&api, user, posts[0]).await,
        &Refusal::new(Code::FailedPrecondition, "USER_UNAVAILABLE"),
        "a deleted user",
    );
    done(&api, user).await;
    let only_mine = async || {
        for &liked in &posts {
            if seen(&api, ME, liked).await != (1, true) {
                return None;
            }
        }
        like_keys(&place).await.iter().all(|key| !key.contains(":777777:")).then_some(())
    };
    eventually("nothing is left of the user's likes", only_mine).await;
    assert_notes(&place, ME, posts.len()).await;
    assert_no_trace(&place, user).await;
}

/// Whatever calls cross, who likes a post is counted once, and every like is noted.
async fn crossing_calls_leave_a_whole_state(place: Place) {
    let (one, other) = (place.serve(&[]).await, place.serve(&[]).await);
    let mut random = seeded();
    let posts = publish_all(&one, (0..4).map(|n| post_at(AUTHOR, BEGIN + n))).await;
    let calls: Vec<(i64, Entry, bool)> = (0..1_500)
        .map(|_| (random.random_range(60..70), posts[random.random_range(0..posts.len())], random.random_bool(0.6)))
        .collect();
    let changes = stream::iter(calls.into_iter().enumerate()).map(async |(number, (user, liked, begins))| {
        let api: &Api = if number % 2 == 0 { &one } else { &other };
        if begins {
            i64::from(like(api, user, liked).await.created)
        } else {
            -i64::from(unlike(api, user, liked).await.removed)
        }
    });
    let net = changes.buffer_unordered(32).fold(0, async |net, change| net + change).await;
    let mut likers = HashSet::new();
    let mut counted = 0;
    for &liked in &posts {
        for user in 60..70 {
            if seen(&one, user, liked).await.1 {
                likers.insert((user, liked.post));
            }
        }
        counted += seen(&other, 0, liked).await.0;
    }
    assert_eq!((counted, net), (likers.len() as i64, likers.len() as i64));
    for user in 60..70 {
        assert_notes(&place, user, likers.iter().filter(|(liker, _)| *liker == user).count()).await;
    }
}

on_each_backend!(
    likes_are_counted_once_each,
    every_view_of_whole_posts_tells_of_likes,
    more_like_a_post_than_its_first_set_takes,
    what_cannot_be_liked_is_refused,
    likes_end_with_their_post,
    likes_end_with_their_users,
    crossing_calls_leave_a_whole_state,
);
