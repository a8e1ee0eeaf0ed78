//! Reads of the graph that are compared with the file.

use std::time::Instant;

use futures::{StreamExt, stream};
use keyspace::List;
use prost_types::Duration;
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use socialgraph::v1::{CommonFollowersRequest, KnownFollowersRequest, ListMutualsRequest};

use super::{
    file::{Graph, both},
    served::Served,
};
use crate::support::{caller::Caller, graph};

const SIDE_BY_SIDE: usize = 32;
/// Users of whom both lists are read.
const LISTED: usize = 1_000;
/// Pairs that are searched, half of them among the largest accounts.
const PAIRS: usize = 100;
const LARGEST: usize = 200;
/// So few that searches have pages.
const SEARCH_PAGE: i32 = 100;
const PAGE: i32 = 500;
/// Enough for any machine.
const AMPLE: Option<Duration> = Some(Duration { seconds: 10, nanos: 0 });

/// Both lists of random users, and their counts.
pub(super) async fn lists_and_counts(Served { graph, caller, .. }: &Served) {
    let begun = Instant::now();
    let users: Vec<_> = graph.users.choose_multiple(&mut StdRng::seed_from_u64(graph.seed), LISTED).copied().collect();
    let lists = users.iter().flat_map(|&user| {
        [(List::Following, user, graph.following(user)), (List::Followers, user, graph.followers(user))]
    });
    let entries: Vec<_> = stream::iter(lists)
        .map(async |(list, user, expected)| {
            let listed = graph::list(caller, list, user, PAGE).await;
            assert_ids(listed.into_iter().map(|(id, _)| id).collect(), expected, &format!("{list:?} of {user}"));
            expected.len()
        })
        .buffer_unordered(SIDE_BY_SIDE)
        .collect()
        .await;
    for counts in graph::counts(caller, &users).await {
        let user = counts.user_id;
        let expected = [graph.following(user).len() as i64, graph.followers(user).len() as i64];
        assert_eq!([counts.following, counts.followers], expected, "counts of {user}");
    }
    println!(
        "a: {} of {} users: {} lists of {} entries in all, and {} counts, are those of the file; {:.1?}",
        users.len(),
        graph.users.len(),
        entries.len(),
        entries.iter().sum::<usize>(),
        2 * users.len(),
        begun.elapsed()
    );
}

/// ListMutuals of all users.
pub(super) async fn mutuals(Served { graph, caller, .. }: &Served) {
    let begun = Instant::now();
    let found: Vec<_> = stream::iter(&graph.users)
        .map(async |&user_id| {
            let mutuals = graph::pages(async |page_token| {
                let request = ListMutualsRequest { user_id, page_size: PAGE, page_token, ..Default::default() };
                let answer = caller.call(request, |mut c, r| async move { c.list_mutuals(r).await }).await.message;
                (answer.users, answer.next_page_token)
            });
            let mutuals: Vec<_> = mutuals.await.into_iter().map(|mutual| mutual.user_id).collect();
            let number = mutuals.len();
            assert_ids(mutuals, &graph.mutuals(user_id), &format!("mutuals of {user_id}"));
            number
        })
        .buffer_unordered(SIDE_BY_SIDE)
        .collect()
        .await;
    // Each pair is listed by both.
    let (listed, pairs) = (found.iter().sum::<usize>(), graph.mutual_pairs());
    assert_eq!(listed, 2 * pairs);
    println!(
        "b: ListMutuals of {} users lists {listed} users: {pairs} pairs that follow each other, as in the file; {:.1?}",
        found.len(),
        begun.elapsed()
    );
}

/// KnownFollowers and CommonFollowers of random pairs. One after the other, as a server does only some searches at a time.
pub(super) async fn searches(Served { graph, caller, .. }: &Served) {
    let begun = Instant::now();
    let pairs = pairs(graph);
    let (mut known, mut common, mut most) = (0, 0, 0);
    for &(one, other) in &pairs {
        let expected = both(graph.following(one), graph.followers(other));
        assert_ids(
            known_followers(caller, one, other, expected.len()).await,
            &expected,
            &format!("known {one} {other}"),
        );
        known += expected.len();
        most = most.max(expected.len());
        let expected = both(graph.followers(one), graph.followers(other));
        let found = common_followers(caller, one, other, expected.len()).await;
        assert_ids(found, &expected, &format!("common {one} {other}"));
        common += expected.len();
        most = most.max(expected.len());
    }
    assert!(known > 0 && common > 0, "pairs that have something");
    println!(
        "c: {} pairs: {known} known and {common} common followers, at most {most} of a pair, and all totals, are as brute force says; {:.1?}",
        pairs.len(),
        begun.elapsed()
    );
}

/// Half of them among the largest accounts.
fn pairs(graph: &Graph) -> Vec<(i64, i64)> {
    let mut random = StdRng::seed_from_u64(graph.seed);
    let largest = graph.largest(LARGEST);
    let mut pair = |users: &[i64]| [(); 2].map(|()| users[random.random_range(0..users.len())]).into();
    (0..PAIRS).map(|number| pair(if number % 2 == 0 { &largest } else { &graph.users })).collect()
}

/// All pages; each must be complete and tell the total.
async fn known_followers(caller: &Caller, viewer_id: i64, user_id: i64, total: usize) -> Vec<i64> {
    let users = graph::pages(async |page_token| {
        let request = KnownFollowersRequest {
            viewer_id,
            user_id,
            page_size: SEARCH_PAGE,
            page_token,
            time_budget: AMPLE,
            ..Default::default()
        };
        let answer = caller.call(request, |mut c, r| async move { c.known_followers(r).await }).await.message;
        assert_eq!((answer.complete, answer.total_count), (true, total as i64), "known {viewer_id} {user_id}");
        (answer.users, answer.next_page_token)
    });
    users.await.into_iter().map(|user| user.user_id).collect()
}

/// The same of common followers.
async fn common_followers(caller: &Caller, user_id: i64, other_id: i64, total: usize) -> Vec<i64> {
    let users = graph::pages(async |page_token| {
        let request = CommonFollowersRequest {
            user_id,
            other_id,
            page_size: SEARCH_PAGE,
            page_token,
            time_budget: AMPLE,
            ..Default::default()
        };
        let answer = caller.call(request, |mut c, r| async move { c.common_followers(r).await }).await.message;
        assert_eq!((answer.complete, answer.total_count), (true, total as i64), "common {user_id} {other_id}");
        (answer.users, answer.next_page_token)
    });
    users.await.into_iter().map(|user| user.user_id).collect()
}

/// A list has exactly the ids expected, which are sorted, each once.
fn assert_ids(mut listed: Vec<i64>, expected: &[i64], what: &str) {
    listed.sort_unstable();
    assert!(listed == expected, "{what}: {} listed, {} expected", listed.len(), expected.len());
}
