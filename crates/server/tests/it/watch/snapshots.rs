//! Watches that begin with all that is there.

use std::collections::BTreeSet;

use futures::{StreamExt, stream};
use rand::Rng;
use socialgraph::v1::WatchRelationshipsRequest;

use crate::support::{Api, Place, Watching, assert_mirrored, row_at, seeded};

const BEGIN: i64 = 1_600_000_000_000_000;
const USERS: std::ops::RangeInclusive<i64> = 1..=60;
const MARK: i64 = 1_000;

/// Lists of all lengths; that of user 1 is in segments.
async fn fill(api: &Api) {
    let short =
        USERS.flat_map(|user| (1..=user % 7).map(move |more| row_at(user, (user + more) % 60 + 1, BEGIN + more)));
    let rows: Vec<_> = short.chain((100..800).map(|followee| row_at(1, followee, BEGIN + followee))).collect();
    let rows: Vec<_> = rows.into_iter().filter(|row| row.follower_id != row.followee_id).collect();
    let sent = rows.len() as i64;
    assert_eq!(api.import(rows).await.created, sent);
}

fn with_snapshot() -> WatchRelationshipsRequest {
    WatchRelationshipsRequest { snapshot: true, ..Default::default() }
}

fn everybody() -> impl Iterator<Item = i64> {
    USERS.chain(100..800).chain([MARK])
}

/// Writes while a snapshot is read: what comes of it and of the changes is what there is at the end.
async fn a_snapshot_and_the_changes_make_the_graph(place: Place) {
    let mut random = seeded();
    let api = place.serve(&[]).await;
    fill(&api).await;
    let plans: Vec<(i64, i64, bool)> =
        (0..400).map(|_| (random.random_range(USERS), random.random_range(100..800), random.random())).collect();
    let mut watching = api.watch_with(with_snapshot()).await;
    let writing = async {
        let writes = plans.into_iter().map(async |(follower, followee, begins)| {
            if begins {
                api.follow(follower, followee).await;
            } else {
                api.unfollow(follower, followee).await;
            }
        });
        stream::iter(writes).buffer_unordered(16).collect::<Vec<_>>().await;
        for user in USERS {
            api.follow(user, MARK).await;
        }
    };
    tokio::join!(writing, watching.until_all_follow(USERS, MARK));
    assert!(watching.snapshot.len() > 40, "{}", watching.snapshot.len());
    assert_eq!(watching.graph(), assert_mirrored(&api, everybody()).await);
}

/// Reads the snapshot to its end.
async fn whole(watching: &mut Watching, users: usize) {
    while watching.snapshot.len() < users {
        watching.next().await.unwrap();
    }
    // The token after it.
    watching.next().await.unwrap();
}

async fn a_snapshot_that_breaks_goes_on_with_its_token(place: Place) {
    let (first, second) = (place.serve(&[]).await, place.serve(&[]).await);
    fill(&first).await;
    let graph = assert_mirrored(&first, everybody()).await;
    let users = graph.iter().map(|row| row.0).collect::<BTreeSet<_>>().len();
    let mut watching = first.watch_with(with_snapshot()).await;
    whole(&mut watching, users).await;
    assert_eq!(watching.graph(), graph);
    first.follow(1, MARK).await;
    assert!(watching.tokens.len() > 10, "{} messages", watching.tokens.len());
    for (token, _, before) in &watching.tokens {
        let mut rest = second.watch(token).await;
        rest.until_events(1).await;
        assert_eq!(rest.snapshot.len(), users - before);
        assert!(rest.snapshot.iter().all(|(user, told)| watching.snapshot[user].1 == told.1 || *user == 1));
    }
}

async fn of_some_users_the_snapshot_has_only_them(place: Place) {
    let api = place.serve(&[]).await;
    fill(&api).await;
    let some = [1, 2, 3, 7, 9, 50_000];
    let request = WatchRelationshipsRequest { user_ids: some.to_vec(), ..with_snapshot() };
    let mut watching = api.watch_with(request).await;
    // Users 7 and 50,000 follow nobody.
    whole(&mut watching, 4).await;
    let graph = assert_mirrored(&api, everybody()).await;
    let expected = graph.into_iter().filter(|row| some.contains(&row.0)).collect::<BTreeSet<_>>();
    assert_eq!(watching.graph(), expected);
    api.follow(7, 1).await;
    watching.until_events(1).await;
}

on_each_backend!(
    a_snapshot_and_the_changes_make_the_graph,
    a_snapshot_that_breaks_goes_on_with_its_token,
    of_some_users_the_snapshot_has_only_them,
);
