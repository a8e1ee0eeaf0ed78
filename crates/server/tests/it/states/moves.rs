use socialgraph::v1::{
    GetOperationRequest, OperationKind, OperationState, PublishPostRequest, ScrollFeedRequest, SetUserStateRequest,
    UserState, get_operation_request::Target,
};
use tonic::Code;

use super::{done, lists, set, set_wholly};
use crate::support::{Api, Place, Refusal, assert_mirrored, refused, row_at};

const USER: i64 = 777_777;
const BEGIN: i64 = 1_600_000_000_000_000;
const UNTIL: i64 = 2_700;

fn unavailable() -> Refusal {
    Refusal::new(Code::FailedPrecondition, "USER_UNAVAILABLE")
}

/// The user follows 1 to 300, and is followed by 200 to `UNTIL`, of whom 200 follows many others as well.
async fn import(api: &Api) -> i64 {
    let follows = (1..=300).map(|id| row_at(USER, id, BEGIN + id));
    let followed = (200..=UNTIL).map(|id| row_at(id, USER, BEGIN + 150));
    let of_one = (201..=500).map(|id| row_at(200, id, BEGIN + id - 201));
    let rows: Vec<_> = follows.chain(followed).chain(of_one).collect();
    let number = rows.len() as i64;
    assert_eq!(api.import(rows).await.created, number);
    number
}

fn some_neighbours() -> impl Iterator<Item = i64> {
    (1..=310).chain([499, 500, 1_000, UNTIL])
}

async fn feed(api: &Api, user_id: i64) -> Vec<i64> {
    let answer = api.scroll(ScrollFeedRequest { user_id, ..Default::default() }).await;
    answer.items.iter().map(|item| item.author_id).collect()
}

async fn field_g7_edges_are_put_aside_and_come_back_as_they_were(place: Place) {
    let api = place.serve(&[]).await;
    let edges = import(&api).await - 300;
    api.publish(USER, "of the user").await;
    api.publish(5, "of another").await;
    assert_eq!(feed(&api, 210).await, [USER]);
    assert_eq!(feed(&api, USER).await, [5, USER]);
    let before = lists(&api, some_neighbours()).await;
    let own = lists(&api, [USER]).await;

    let begun = set(&api, USER, UserState::Suspended).await.unwrap();
    assert_eq!((begun.kind(), begun.user_id), (OperationKind::SetUserState, USER));
    assert_eq!((begun.user_state(), begun.edges_total), (UserState::Suspended, edges));
    let ended = done(&api, USER).await;
    assert_eq!((ended.operation_id.as_str(), ended.edges_moved), (begun.operation_id.as_str(), edges));
    let request = GetOperationRequest { target: Some(Target::OperationId(begun.operation_id)) };
    assert_eq!(api.social().get_operation(request).await.unwrap().into_inner().operation.unwrap(), ended);
    assert_eq!(set(&api, USER, UserState::Suspended).await.unwrap(), ended, "again");

    let without = |list: &[crate::support::Listed]| list.iter().filter(|entry| entry.0 != USER).copied().collect();
    let expected: Vec<_> =
        before.iter().map(|(user, following, followers)| (*user, without(following), without(followers))).collect();
    assert_eq!(lists(&api, some_neighbours()).await, expected);
    assert_eq!(lists(&api, [USER]).await, own);
    let verify = socialgraph::admin::v1::VerifyUserRequest { user_id: USER, ..Default::default() };
    refused(api.admin().verify_user(verify).await, &unavailable(), "the ends differ on purpose");
    assert_eq!(feed(&api, 210).await, [0_i64; 0]);
    assert_eq!(feed(&api, USER).await, [0_i64; 0]);
    api.publish(6, "meanwhile").await;

    // Not active in another way: nothing moves.
    set_wholly(&api, USER, UserState::Deactivated).await;
    assert_eq!(lists(&api, some_neighbours()).await, expected);

    let ended = set_wholly(&api, USER, UserState::Active).await;
    assert_eq!((ended.user_state(), ended.edges_moved), (UserState::Active, edges));
    assert_eq!(lists(&api, some_neighbours()).await, before);
    assert_eq!(lists(&api, [USER]).await, own);
    assert_eq!(feed(&api, 210).await, [USER]);
    assert_eq!(feed(&api, USER).await, [6, 5, USER]);
    let keys = place.redis.scan(&place.keys().pattern()).await.into_iter().map(|(_, key)| key);
    let left: Vec<_> = keys.filter(|key| key.contains(":aside:") && !key.ends_with(":marks")).collect();
    assert_eq!(left, [""; 0]);
}

async fn who_is_not_active_is_refused(place: Place) {
    let api = place.serve(&[]).await;
    for (follower, followee) in [(1, USER), (USER, 2), (3, USER), (4, USER), (USER, 5), (USER, 6)] {
        api.follow(follower, followee).await;
    }
    let follow =
        |follower_id, followee_id| socialgraph::v1::FollowRequest { follower_id, followee_id, source: String::new() };
    let post = PublishPostRequest { author_id: USER, content: "x".into(), ..Default::default() };
    let check = async || {
        refused(api.social().follow(follow(USER, 9)).await, &unavailable(), "by the user");
        refused(api.social().follow(follow(9, USER)).await, &unavailable(), "of the user");
        refused(api.social().follow(follow(1, USER)).await, &unavailable(), "once more");
        refused(api.social().publish_post(post.clone()).await, &unavailable(), "a post");
        let answer = api.import(vec![row_at(USER, 9, BEGIN), row_at(9, USER, BEGIN), row_at(1, USER, BEGIN)]).await;
        assert_eq!((answer.unavailable, answer.created + answer.existing + answer.superseded), (3, 0));
    };
    set(&api, USER, UserState::Suspended).await;
    done(&api, USER).await;
    check().await;
    // What is aside, or is the user's own, may end; it does not come back.
    assert!(api.unfollow(3, USER).await.removed);
    assert!(!api.unfollow(3, USER).await.removed);
    let batch = socialgraph::v1::BatchUnfollowRequest { follower_id: 4, followee_ids: vec![USER] };
    assert!(api.social().batch_unfollow(batch).await.unwrap().into_inner().results[0].removed);
    assert!(api.unfollow(USER, 6).await.removed);
    check().await;
    set_wholly(&api, USER, UserState::Active).await;
    let edges: Vec<_> =
        assert_mirrored(&api, (1..=9).chain([USER])).await.into_iter().map(|edge| (edge.0, edge.1)).collect();
    assert_eq!(edges, [(1, USER), (USER, 2), (USER, 5)]);
    api.follow(9, USER).await;
    api.publish_with(post.clone()).await;
}

async fn what_is_aside_counts_for_the_bound_on_follows(place: Place) {
    let api = place.serve(&[("limits.max-following", "3")]).await;
    for followee in [USER, 2, 3] {
        api.follow(1, followee).await;
    }
    set_wholly(&api, USER, UserState::Deactivated).await;
    assert_eq!(api.count(1).await, (2, 0));
    let follow = socialgraph::v1::FollowRequest { follower_id: 1, followee_id: 4, source: String::new() };
    let full = Refusal::new(Code::ResourceExhausted, "FOLLOW_LIMIT");
    refused(api.social().follow(follow).await, &full, "aside");
    set_wholly(&api, USER, UserState::Active).await;
    assert_eq!(api.count(1).await, (3, 0));
}

async fn bad_states_are_refused(place: Place) {
    let api = place.serve(&[]).await;
    let ask = async |user_id, state| api.social().set_user_state(SetUserStateRequest { user_id, state }).await;
    refused(ask(0, 1).await, &Refusal::fields(&["user_id"]), "no user");
    refused(ask(1, 0).await, &Refusal::fields(&["state"]), "no state");
    refused(ask(-1, 4).await, &Refusal::fields(&["user_id", "state"]), "both");
    assert_eq!(set(&api, USER, UserState::Active).await, None, "as everybody is");
    let request = socialgraph::v1::DeleteUserRequest { user_id: USER };
    let deletion = api.social().delete_user(request).await.unwrap().into_inner().operation.unwrap();
    for state in [UserState::Active, UserState::Suspended] {
        refused(ask(USER, state.into()).await, &unavailable(), "deleted");
    }
    assert_eq!(done(&api, USER).await.operation_id, deletion.operation_id);
}

async fn an_operation_is_superseded_by_the_next(place: Place) {
    let api = place.serve(&[]).await;
    import(&api).await;
    let before = lists(&api, some_neighbours()).await;
    for state in [UserState::Suspended, UserState::Active, UserState::Deactivated, UserState::Active] {
        let operation = set(&api, USER, state).await.unwrap();
        assert_eq!((operation.state(), operation.user_state()), (OperationState::Running, state));
    }
    done(&api, USER).await;
    assert_eq!(lists(&api, some_neighbours()).await, before);
}

on_each_backend!(
    field_g7_edges_are_put_aside_and_come_back_as_they_were,
    who_is_not_active_is_refused,
    what_is_aside_counts_for_the_bound_on_follows,
    bad_states_are_refused,
    an_operation_is_superseded_by_the_next,
);
