//! DeleteUser and GetOperation.

use socialgraph::v1::{
    DeleteUserRequest, ErrorReason, GetOperationRequest, Operation, OperationKind, OperationState, PublishPostRequest,
    ScrollFeedRequest, get_operation_request::Target,
};
use tonic::Code;

use crate::{
    support::{Api, Place, Refusal, assert_mirrored, eventually, now, refused, row_at},
    traces,
};

const USER: i64 = 777_777;
const BEGIN: i64 = 1_600_000_000_000_000;

fn unavailable() -> Refusal {
    Refusal::new(Code::FailedPrecondition, "USER_UNAVAILABLE")
}

fn not_found() -> Refusal {
    Refusal::new(Code::NotFound, "OPERATION_NOT_FOUND")
}

async fn delete(api: &Api, user_id: i64) -> Operation {
    api.social().delete_user(DeleteUserRequest { user_id }).await.unwrap().into_inner().operation.unwrap()
}

async fn operation(api: &Api, target: Target) -> Operation {
    let request = GetOperationRequest { target: Some(target) };
    api.social().get_operation(request).await.unwrap().into_inner().operation.unwrap()
}

pub(crate) async fn done(api: &Api, user: i64) -> Operation {
    eventually("the user is removed", async || {
        let operation = operation(api, Target::UserId(user)).await;
        (operation.state() == OperationState::Done).then_some(operation)
    })
    .await
}

/// Nothing mentions a deleted user but what may.
pub(crate) async fn assert_no_trace(place: &Place, user: i64) {
    place.settled().await;
    let keys = place.keys().pattern();
    for node in 0..place.redis.nodes() {
        assert_eq!(traces::left(user, &keys, async |command| place.redis.on_node(node, command).await).await, []);
    }
}

async fn no_trace_is_left_of_lists_posts_and_feeds(place: Place) {
    let api = place.serve(&[]).await;
    let follows = (1..=300).map(|id| row_at(USER, id, BEGIN + id));
    let followed = (200..=450).map(|id| row_at(id, USER, BEGIN + id));
    let among = (1..=50).map(|id| row_at(id, id + 1, BEGIN));
    assert_eq!(api.import(follows.chain(followed).chain(among).collect()).await.created, 601);
    for reader in [210, 449, USER] {
        api.scroll(ScrollFeedRequest { user_id: reader, ..Default::default() }).await;
    }
    api.publish(5, "of another").await;
    for n in 0..150 {
        let request_id = if n % 3 == 0 { format!("r-{n}") } else { String::new() };
        api.publish_with(PublishPostRequest {
            author_id: USER,
            content: format!("post {n}").into(),
            request_id,
            ..Default::default()
        })
        .await;
    }
    assert_eq!(api.scroll(ScrollFeedRequest { user_id: 210, ..Default::default() }).await.items.len(), 50);
    api.social()
        .dismiss_recommendation(socialgraph::v1::DismissRecommendationRequest { user_id: USER, dismissed_id: 4 })
        .await
        .unwrap();

    api.block(USER, 9_000).await;
    api.mute(USER, 9_000, None).await;
    api.mute(USER, 9_001, Some(now() + 3_600_000_000)).await;

    let begun = delete(&api, USER).await;
    assert_eq!((begun.kind(), begun.user_id), (OperationKind::DeleteUser, USER));
    assert_eq!((begun.edges_total, begun.posts_total), (551, 150));
    let ended = done(&api, USER).await;
    assert_eq!((ended.edges_removed, ended.posts_removed), (551, 150));
    assert!(ended.done_at.unwrap().seconds >= ended.begun_at.unwrap().seconds);
    assert_eq!(operation(&api, Target::OperationId(begun.operation_id.clone())).await, ended);
    assert_eq!(delete(&api, USER).await, ended);

    assert_no_trace(&place, USER).await;
    assert_eq!(assert_mirrored(&api, (1..=450).chain([USER])).await.len(), 50);
    assert_eq!(api.posts(USER).await, 0);
    for reader in [210, 449, USER] {
        assert!(api.scroll(ScrollFeedRequest { user_id: reader, ..Default::default() }).await.items.is_empty());
    }
}

/// The 129th of a list has the first 96 sealed, and the bound of that segment outlives the 96th.
async fn no_trace_is_left_between_the_segments_of_long_lists(place: Place) {
    let api = place.serve(&[]).await;
    let sealed_last = 700_096;
    // Times that rise, and a single one.
    for (owner, step) in [(1, 1), (2, 0)] {
        let ids = || (700_001..=700_128).map(move |id| (id, BEGIN + id * step));
        let rows = ids().map(|(id, at)| row_at(owner, id, at)).chain(ids().map(|(id, at)| row_at(id, 10 + owner, at)));
        assert_eq!(api.import(rows.collect()).await.created, 256);
        api.follow(owner, 700_200).await;
        api.follow(700_200, 10 + owner).await;
    }
    assert_eq!(place.snapshot().await.keys().filter(|key| key.ends_with(":parts")).count(), 4, "long lists");
    delete(&api, sealed_last).await;
    done(&api, sealed_last).await;
    assert_no_trace(&place, sealed_last).await;
    let users = [1, 2, 11, 12].into_iter().chain(700_001..=700_200);
    assert_eq!(assert_mirrored(&api, users).await.len(), 4 * 128);
}

async fn later_calls_about_a_deleted_user_are_refused(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(1, USER).await;
    delete(&api, USER).await;
    let follow =
        |follower_id, followee_id| socialgraph::v1::FollowRequest { follower_id, followee_id, source: String::new() };
    let check = async || {
        refused(api.social().follow(follow(USER, 2)).await, &unavailable(), "by the user");
        refused(api.social().follow(follow(2, USER)).await, &unavailable(), "of the user");
        let post = PublishPostRequest { author_id: USER, content: "x".into(), ..Default::default() };
        refused(api.social().publish_post(post).await, &unavailable(), "a post");
        let rows = vec![row_at(USER, 3, BEGIN), row_at(3, USER, BEGIN), row_at(3, 4, BEGIN)];
        let answer = api.import(rows).await;
        assert_eq!((answer.unavailable, answer.created + answer.existing), (2, 1));
        let errors: Vec<_> = answer.errors.iter().map(|error| (error.row, error.reason())).collect();
        assert_eq!(errors, [(1, ErrorReason::UserUnavailable), (2, ErrorReason::UserUnavailable)]);
        assert!(!api.unfollow(2, USER).await.removed);
    };
    check().await;
    done(&api, USER).await;
    check().await;
    assert_eq!(api.is_following(2, USER).await, None);
    assert_eq!(api.count(USER).await, (0, 0));
    assert_mirrored(&api, [1, 2, 3, 4, USER]).await;
}

async fn a_user_never_seen_can_be_deleted(place: Place) {
    let api = place.serve(&[]).await;
    let ask = async |target| api.social().get_operation(GetOperationRequest { target }).await;
    refused(ask(Some(Target::UserId(USER))).await, &not_found(), "no deletion");
    let begun = delete(&api, USER).await;
    assert_eq!((begun.edges_total, begun.posts_total), (0, 0));
    done(&api, USER).await;
    for other in ["", "x", "delete-user/777777/1", "delete-user/777778/1"] {
        refused(ask(Some(Target::OperationId(other.to_owned()))).await, &not_found(), other);
    }
    refused(ask(Some(Target::UserId(0))).await, &Refusal::fields(&["user_id"]), 0);
    refused(ask(None).await, &Refusal::fields(&["target"]), "nothing");
    for bad in [0, -1, i64::MIN] {
        let answer = api.social().delete_user(DeleteUserRequest { user_id: bad }).await;
        refused(answer, &Refusal::fields(&["user_id"]), bad);
    }
}

/// Bots follow a few users and are deleted all at once: what is counted is what is listed.
async fn field_g3_mass_deletion_leaves_counts_equal_to_lists(place: Place) {
    let api = place.serve(&[]).await;
    let bots = 1_000..1_400_i64;
    let people = 1..=20_i64;
    let rows = bots.clone().flat_map(|bot| [row_at(bot, bot % 20 + 1, BEGIN), row_at(bot, (bot + 7) % 20 + 1, BEGIN)]);
    let fans = people.clone().flat_map(|id| [row_at(id, id % 20 + 1, BEGIN + id), row_at(id, 1_000 + id, BEGIN + id)]);
    assert_eq!(api.import(rows.chain(fans).collect()).await.created, 840);
    let deletions = bots.clone().map(|bot| delete(&api, bot));
    futures::future::join_all(deletions).await;
    for bot in bots.clone() {
        done(&api, bot).await;
    }
    place.settled().await;
    let edges = assert_mirrored(&api, people.chain(bots)).await;
    assert!(edges.iter().all(|&(one, other, _)| one <= 20 && other <= 20));
    assert_eq!(edges.len(), 20);
}

/// Accounts that are gone are neither counted nor listed, by anybody.
async fn field_g7_deleted_accounts_are_neither_counted_nor_listed(place: Place) {
    let api = place.serve(&[]).await;
    for other in 1..=5 {
        api.follow(other, USER).await;
        api.follow(USER, other).await;
        api.follow(other, other % 5 + 1).await;
    }
    delete(&api, USER).await;
    done(&api, USER).await;
    for other in 1..=5 {
        assert_eq!(api.count(other).await, (1, 1));
        let [following, followers] = [api.following(other).await, api.followers(other).await];
        assert!(following.iter().chain(&followers).all(|&(id, _)| id != USER));
    }
}

/// Pages to the end give exactly what is counted, right after a deletion was begun and at its end.
async fn field_g8_pages_add_up_to_the_count(place: Place) {
    let api = place.serve(&[]).await;
    let doomed = 2_000..2_050_i64;
    let rows = doomed.clone().chain(3_000..3_400).map(|fan| row_at(fan, 1, BEGIN + fan));
    assert_eq!(api.import(rows.collect()).await.created, 450);
    for user in doomed.clone() {
        delete(&api, user).await;
    }
    for user in doomed {
        done(&api, user).await;
    }
    place.settled().await;
    let listed = api.followers(1).await;
    assert_eq!((listed.len() as i64, listed.len()), (api.count(1).await.1, 400));
}

/// Others follow and unfollow the user, and are followed, while the user is deleted.
async fn a_deletion_ends_what_races_it(place: Place) {
    let api = place.serve(&[]).await;
    let rows = (1..=400).map(|id| if id % 2 == 0 { row_at(USER, id, BEGIN) } else { row_at(id, USER, BEGIN) });
    assert_eq!(api.import(rows.collect()).await.created, 400);
    let race = async |first: i64| {
        for id in (first..first + 100).chain(first..first + 100) {
            let follow = |follower_id, followee_id| socialgraph::v1::FollowRequest {
                follower_id,
                followee_id,
                source: "race".into(),
            };
            let (mut one, mut other) = (api.social(), api.social());
            let (by, of) = futures::join!(one.follow(follow(USER, id)), other.follow(follow(id, USER)));
            for status in [by, of].into_iter().filter_map(Result::err) {
                refused::<()>(Err(status), &unavailable(), id);
            }
        }
    };
    let import = async {
        for _ in 0..5 {
            api.import((500..700).flat_map(|id| [row_at(id, USER, BEGIN), row_at(USER, id, BEGIN)]).collect()).await;
        }
    };
    let posts = async {
        for n in 0..100 {
            let content = format!("post {n}").into();
            let post = PublishPostRequest { author_id: USER, content, ..Default::default() };
            if let Err(status) = api.social().publish_post(post).await {
                refused::<()>(Err(status), &unavailable(), n);
            }
        }
    };
    let deletion = async {
        delete(&api, USER).await;
    };
    futures::join!(race(10), race(300), import, posts, deletion);
    done(&api, USER).await;
    assert_no_trace(&place, USER).await;
    assert!(assert_mirrored(&api, (1..=700).chain([USER])).await.is_empty());
}

on_each_backend!(
    no_trace_is_left_of_lists_posts_and_feeds,
    no_trace_is_left_between_the_segments_of_long_lists,
    later_calls_about_a_deleted_user_are_refused,
    a_user_never_seen_can_be_deleted,
    field_g3_mass_deletion_leaves_counts_equal_to_lists,
    field_g7_deleted_accounts_are_neither_counted_nor_listed,
    field_g8_pages_add_up_to_the_count,
    a_deletion_ends_what_races_it,
);
