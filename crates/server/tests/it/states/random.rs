//! Follows, unfollows and states at the same time, at two instances.

use std::collections::BTreeSet;

use futures::future::join_all;
use rand::{Rng, SeedableRng, rngs::StdRng};
use socialgraph::v1::{FollowRequest, UserState};
use tonic::Code;

use super::{done, set};
use crate::support::{Api, Place, assert_mirrored, seeded};

const USERS: i64 = 8;
const STEPS: usize = 60;
const CHANGES: usize = 12;
/// Followed by all in the end.
const LAST: i64 = 1_000;

/// Follows and unfollows of one user. Gives whom the user follows in the end, by the answers.
async fn one_user(api: &Api, user: i64, mut random: StdRng) -> BTreeSet<(i64, i64)> {
    let mut follows = BTreeSet::new();
    for _ in 0..STEPS {
        let other = (user + random.random_range(1..USERS)) % USERS + 1;
        if other == user {
            continue;
        }
        if random.random_bool(0.6) {
            let request = FollowRequest { follower_id: user, followee_id: other, source: String::new() };
            match api.social().follow(request).await {
                Ok(_) => {
                    follows.insert((user, other));
                }
                Err(status) => assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}"),
            }
        } else {
            api.unfollow(user, other).await;
            follows.remove(&(user, other));
        }
    }
    follows
}

async fn states_of_one_user(api: &Api, user: i64, mut random: StdRng) {
    const STATES: [UserState; 3] = [UserState::Active, UserState::Suspended, UserState::Deactivated];
    for _ in 0..CHANGES {
        set(api, user, STATES[random.random_range(0..STATES.len())]).await;
        if random.random_bool(0.5) {
            tokio::task::yield_now().await;
        } else if set(api, user, UserState::Active).await.is_some() {
            done(api, user).await;
        }
    }
    set(api, user, UserState::Active).await;
}

/// In the end, when all are active, everybody follows whom the answers said, and both lists agree.
async fn no_edge_is_lost_or_made_up(place: Place) {
    let apis = [place.serve(&[]).await, place.serve(&[]).await];
    let mut random = seeded();
    let mut fork = || StdRng::seed_from_u64(random.random());
    let mut watching = apis[0].watch("").await;
    let users = (1..=USERS).map(|user| one_user(&apis[user as usize % 2], user, fork())).collect::<Vec<_>>();
    let states = [2, 3, 5].map(|user| states_of_one_user(&apis[user as usize / 3], user, fork()));
    let (follows, _) = tokio::join!(join_all(users), join_all(states));
    for user in [2, 3, 5] {
        set(&apis[0], user, UserState::Suspended).await;
        set(&apis[1], user, UserState::Active).await;
        done(&apis[0], user).await;
    }
    place.settled().await;
    let expected: BTreeSet<(i64, i64)> = follows.into_iter().flatten().collect();
    let edges = assert_mirrored(&apis[0], 1..=USERS).await;
    // Who is not active keeps whom they follow; a watch knows what is aside.
    for user in 1..=USERS {
        apis[0].follow(user, LAST).await;
    }
    watching.until_all_follow(1..=USERS, LAST).await;
    let rows: BTreeSet<_> = watching.graph().into_iter().filter(|row| row.1 != LAST).collect();
    assert_eq!(rows, edges);
    assert_eq!(edges.into_iter().map(|edge| (edge.0, edge.1)).collect::<BTreeSet<_>>(), expected);
}

on_each_backend!(no_edge_is_lost_or_made_up);
