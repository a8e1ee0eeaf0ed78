use socialgraph::{
    admin::v1::InspectUserRequest,
    v1::{BatchGetCountsRequest, BatchIsFollowingRequest, Consistency, IsFollowingRequest, consistency::Requirement},
};

use super::BAD_IDS;
use crate::support::{Place, Refusal, refused};

async fn of_is_following(place: Place) {
    let api = place.serve(&[]).await;
    let ask = async |follower_id, followee_id, requirement, expected: &[&str]| {
        let consistency = Some(Consistency { requirement });
        let request = IsFollowingRequest { follower_id, followee_id, consistency };
        refused(api.social().is_following(request.clone()).await, &Refusal::fields(expected), request);
    };
    for bad in BAD_IDS {
        ask(bad, 2, None, &["follower_id"]).await;
        ask(1, bad, None, &["followee_id"]).await;
        ask(bad, bad, None, &["follower_id", "followee_id"]).await;
        let all = ["follower_id", "followee_id", "consistency.fully_consistent"];
        ask(bad, bad, Some(Requirement::FullyConsistent(false)), &all).await;
        let all = ["follower_id", "followee_id", "consistency.minimize_latency"];
        ask(bad, bad, Some(Requirement::MinimizeLatency(false)), &all).await;
    }
}

async fn of_batch_is_following(place: Place) {
    let api = place.serve(&[]).await;
    let ask = async |follower_id, followee_ids: Vec<i64>, expected: &[&str]| {
        let request = BatchIsFollowingRequest { follower_id, followee_ids, consistency: None };
        let answer = api.social().batch_is_following(request.clone()).await;
        refused(answer, &Refusal::fields(expected), (follower_id, request.followee_ids.len()));
    };
    ask(1, vec![], &["followee_ids"]).await;
    ask(1, (1..=1_001).collect(), &["followee_ids"]).await;
    ask(1, vec![0; 1_001], &["followee_ids"]).await;
    for bad in BAD_IDS {
        ask(bad, vec![2], &["follower_id"]).await;
        ask(bad, vec![], &["follower_id", "followee_ids"]).await;
        ask(1, vec![2, 3, bad, 4], &["followee_ids[2]"]).await;
        ask(bad, vec![bad, 3, bad], &["follower_id", "followee_ids[0]", "followee_ids[2]"]).await;
    }
    ask(1, vec![-1; 1_000], &first_twenty("followee_ids")).await;
}

async fn of_batch_get_counts(place: Place) {
    let api = place.serve(&[]).await;
    let ask = async |user_ids: Vec<i64>, expected: &[&str]| {
        let ids = user_ids.len();
        let answer = api.social().batch_get_counts(BatchGetCountsRequest { user_ids, consistency: None }).await;
        refused(answer, &Refusal::fields(expected), ids);
    };
    ask(vec![], &["user_ids"]).await;
    ask((1..=201).collect(), &["user_ids"]).await;
    for bad in BAD_IDS {
        ask(vec![bad], &["user_ids[0]"]).await;
        ask([vec![1; 199], vec![bad]].concat(), &["user_ids[199]"]).await;
        ask(vec![bad, 1, bad], &["user_ids[0]", "user_ids[2]"]).await;
    }
    ask(vec![-1; 200], &first_twenty("user_ids")).await;
}

/// An error names at most twenty fields.
fn first_twenty(field: &str) -> Vec<&'static str> {
    (0..20).map(|index| &*format!("{field}[{index}]").leak()).collect()
}

async fn of_inspect_user(place: Place) {
    let api = place.serve(&[]).await;
    for user_id in BAD_IDS {
        let answer = api.admin().inspect_user(InspectUserRequest { user_id }).await;
        refused(answer, &Refusal::fields(&["user_id"]), user_id);
    }
}

on_each_backend!(of_is_following, of_batch_is_following, of_batch_get_counts, of_inspect_user);
