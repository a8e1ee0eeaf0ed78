//! States of several users, and what else ends edges.

use socialgraph::v1::{BlockRequest, DeleteUserRequest, UserState};

use super::{done, lists, set, set_wholly};
use crate::{
    lifecycle::assert_no_trace,
    support::{Api, Place, assert_mirrored},
};

async fn follow_each_other(api: &Api, users: &[i64]) {
    for &one in users {
        for &other in users.iter().filter(|&&other| other != one) {
            api.follow(one, other).await;
        }
    }
}

/// Whatever the order in which both of an edge become inactive and active.
async fn edges_of_two_who_are_not_active_come_back(place: Place) {
    let api = place.serve(&[]).await;
    follow_each_other(&api, &[1, 2, 3]).await;
    let before = lists(&api, 1..=3).await;
    for [first_out, second_out, first_in, second_in] in [[1, 2, 1, 2], [1, 2, 2, 1], [2, 1, 1, 2], [2, 1, 2, 1]] {
        set_wholly(&api, first_out, UserState::Suspended).await;
        set_wholly(&api, second_out, UserState::Deactivated).await;
        assert_eq!(api.count(3).await, (0, 0));
        set_wholly(&api, first_in, UserState::Active).await;
        let edges: Vec<_> =
            assert_mirrored(&api, [first_in, 3]).await.into_iter().map(|edge| (edge.0, edge.1)).collect();
        assert_eq!(edges, [(first_in, 3), (3, first_in)]);
        set_wholly(&api, second_in, UserState::Active).await;
        assert_eq!(lists(&api, 1..=3).await, before);
    }
}

async fn a_block_ends_what_is_aside(place: Place) {
    let api = place.serve(&[]).await;
    follow_each_other(&api, &[1, 2, 3]).await;
    set_wholly(&api, 1, UserState::Suspended).await;
    api.social().block(BlockRequest { user_id: 2, blocked_id: 1 }).await.unwrap();
    set_wholly(&api, 1, UserState::Active).await;
    let edges: Vec<_> = assert_mirrored(&api, 1..=3).await.into_iter().map(|edge| (edge.0, edge.1)).collect();
    assert_eq!(edges, [(1, 3), (2, 3), (3, 1), (3, 2)]);
}

/// Of a user with edges aside, and of one whose edges others have aside.
async fn deletions_leave_no_trace_of_what_is_aside(place: Place) {
    let api = place.serve(&[]).await;
    let [suspended, fan] = [777_771, 777_772];
    follow_each_other(&api, &[suspended, 3, 4]).await;
    for (follower, followee) in [(fan, suspended), (fan, 3), (4, fan)] {
        api.follow(follower, followee).await;
    }
    set_wholly(&api, suspended, UserState::Suspended).await;
    for user_id in [fan, suspended] {
        api.social().delete_user(DeleteUserRequest { user_id }).await.unwrap();
        done(&api, user_id).await;
        assert_no_trace(&place, user_id).await;
    }
    let edges: Vec<_> = assert_mirrored(&api, [3, 4]).await.into_iter().map(|edge| (edge.0, edge.1)).collect();
    assert_eq!(edges, [(3, 4), (4, 3)]);
}

/// Deleted users go from the own lists of those who are not active: at once, and not when these are active again.
async fn deletions_reach_who_is_not_active(place: Place) {
    let api = place.serve(&[]).await;
    let [deleted, suspended_first] = [777_781, 777_782];
    let fans = 5..=7;
    for fan in fans.clone() {
        for followee in [3, deleted, suspended_first] {
            api.follow(fan, followee).await;
        }
        set_wholly(&api, fan, UserState::Suspended).await;
    }
    set_wholly(&api, suspended_first, UserState::Suspended).await;
    for user_id in [deleted, suspended_first] {
        let begun = api.social().delete_user(DeleteUserRequest { user_id }).await.unwrap().into_inner();
        assert_eq!(begun.operation.unwrap().edges_total, 3);
        assert_eq!(done(&api, user_id).await.edges_removed, 3);
        assert_no_trace(&place, user_id).await;
    }
    // Such an edge may end otherwise, and is not hidden any more then.
    assert!(api.unfollow(6, 3).await.removed);
    for (fan, follows) in [(5, 1), (6, 0), (7, 1)] {
        assert_eq!(lists(&api, [fan]).await[0].1.iter().map(|entry| entry.0).collect::<Vec<_>>(), [3][..follows]);
        set_wholly(&api, fan, UserState::Active).await;
    }
    let edges: Vec<_> = assert_mirrored(&api, fans.chain([3])).await.into_iter().map(|edge| (edge.0, edge.1)).collect();
    assert_eq!(edges, [(5, 3), (7, 3)]);
    let hidden = place.redis.scan(&format!("{}:*:hidden:*", place.name)).await;
    assert_eq!(hidden, []);
}

async fn a_follower_who_is_deleted_meanwhile_does_not_come_back(place: Place) {
    let api = place.serve(&[]).await;
    follow_each_other(&api, &[1, 2, 3]).await;
    set_wholly(&api, 1, UserState::Suspended).await;
    api.social().delete_user(DeleteUserRequest { user_id: 2 }).await.unwrap();
    set(&api, 1, UserState::Active).await;
    done(&api, 1).await;
    done(&api, 2).await;
    let edges: Vec<_> = assert_mirrored(&api, 1..=3).await.into_iter().map(|edge| (edge.0, edge.1)).collect();
    assert_eq!(edges, [(1, 3), (3, 1)]);
}

on_each_backend!(
    edges_of_two_who_are_not_active_come_back,
    a_block_ends_what_is_aside,
    deletions_leave_no_trace_of_what_is_aside,
    deletions_reach_who_is_not_active,
    a_follower_who_is_deleted_meanwhile_does_not_come_back,
);
