//! What a block ends, and what its end does not bring back.

use socialgraph::v1::{BlockResponse, ListFollowersRequest, Relationship, UnblockResponse};

use super::BEGIN;
use crate::support::{Place, SIDES, assert_mirrored, micros, now, row_at, stamp};

/// Both follows end with the call: in lists, counts and relationships; everybody else's stay.
async fn field_g26_a_block_ends_both_follows(place: Place) {
    let api = place.serve(&[]).await;
    let rows = [(1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 2)];
    let rows = rows.map(|(follower, followee)| row_at(follower, followee, BEGIN));
    assert_eq!(api.import(rows.to_vec()).await.created, 6);
    let begin = now();
    let BlockResponse { created, blocked_at, followers_pending, .. } = api.block(1, 2).await;
    assert!(created && !followers_pending);
    let at = micros(blocked_at);
    assert!((begin..=now() + 1).contains(&at), "{at}");
    assert_eq!(api.counts(&[1, 2, 3]).await, [(1, 1), (1, 1), (2, 2)]);
    assert_eq!([api.is_following(1, 2).await, api.is_following(2, 1).await], [None, None]);
    let edges = assert_mirrored(&api, 1..=3).await;
    assert_eq!(edges, [(1, 3), (2, 3), (3, 1), (3, 2)].map(|(one, other)| (one, other, BEGIN)).into());

    let held = Relationship { target_id: 2, blocking: true, blocked_at, ..Default::default() };
    assert_eq!(api.relationship(1, 2).await, held);
    let suffered = Relationship { target_id: 1, blocked_by: true, blocked_by_at: blocked_at, ..Default::default() };
    assert_eq!(api.relationship(2, 1).await, suffered);
    place.settled().await;
}

/// Either of the two may follow the other, or both, or neither; in short lists and in long ones.
async fn whichever_follow_there_is_ends(place: Place) {
    let api = place.serve(&[]).await;
    for long in [false, true] {
        let base = if long { 1_000 } else { 0 };
        for (number, follows) in [(10, [true, false]), (20, [false, true]), (30, [false, false]), (40, [true, true])] {
            let (one, other) = (base + number, base + number + 1);
            let mut rows = Vec::new();
            if long {
                // Enough for segments on both sides.
                let crowd = 0..300;
                rows.extend(crowd.clone().map(|id| row_at(one, 100_000 + id, BEGIN + id)));
                rows.extend(crowd.map(|id| row_at(200_000 + id, one, BEGIN + id)));
            }
            let pairs = [(one, other), (other, one)].into_iter().zip(follows).filter(|(_, is_there)| *is_there);
            rows.extend(pairs.map(|((one, other), _)| row_at(one, other, BEGIN + 50)));
            let sent = rows.len() as i64;
            if sent > 0 {
                assert_eq!(api.import(rows).await.created, sent);
            }
            assert!(api.block(one, other).await.created);
            let crowd = if long { 300 } else { 0 };
            assert_eq!(api.counts(&[one, other]).await, [(crowd, crowd), (0, 0)]);
            for (user, stranger) in [(one, other), (other, one)] {
                for list in [api.following(user).await, api.followers(user).await] {
                    assert!(list.iter().all(|&(id, _)| id != stranger), "{user} {stranger}");
                }
            }
        }
    }
    place.settled().await;
}

async fn blocking_again_changes_nothing(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(2, 1).await;
    let first = api.block(1, 2).await;
    let before = place.snapshot().await;
    let again = api.block(1, 2).await;
    assert_eq!((again.created, again.blocked_at), (false, first.blocked_at));
    assert_eq!(place.snapshot().await, before);
}

async fn the_end_of_a_block_restores_nothing_and_allows_follows(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(1, 2).await;
    api.follow(2, 1).await;
    let first = micros(api.block(1, 2).await.blocked_at);
    assert!(api.unblock(1, 2).await.removed);
    let UnblockResponse { removed, .. } = api.unblock(1, 2).await;
    assert!(!removed && !api.unblock(2, 1).await.removed);
    assert_eq!(api.relationship(1, 2).await, Relationship { target_id: 2, ..Default::default() });
    assert!(assert_mirrored(&api, [1, 2]).await.is_empty());
    assert!(api.follow(1, 2).await.created && api.follow(2, 1).await.created);
    assert_eq!(assert_mirrored(&api, [1, 2]).await.len(), 2);
    // Another block is another time.
    let second = api.block(1, 2).await;
    assert!(second.created && micros(second.blocked_at) > first);
    assert!(assert_mirrored(&api, [1, 2]).await.is_empty());
    place.settled().await;
}

async fn both_may_block_each_other(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(1, 2).await;
    api.follow(2, 1).await;
    let (one, other) = futures::join!(api.block(1, 2), api.block(2, 1));
    assert!(one.created && other.created);
    let seen = api.relationship(1, 2).await;
    assert_eq!((seen.blocked_at, seen.blocked_by_at), (one.blocked_at, other.blocked_at));
    assert!(api.unblock(1, 2).await.removed);
    let seen = api.relationship(1, 2).await;
    assert_eq!((seen.blocking, seen.blocked_by, seen.following, seen.followed_by), (false, true, false, false));
    assert!(assert_mirrored(&api, [1, 2]).await.is_empty());
}

/// A read with the token of a block sees it, from every server.
async fn a_token_of_a_block_tells_of_its_ends(place: Place) {
    use socialgraph::v1::{Consistency, ListBlockedRequest, consistency::Requirement};

    let servers = [place.serve(&[]).await, place.serve(&[]).await];
    for round in 0..20 {
        let (one, other) = (100 + round, 200 + round);
        servers[0].follow(other, one).await;
        let token = servers[0].block(one, other).await.consistency_token;
        let consistency = Some(Consistency { requirement: Some(Requirement::AtLeastAsFresh(token)) });
        let list = ListBlockedRequest { user_id: one, consistency: consistency.clone(), ..Default::default() };
        let listed = servers[1].social().list_blocked(list).await.unwrap().into_inner().users;
        assert_eq!(listed.iter().map(|user| user.user_id).collect::<Vec<_>>(), [other]);
        let list = ListFollowersRequest { user_id: one, consistency, ..Default::default() };
        assert!(servers[1].social().list_followers(list).await.unwrap().into_inner().users.is_empty());
    }
}

/// An import of long ago does not bring the blocker's follow back, once the block has ended.
async fn an_ended_follow_is_not_imported_again(place: Place) {
    let api = place.serve(&[]).await;
    assert_eq!(api.import(vec![row_at(1, 2, BEGIN)]).await.created, 1);
    api.block(1, 2).await;
    api.unblock(1, 2).await;
    let answer = api.import(vec![row_at(1, 2, BEGIN)]).await;
    assert_eq!((answer.created, answer.superseded), (0, 1));
    for side in SIDES {
        let query = crate::support::Query::all(side, 1);
        assert!(api.walk(&query).await.is_empty());
    }
    assert_ne!(stamp(BEGIN), api.follow(1, 2).await.followed_at.unwrap());
}

on_each_backend!(
    field_g26_a_block_ends_both_follows,
    whichever_follow_there_is_ends,
    blocking_again_changes_nothing,
    the_end_of_a_block_restores_nothing_and_allows_follows,
    both_may_block_each_other,
    a_token_of_a_block_tells_of_its_ends,
    an_ended_follow_is_not_imported_again,
);
