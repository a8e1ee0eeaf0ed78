//! Watches while many write.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, future::join_all, stream};
use nix::sys::signal::Signal;
use rand::{Rng, rngs::StdRng, seq::IndexedRandom};

use crate::support::{Api, Event, Place, Process, Row, Watching, assert_mirrored, eventually, micros, row_at, seeded};

const USERS: std::ops::RangeInclusive<i64> = 1..=12;
/// Whom all follow at the end: then all changes before are told.
const MARK: i64 = 1_000;
const WRITES: usize = 600;

/// What calls said that they did.
#[derive(Default)]
struct Done {
    begun: BTreeSet<Row>,
    ended: BTreeMap<(i64, i64), usize>,
}

#[derive(Clone, Copy)]
enum Write {
    Follow,
    Unfollow,
    BatchFollow,
    Import,
}

/// Random writes, many at a time, to any of the servers.
async fn storm(apis: &[Api], random: &mut StdRng, begin: i64) -> Done {
    let plans: Vec<_> = (0..WRITES)
        .map(|number| {
            let follower = random.random_range(USERS);
            let followee = (follower + random.random_range(1..*USERS.end()) - 1) % USERS.end() + 1;
            let kinds =
                [Write::Follow, Write::Follow, Write::Unfollow, Write::Unfollow, Write::BatchFollow, Write::Import];
            (number as i64, follower, followee, *kinds.choose(random).unwrap())
        })
        .collect();
    let writes = plans.into_iter().map(async |(number, follower, followee, write)| {
        let api = &apis[number as usize % apis.len()];
        let (mut begun, mut ended) = (Vec::new(), None);
        match write {
            Write::Follow => {
                let answer = api.follow(follower, followee).await;
                begun.extend(answer.created.then(|| (follower, followee, micros(answer.followed_at))));
            }
            Write::Unfollow => ended = api.unfollow(follower, followee).await.removed.then_some((follower, followee)),
            Write::BatchFollow => {
                let followees: Vec<i64> = USERS.filter(|&user| user != follower && user % 3 == followee % 3).collect();
                let results = api.batch_follow(follower, &followees).await;
                let results = results.into_iter().filter(|result| result.created);
                begun.extend(results.map(|result| (follower, result.followee_id, micros(result.followed_at))));
            }
            Write::Import => {
                let at = begin + number;
                let created = api.import(vec![row_at(follower, followee, at)]).await.created;
                begun.extend((created == 1).then_some((follower, followee, at)));
            }
        }
        (begun, ended)
    });
    let outcomes: Vec<_> = stream::iter(writes).buffer_unordered(24).collect().await;
    let mut done = Done::default();
    for (begun, ended) in outcomes {
        for row in begun {
            assert!(done.begun.insert(row), "made twice: {row:?}");
        }
        if let Some(edge) = ended {
            *done.ended.entry(edge).or_default() += 1;
        }
    }
    done
}

/// What a watch told of, but for the marks.
fn told(watching: &Watching) -> Done {
    let mut done = Done::default();
    for (event, _) in &watching.events {
        match event {
            Event::Followed((_, MARK, _), _) => {}
            Event::Followed(row, _) => assert!(done.begun.insert(*row), "told twice: {row:?}"),
            Event::Unfollowed((follower, followee, _)) => *done.ended.entry((*follower, *followee)).or_default() += 1,
            other @ (Event::Deleted(_)
            | Event::PutAside(_)
            | Event::Restored(_)
            | Event::StateSet(..)
            | Event::Blocked(_)
            | Event::Unblocked(_)
            | Event::Muted(..)
            | Event::Unmuted(_)) => panic!("nothing but follows: {other:?}"),
        }
    }
    done
}

async fn mark(api: &Api) {
    join_all(USERS.map(|user| api.follow(user, MARK))).await;
}

/// The changes of each user, in their order.
fn by_user(events: &[(Event, i64)]) -> BTreeMap<i64, Vec<(Event, i64)>> {
    let mut of_users: BTreeMap<i64, Vec<_>> = BTreeMap::new();
    for event in events {
        of_users.entry(event.0.user()).or_default().push(event.clone());
    }
    of_users
}

async fn field_r12_each_change_of_concurrent_writes_is_told_once_and_in_order(place: Place) {
    let mut random = seeded();
    let (first, second) = (place.serve(&[]).await, place.serve(&[]).await);
    let apis = [first.connect().await, second.connect().await];
    let (mut here, mut there) = (first.watch("").await, second.watch("").await);
    let writing = async {
        let done = storm(&apis, &mut random, 1_600_000_000_000_000).await;
        mark(&first).await;
        done
    };
    let (done, (), ()) = tokio::join!(writing, here.until_all_follow(USERS, MARK), there.until_all_follow(USERS, MARK));
    let graph = assert_mirrored(&first, USERS.chain([MARK])).await;
    for watching in [&here, &there] {
        assert_eq!(watching.graph(), graph);
        let told = told(watching);
        assert_eq!(told.begun, done.begun);
        assert_eq!(told.ended, done.ended);
    }

    // From each token, whichever server gave it, the rest comes and nothing else.
    let step = here.tokens.len().div_ceil(12);
    for (token, before, _) in here.tokens.iter().step_by(step) {
        let mut rest = second.watch(token).await;
        rest.until_events(here.events.len() - before).await;
        assert_eq!(by_user(&rest.events), by_user(&here.events[*before..]));
    }
    let mut nothing_more = second.watch(&here.last_token()).await;
    nothing_more.next().await.unwrap();
    assert_eq!(nothing_more.events, []);
}

/// A server is killed under its watch, which another one goes on with.
async fn a_watch_goes_on_at_another_server(place: Place) {
    let mut random = seeded();
    let mut first = Process::serve(&place, &[]).await;
    let second = place.serve(&[]).await;
    let apis = [second.connect().await, second.connect().await];
    let mut before = first.api.watch("").await;
    let writing = async {
        let done = storm(&apis, &mut random, 1_600_000_000_000_000).await;
        mark(&second).await;
        done
    };
    let watching = async {
        before.until_events(100).await;
        first.signal(Signal::SIGKILL);
        before.end().await;
        let mut after = second.watch(&before.last_token()).await;
        // Of the users whose mark came before the end nothing else is to come.
        let marked =
            |(event, _): &(Event, i64)| matches!(event, Event::Followed((_, MARK, _), _)).then(|| event.user());
        let marked: BTreeSet<i64> = before.events.iter().filter_map(marked).collect();
        after.until_all_follow(USERS.filter(|user| !marked.contains(user)), MARK).await;
        before.events.append(&mut after.events);
    };
    let (done, ()) = tokio::join!(writing, watching);
    let told = told(&before);
    assert_eq!(told.begun, done.begun);
    assert_eq!(told.ended, done.ended);
    assert_eq!(before.graph(), assert_mirrored(&second, USERS.chain([MARK])).await);
    eventually("the server is gone", async || Some(first.ended().await)).await;
}

on_each_backend!(
    field_r12_each_change_of_concurrent_writes_is_told_once_and_in_order,
    a_watch_goes_on_at_another_server,
);
