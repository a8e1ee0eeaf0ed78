//! The whole graph as a client sees it.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, stream};
use keyspace::List;
use rand::{Rng, SeedableRng, rngs::StdRng};
use socialgraph::v1::{BatchGetCountsRequest, ListFollowersRequest, ListFollowingRequest, ListedUser, UserCounts};

use super::caller::Caller;

const SIDE_BY_SIDE: usize = 32;
const PAGE: i32 = 500;

/// Follower and followee, and since when in microseconds.
pub(crate) type Edges = BTreeMap<(i64, i64), i64>;

/// Microseconds of a time.
pub(crate) fn micros(at: Option<prost_types::Timestamp>) -> i64 {
    let at = at.expect("a time");
    at.seconds * 1_000_000 + i64::from(at.nanos) / 1_000
}

/// Everyone on a user's list, page by page. Newest first is checked, and that nobody comes twice.
pub(crate) async fn list(caller: &Caller, list: List, user_id: i64, page_size: i32) -> Vec<(i64, i64)> {
    let users = pages(async |token| page(caller, list, user_id, page_size, token).await).await;
    let listed: Vec<_> = users.into_iter().map(|user| (micros(user.followed_at), user.user_id)).collect();
    assert!(listed.is_sorted_by(|a, b| a.0 >= b.0), "order of {list:?} of {user_id}: {listed:?}");
    let mut ids: Vec<_> = listed.iter().map(|(_, id)| *id).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "twice on {list:?} of {user_id}: {listed:?}");
    listed.into_iter().map(|(at, id)| (id, at)).collect()
}

/// All of what a call gives page by page, each with the token of the next.
pub(crate) async fn pages<U>(mut page: impl AsyncFnMut(String) -> (Vec<U>, String)) -> Vec<U> {
    let (mut all, mut token) = (Vec::new(), String::new());
    loop {
        let (users, next) = page(token).await;
        all.extend(users);
        if next.is_empty() {
            return all;
        }
        token = next;
    }
}

async fn page(
    caller: &Caller,
    list: List,
    user_id: i64,
    page_size: i32,
    page_token: String,
) -> (Vec<ListedUser>, String) {
    match list {
        List::Following => {
            let request = ListFollowingRequest { user_id, page_size, page_token, ..Default::default() };
            let answer = caller.call(request, |mut c, r| async move { c.list_following(r).await }).await.message;
            (answer.users, answer.next_page_token)
        }
        List::Followers => {
            let request = ListFollowersRequest { user_id, page_size, page_token, ..Default::default() };
            let answer = caller.call(request, |mut c, r| async move { c.list_followers(r).await }).await.message;
            (answer.users, answer.next_page_token)
        }
    }
}

/// The counts of users, in their order.
pub(crate) async fn counts(caller: &Caller, users: &[i64]) -> Vec<UserCounts> {
    let mut all = Vec::with_capacity(users.len());
    for some in users.chunks(200) {
        let request = BatchGetCountsRequest { user_ids: some.to_vec(), consistency: None };
        let answer = caller.call(request, |mut c, r| async move { c.batch_get_counts(r).await }).await.message;
        assert!(answer.counts.iter().map(|counts| counts.user_id).eq(some.iter().copied()));
        all.extend(answer.counts);
    }
    all
}

/// The edges among users, read from both sides, after a check that all agree: forward, backward and counts.
pub(crate) async fn consistent(caller: &Caller, users: &[i64]) -> Edges {
    let forward = side(caller, List::Following, users).await;
    let backward = side(caller, List::Followers, users).await;
    let (lost, extra) = difference(&forward, &backward);
    assert!(lost.is_empty() && extra.is_empty(), "only forward: {lost:?}; only backward: {extra:?}");
    let (mut following, mut followers) = (BTreeMap::new(), BTreeMap::new());
    for (follower, followee) in forward.keys() {
        *following.entry(*follower).or_insert(0) += 1;
        *followers.entry(*followee).or_insert(0) += 1;
    }
    for counts in counts(caller, users).await {
        let listed = [&following, &followers].map(|lists| lists.get(&counts.user_id).copied().unwrap_or(0));
        assert_eq!([counts.following, counts.followers], listed, "counts of {}", counts.user_id);
    }
    forward
}

/// What is in one set of edges and not, with the same time, in the other; both ways.
pub(crate) fn difference(left: &Edges, right: &Edges) -> (Edges, Edges) {
    let without = |these: &Edges, those: &Edges| {
        these.iter().filter(|(edge, at)| those.get(*edge) != Some(*at)).map(|(edge, at)| (*edge, *at)).collect()
    };
    (without(left, right), without(right, left))
}

async fn side(caller: &Caller, kind: List, users: &[i64]) -> Edges {
    let lists = stream::iter(users.iter().copied())
        .map(async |user| (user, list(caller, kind, user, PAGE).await))
        .buffer_unordered(SIDE_BY_SIDE);
    let lists: Vec<_> = lists.collect().await;
    let edges = lists.into_iter().flat_map(|(user, listed)| {
        listed.into_iter().map(move |(other, at)| match kind {
            List::Following => ((user, other), at),
            List::Followers => ((other, user), at),
        })
    });
    edges.collect()
}

/// Edges of which a few users, those of the lowest ids from 1, have most, on both sides.
pub(crate) fn power_law(seed: u64, users: i64, edges: usize) -> BTreeSet<(i64, i64)> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut made = BTreeSet::new();
    while made.len() < edges {
        let [follower, followee] = [2.0, 3.0].map(|power| {
            let uniform: f64 = random.random();
            1 + ((users - 1) as f64 * uniform.powf(power)) as i64
        });
        if follower != followee {
            made.insert((follower, followee));
        }
    }
    made
}
