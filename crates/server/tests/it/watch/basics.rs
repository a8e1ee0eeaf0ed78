//! What each change is told as, and what is refused.

use prost_types::Duration;
use socialgraph::v1::{DeleteUserRequest, FollowRequest, WatchRelationshipsRequest};

use crate::support::{Api, Event, Place, Refusal, Watching, micros, now, refused, row_at};

const BEGIN: i64 = 1_600_000_000_000_000;

fn events(watching: &Watching) -> Vec<Event> {
    watching.events.iter().map(|(event, _)| event.clone()).collect()
}

async fn each_change_is_told_as_it_was(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(1, 9).await;
    let mut watching = api.watch("").await;

    let follow = FollowRequest { follower_id: 1, followee_id: 2, source: "my contacts, all".to_owned() };
    let followed = micros(api.social().follow(follow).await.unwrap().into_inner().followed_at);
    // Nothing changes by these.
    api.follow(1, 2).await;
    api.unfollow(1, 3).await;
    api.publish(1, "a post").await;
    assert!(api.unfollow(1, 2).await.removed);
    assert_eq!(api.import(vec![row_at(1, 4, BEGIN), row_at(1, 5, BEGIN + 1)]).await.created, 2);
    watching.until_events(4).await;
    assert_eq!(
        events(&watching),
        [
            Event::Followed((1, 2, followed), "my contacts, all".to_owned()),
            Event::Unfollowed((1, 2, followed)),
            Event::followed((1, 4, BEGIN)),
            Event::followed((1, 5, BEGIN + 1)),
        ]
    );
    assert_eq!(watching.events[0].1, followed, "the version of a follow is when it began");
}

async fn blocks_and_mutes_are_told(place: Place) {
    let api = place.serve(&[]).await;
    let of_blocker = micros(api.follow(1, 2).await.followed_at);
    let of_blocked = micros(api.follow(2, 1).await.followed_at);
    let mut watching = api.watch("").await;
    let blocked = micros(api.block(1, 2).await.blocked_at);
    // Nothing changes by these.
    api.block(1, 2).await;
    api.unblock(2, 1).await;
    api.unmute(1, 2).await;
    assert!(api.unblock(1, 2).await.removed);
    let until = now() + 3_600_000_000;
    let muted = micros(api.mute(1, 2, None).await.muted_at);
    api.mute(1, 2, None).await;
    api.mute(1, 2, Some(until)).await;
    assert!(api.unmute(1, 2).await);
    watching.until_events(7).await;
    let told = events(&watching);
    let of = |user| told.iter().filter(|event| event.user() == user).cloned().collect::<Vec<_>>();
    assert_eq!(
        of(1),
        [
            Event::Unfollowed((1, 2, of_blocker)),
            Event::Blocked((1, 2, blocked)),
            Event::Unblocked((1, 2, blocked)),
            Event::Muted((1, 2, muted), None),
            Event::Muted((1, 2, muted), Some(until)),
            Event::Unmuted((1, 2, muted)),
        ]
    );
    assert_eq!(of(2), [Event::Unfollowed((2, 1, of_blocked))]);
    let versions: Vec<_> = watching.events.iter().filter(|(event, _)| event.user() == 1).map(|event| event.1).collect();
    assert!(versions.is_sorted_by(|one, other| one < other), "{versions:?}");
    assert_eq!(versions[1], blocked, "the version of a block is when it began");

    // Of somebody else nothing is told.
    let of_two = WatchRelationshipsRequest { user_ids: vec![2], ..Default::default() };
    let mut watching = api.watch_with(of_two).await;
    api.block(1, 2).await;
    api.mute(2, 1, None).await;
    watching.until_events(1).await;
    assert!(matches!(events(&watching)[..], [Event::Muted((2, 1, _), None)]));
}

async fn the_end_of_a_user_is_told_before_the_ends_of_their_edges(place: Place) {
    const USER: i64 = 77;
    let api = place.serve(&[]).await;
    let mut rows: Vec<_> =
        (1..=20).flat_map(|other| [row_at(USER, other, BEGIN), row_at(other, USER, BEGIN)]).collect();
    rows.push(row_at(1, 2, BEGIN));
    assert_eq!(api.import(rows).await.created, 41);
    let mut watching = api.watch("").await;
    api.social().delete_user(DeleteUserRequest { user_id: USER }).await.unwrap();
    watching.until_events(41).await;
    let mut told = events(&watching);
    let of_user: Vec<_> = told.iter().filter(|event| event.user() == USER).collect();
    assert_eq!(*of_user[0], Event::Deleted(USER));
    told.sort_unstable();
    let ends = (1..=20).flat_map(|other| [(USER, other, BEGIN), (other, USER, BEGIN)]).map(Event::Unfollowed);
    let mut expected: Vec<_> = ends.chain([Event::Deleted(USER)]).collect();
    expected.sort_unstable();
    assert_eq!(told, expected);
}

async fn of_some_users_only_their_changes_are_told(place: Place) {
    let api = place.serve(&[]).await;
    let some = WatchRelationshipsRequest { user_ids: vec![3, 1, 3], ..Default::default() };
    let mut watching = api.watch_with(some.clone()).await;
    let neighbour = (4..).find(|&user| same_partition(&place, user, 1)).unwrap();
    for follower in [2, 1, neighbour, 3, 4] {
        api.follow(follower, 100).await;
        api.follow(follower, 200).await;
    }
    api.follow(3, 101).await;
    watching.until_events(5).await;
    let users: Vec<_> = watching.events.iter().map(|(event, _)| event.user()).collect();
    let of = |user| users.iter().filter(|&&is| is == user).count();
    assert_eq!((of(1), of(3), users.len()), (2, 3, 5), "{users:?}");

    // The token is one of these users, in whatever order.
    let token = watching.last_token();
    let good = WatchRelationshipsRequest { resume_token: token, user_ids: vec![1, 3], ..some };
    let mut later = api.watch_with(good.clone()).await;
    api.unfollow(3, 101).await;
    later.until_events(1).await;
    for user_ids in [vec![], vec![1], vec![1, 2, 3]] {
        refuses(&api, &WatchRelationshipsRequest { user_ids, ..good.clone() }, &Refusal::page_token()).await;
    }
}

fn same_partition(place: &Place, user: i64, other: i64) -> bool {
    let keys = place.keys();
    let [user, other] = [user, other].map(|id| keys.partition(model::UserId::new(id).unwrap()));
    user == other
}

async fn refuses(api: &Api, request: &WatchRelationshipsRequest, refusal: &Refusal) {
    let answer = api.social().watch_relationships(request.clone()).await;
    refused(answer.map(|_watching| tonic::Response::new(())), refusal, request);
}

async fn bad_fields_are_refused(place: Place) {
    let api = place.serve(&[]).await;
    let good = WatchRelationshipsRequest::default();
    for bad in [0, -1, i64::MIN] {
        let request = WatchRelationshipsRequest { user_ids: vec![1, bad, 2], ..good.clone() };
        refuses(&api, &request, &Refusal::fields(&["user_ids[1]"])).await;
    }
    let request = WatchRelationshipsRequest { user_ids: (1..=1001).collect(), ..good.clone() };
    refuses(&api, &request, &Refusal::fields(&["user_ids"])).await;
    for (seconds, nanos) in [(0, 0), (0, 99_999_999), (300, 1), (-1, 0), (1, -1), (1, 1_000_000_000), (i64::MAX, 0)] {
        let checkpoint_interval = Some(Duration { seconds, nanos });
        let request = WatchRelationshipsRequest { checkpoint_interval, ..good.clone() };
        refuses(&api, &request, &Refusal::fields(&["checkpoint_interval"])).await;
    }
    let most = WatchRelationshipsRequest {
        user_ids: (1..=1000).collect(),
        checkpoint_interval: Some(Duration { seconds: 300, nanos: 0 }),
        ..good
    };
    api.social().watch_relationships(most).await.unwrap();
}

on_each_backend!(
    each_change_is_told_as_it_was,
    blocks_and_mutes_are_told,
    the_end_of_a_user_is_told_before_the_ends_of_their_edges,
    of_some_users_only_their_changes_are_told,
    bad_fields_are_refused,
);
