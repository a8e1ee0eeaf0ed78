//! RecommendFollows and DismissRecommendation.

use std::collections::{BTreeMap, BTreeSet};

use prost_types::Duration;
use rand::{Rng, RngCore};
use socialgraph::v1::{
    DismissRecommendationRequest, RecommendFollowsRequest, RecommendFollowsResponse, Recommendation,
};

use crate::support::{Api, Place, Refusal, refused, row_at, seeded};

/// Enough for any machine.
const AMPLE: Duration = Duration { seconds: 10, nanos: 0 };
const PEOPLE: i64 = 120;

/// Whom everybody follows, and since when.
type Graph = BTreeMap<i64, BTreeMap<i64, i64>>;

async fn recommend(api: &Api, user_id: i64, limit: i32) -> RecommendFollowsResponse {
    let request = RecommendFollowsRequest { user_id, limit, time_budget: Some(AMPLE), consistency: None };
    api.social().recommend_follows(request).await.unwrap().into_inner()
}

async fn dismiss(api: &Api, user_id: i64, dismissed_id: i64) {
    api.social().dismiss_recommendation(DismissRecommendationRequest { user_id, dismissed_id }).await.unwrap();
}

/// The answer by brute force, of a graph without long lists.
fn expected(graph: &Graph, user: i64, dismissed: &BTreeSet<i64>) -> Vec<Recommendation> {
    let nobody = BTreeMap::new();
    let follows = |user: i64| graph.get(&user).unwrap_or(&nobody);
    let mut friends: Vec<_> = follows(user).iter().map(|(&friend, &at)| (at, friend.to_string(), friend)).collect();
    friends.sort();
    let mut found: BTreeMap<i64, Recommendation> = BTreeMap::new();
    for &(_, _, friend) in friends.iter().rev() {
        for &candidate in follows(friend).keys() {
            if candidate == user || follows(user).contains_key(&candidate) || dismissed.contains(&candidate) {
                continue;
            }
            let found = found.entry(candidate).or_insert(Recommendation { user_id: candidate, ..Default::default() });
            found.score += 1.0 / (1.0 + follows(friend).len() as f64).ln();
            found.mutual_count += 1;
            found.mutual_user_ids.push(friend);
            found.mutual_user_ids.truncate(3);
        }
    }
    let mut found: Vec<_> = found.into_values().collect();
    found.sort_by(|one, other| other.score.total_cmp(&one.score).then(one.user_id.cmp(&other.user_id)));
    found
}

async fn import(api: &Api, random: &mut impl RngCore) -> Graph {
    let mut graph = Graph::new();
    for follower in 1..=PEOPLE {
        for _ in 0..random.random_range(0..30) {
            let most = PEOPLE * random.random_range(1..=10) / 10;
            let followee = random.random_range(1..=most);
            if followee != follower {
                let at = 1_600_000_000_000_000 + random.random_range(0..50);
                graph.entry(follower).or_default().entry(followee).or_insert(at);
            }
        }
    }
    let rows = graph.iter().flat_map(|(&one, all)| all.iter().map(move |(&other, &at)| row_at(one, other, at)));
    let answer = api.import(rows.collect()).await;
    assert_eq!(answer.created as usize, graph.values().map(BTreeMap::len).sum::<usize>());
    graph
}

async fn friends_of_friends_by_weight(place: Place) {
    let api = place.serve(&[]).await;
    let graph = import(&api, &mut seeded()).await;
    for user in 1..=PEOPLE + 1 {
        let expected = expected(&graph, user, &BTreeSet::new());
        for limit in [0, 1, 100] {
            let answer = recommend(&api, user, limit).await;
            let most = if limit == 0 { 20 } else { limit as usize };
            assert!(answer.complete);
            assert_eq!(answer.recommendations, expected[..most.min(expected.len())], "user {user}, limit {limit}");
        }
    }
}

async fn whom_one_follows_or_dismissed_is_not_recommended(place: Place) {
    let api = place.serve(&[]).await;
    let mut graph = import(&api, &mut seeded()).await;
    let mut dismissed = BTreeSet::new();
    let user = *graph.iter().max_by_key(|(_, follows)| follows.len()).unwrap().0;
    for round in 0..6 {
        let best = recommend(&api, user, 1).await.recommendations[0].user_id;
        if round % 2 == 0 {
            let at = api.follow(user, best).await.followed_at.unwrap();
            graph.get_mut(&user).unwrap().insert(best, at.seconds * 1_000_000 + i64::from(at.nanos / 1_000));
        } else {
            dismiss(&api, user, best).await;
            dismiss(&api, user, best).await;
            dismissed.insert(best);
        }
        let expected = expected(&graph, user, &dismissed);
        assert_eq!(recommend(&api, user, 100).await.recommendations, expected[..expected.len().min(100)]);
    }
    // A dismissal is the user's own.
    let other = *graph.keys().find(|&&other| other != user).unwrap();
    let expected = expected(&graph, other, &BTreeSet::new());
    assert_eq!(recommend(&api, other, 100).await.recommendations, expected[..expected.len().min(100)]);
}

async fn the_last_thousand_dismissals_are_remembered(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(1, 2).await;
    let rows = (10..14).map(|id| row_at(2, id, 1_600_000_000_000_000)).collect();
    assert_eq!(api.import(rows).await.created, 4);
    for id in 10..1_011 {
        dismiss(&api, 1, id).await;
    }
    let left: Vec<_> = recommend(&api, 1, 100).await.recommendations.iter().map(|one| one.user_id).collect();
    assert_eq!(left, [10]);
}

/// Someone with more followees than are looked at, who follow more than is looked at.
async fn large_accounts_are_sampled(place: Place) {
    let api = place.serve(&[]).await;
    let at = |id: i64| 1_600_000_000_000_000 + id;
    let friends = (1_000..1_600).map(|friend| row_at(1, friend, at(friend)));
    let newest = (0..200).map(|id| row_at(1_599, 5_000 + id, at(id)));
    let shared = (1_000..1_600).map(|friend| row_at(friend, 2_000, at(1_000)));
    let rows: Vec<_> = friends.chain(newest).chain(shared).collect();
    assert_eq!(api.import(rows).await.created, 1_400);
    let answer = recommend(&api, 1, 100).await;
    assert!(answer.complete);
    let best = &answer.recommendations[0];
    assert_eq!((best.user_id, best.mutual_count), (2_000, 256));
    assert_eq!(best.mutual_user_ids, [1_599, 1_598, 1_597]);
    let others: BTreeSet<_> = answer.recommendations[1..].iter().map(|one| one.user_id).collect();
    assert_eq!(others, (5_101..5_200).collect());
}

async fn a_search_that_runs_out_of_time_says_so(place: Place) {
    let api = place.serve(&[]).await;
    import(&api, &mut seeded()).await;
    let user_id = (1..=PEOPLE).max_by_key(|user| user % 60).unwrap();
    api.follow(user_id, 1).await;
    api.follow(1, PEOPLE + 1).await;
    let time_budget = Some(Duration { seconds: 0, nanos: 1_000 });
    let request = RecommendFollowsRequest { user_id, limit: 10, time_budget, consistency: None };
    match api.social().recommend_follows(request).await {
        Ok(answer) => assert!(!answer.into_inner().complete),
        // It could not even begin.
        Err(status) => refused::<()>(Err(status), &Refusal::overloaded(), "a budget of 1 us"),
    }
}

async fn bad_input_is_named(place: Place) {
    let api = place.serve(&[]).await;
    let ask = async |user_id, limit, time_budget, expected: &[&str]| {
        let request = RecommendFollowsRequest { user_id, limit, time_budget, consistency: None };
        refused(api.social().recommend_follows(request.clone()).await, &Refusal::fields(expected), request);
    };
    ask(0, 0, None, &["user_id"]).await;
    ask(1, -1, None, &["limit"]).await;
    ask(1, 101, None, &["limit"]).await;
    ask(-1, 101, Some(Duration::default()), &["user_id", "limit", "time_budget"]).await;
    let dismiss = async |user_id, dismissed_id, expected: &Refusal| {
        let request = DismissRecommendationRequest { user_id, dismissed_id };
        refused(api.social().dismiss_recommendation(request).await, expected, request);
    };
    dismiss(0, -1, &Refusal::fields(&["user_id", "dismissed_id"])).await;
    dismiss(7, 7, &Refusal::self_reference()).await;
    assert!(place.snapshot().await.keys().all(|key| key.ends_with(":format")), "bad input wrote");
}

on_each_backend!(
    friends_of_friends_by_weight,
    whom_one_follows_or_dismissed_is_not_recommended,
    the_last_thousand_dismissals_are_remembered,
    large_accounts_are_sampled,
    a_search_that_runs_out_of_time_says_so,
    bad_input_is_named,
);
