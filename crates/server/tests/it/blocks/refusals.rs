//! Follows that a block keeps from being.

use socialgraph::v1::ErrorReason;

use super::{BEGIN, blocked};
use crate::support::{Place, assert_mirrored, refused, row_at};

async fn nobody_follows_across_a_block(place: Place) {
    let api = place.serve(&[]).await;
    api.block(1, 2).await;
    for _ in 0..2 {
        for (follower, followee) in [(1, 2), (2, 1)] {
            refused(api.try_follow(follower, followee).await, &blocked(), (follower, followee));
            assert_eq!(api.is_following(follower, followee).await, None);
        }
    }
    place.settled().await;
    assert!(assert_mirrored(&api, [1, 2]).await.is_empty());
    api.unblock(1, 2).await;
    assert!(api.follow(1, 2).await.created && api.follow(2, 1).await.created);
}

async fn rows_of_batches_and_imports_tell_of_blocks(place: Place) {
    let api = place.serve(&[]).await;
    api.block(1, 2).await;
    api.block(3, 1).await;
    let results = api.batch_follow(1, &[2, 3, 4, 1]).await;
    let reasons: Vec<_> = results.iter().map(|result| result.reason()).collect();
    assert_eq!(
        reasons,
        [ErrorReason::Blocked, ErrorReason::Blocked, ErrorReason::Unspecified, ErrorReason::SelfReference]
    );
    let rows = [(1, 2), (1, 3), (2, 1), (3, 1), (1, 5), (5, 1)].map(|(one, other)| row_at(one, other, BEGIN));
    let answer = api.import(rows.to_vec()).await;
    assert_eq!((answer.created, answer.blocked), (2, 4));
    let errors: Vec<_> = answer.errors.iter().map(|error| (error.row, error.reason())).collect();
    assert_eq!(errors, [1, 2, 3, 4].map(|row| (row, ErrorReason::Blocked)));
    place.settled().await;
    let edges = assert_mirrored(&api, 1..=5).await;
    assert_eq!(edges.iter().map(|edge| (edge.0, edge.1)).collect::<Vec<_>>(), [(1, 4), (1, 5), (5, 1)]);
}

/// A block of one of many followers whose list is long refuses just that one.
async fn a_star_refuses_whom_they_blocked(place: Place) {
    let api = place.serve(&[]).await;
    let fans = |from: i64| (from..from + 600).map(|fan| row_at(fan, 1, BEGIN + fan)).collect::<Vec<_>>();
    assert_eq!(api.import(fans(1_000)).await.created, 600);
    for fan in [1_000, 1_300, 1_599, 2_000, 2_599] {
        api.block(1, fan).await;
    }
    assert_eq!(api.count(1).await, (0, 597));
    let answer = api.import(fans(2_000)).await;
    assert_eq!((answer.created, answer.blocked), (598, 2));
    refused(api.try_follow(1_300, 1).await, &blocked(), "a fan of before");
    assert!(api.follow(1_301, 1).await.followed_at.is_some());
    place.settled().await;
    assert_eq!(api.count(1).await, (0, 1_195));
    assert_eq!(api.followers(1).await.len(), 1_195);
}

on_each_backend!(
    nobody_follows_across_a_block,
    rows_of_batches_and_imports_tell_of_blocks,
    a_star_refuses_whom_they_blocked,
);
