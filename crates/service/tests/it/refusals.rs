//! Follows that a followee's partition refuses: they are withdrawn, whoever learns of it, and leave nothing behind.

use futures::stream;
use model::{Deadline, UserId};
use socialgraph_service::{ImportRow, RowFault, RowProblem, ServiceError};
use store::ops::{Apply, FollowerChange, Refusal, Refused, RowOutcome, Withdraw};

use crate::support::{LIMIT, World, edge, micros, on_each_backend, user};

async fn make_unavailable(world: &World, user: UserId) {
    world.redis("HSET", &world.store.keys().state(user), &["state", "deleted"]).await;
}

async fn make_active(world: &World, user: UserId) {
    world.redis("DEL", &world.store.keys().state(user), &[]).await;
}

/// No list shows anything, and nothing is remembered that would keep the follow from coming again.
async fn check_nothing_of(world: &World, edge: model::Edge) {
    world.wait_until(async || world.pending(edge.follower()).await == 0).await;
    assert_eq!(world.both_ends(edge).await, None);
    let left = world.store.keys().left(edge.follower());
    assert_eq!(world.redis("EXISTS", &left, &[]).await, "0");
}

#[test]
fn an_addition_is_refused_and_a_removal_is_not() {
    on_each_backend(async |world| {
        let (old, new) = (edge(1, 3), edge(2, 3));
        let before = world.commit_new(old, None).await;
        world.apply(old, before).await;
        make_unavailable(world, user(3)).await;
        let change = world.commit_new(new, None).await;
        let FollowerChange::Present { followed_at, .. } = change else { panic!("{change:?}") };
        let removal = world.commit_unfollow(old).await;
        let applied = world.run(Apply::new(vec![(new, change), (old, removal)])).await;
        assert_eq!(applied.refused, [Refused { edge: new, followed_at, refusal: Refusal::Unavailable }]);
        assert!(applied.routed.is_empty());
        assert_eq!(world.ends(new).await, [Some(followed_at), None]);
        assert_eq!(world.both_ends(old).await, None);
    });
}

#[test]
fn only_the_edge_of_that_score_is_withdrawn() {
    on_each_backend(async |world| {
        let partition = world.store.keys().partition(user(1));
        let edges: Vec<_> = (2..202).map(|followee| edge(1, followee)).collect();
        let mut scored = Vec::new();
        for &edge in &edges {
            let FollowerChange::Present { followed_at, .. } = world.commit_new(edge, None).await else { panic!() };
            scored.push((edge, followed_at));
        }
        // Of the head and of a segment, and what is not there.
        let other = (edges[7], micros(7));
        let asked = vec![scored[0], other, scored[199], (edge(1, 1_000), micros(5))];
        let withdraw = Withdraw::new(partition, asked.clone(), model::Version(0));
        let first = world.run(withdraw.clone()).await;
        let there: Vec<_> = first.rows.iter().map(|row| (row.edge, row.version.is_some())).collect();
        let wanted: Vec<_> = asked.iter().zip([true, false, true, false]).map(|(&(edge, _), is)| (edge, is)).collect();
        assert_eq!(there, wanted);
        assert_eq!(first.rows[2].version.map(|version| version.0), Some(first.version.0));
        assert!(first.rows[0].version < first.rows[2].version);
        let again = world.run(withdraw).await;
        assert!(again.rows.iter().all(|row| row.version.is_none()));
        assert_eq!(again.version, first.version);
        assert_eq!(world.list(keyspace::List::Following, user(1)).await.len(), 198);
        assert_eq!(world.redis("EXISTS", &world.store.keys().left(user(1)), &[]).await, "0");
    });
}

#[test]
fn a_follow_of_or_by_somebody_who_is_not_active_fails() {
    on_each_backend(async |world| {
        let graph = world.graph_without_relay().await;
        make_unavailable(world, user(3)).await;
        for edge in [edge(1, 3), edge(3, 1)] {
            for _ in 0..2 {
                let refused = graph.follow(edge, String::new(), Deadline::after(LIMIT)).await;
                assert_eq!(refused, Err(ServiceError::UserUnavailable));
            }
            check_nothing_of(world, edge).await;
        }
        // Nothing is left that would keep them from following later.
        make_active(world, user(3)).await;
        for edge in [edge(1, 3), edge(3, 1)] {
            assert!(graph.follow(edge, String::new(), Deadline::after(LIMIT)).await.unwrap().created);
            assert!(world.both_ends(edge).await.is_some());
        }
    });
}

#[test]
fn a_follow_of_before_is_withdrawn_when_it_is_repeated() {
    on_each_backend(async |world| {
        let graph = world.graph_without_relay().await;
        let edge = edge(1, 3);
        graph.follow(edge, String::new(), Deadline::after(LIMIT)).await.unwrap();
        make_unavailable(world, user(3)).await;
        let refused = graph.follow(edge, String::new(), Deadline::after(LIMIT)).await;
        assert_eq!(refused, Err(ServiceError::UserUnavailable));
        check_nothing_of(world, edge).await;
    });
}

#[test]
fn the_relay_withdraws_what_a_dead_process_left() {
    on_each_backend(async |world| {
        let edges = [edge(1, 3), edge(2, 3), edge(4, 5)];
        for edge in edges {
            world.commit_new(edge, None).await;
        }
        make_unavailable(world, user(3)).await;
        let _graph = world.graph().await;
        check_nothing_of(world, edges[0]).await;
        check_nothing_of(world, edges[1]).await;
        world.wait_until(async || world.pending(user(4)).await == 0).await;
        assert!(world.both_ends(edges[2]).await.is_some());
    });
}

#[test]
fn a_withdrawal_that_was_not_applied_is_finished() {
    on_each_backend(async |world| {
        let edge = edge(1, 3);
        let followed = world.commit_new(edge, None).await;
        world.apply(edge, followed).await;
        make_unavailable(world, user(3)).await;
        let FollowerChange::Present { followed_at, .. } = followed else { panic!("{followed:?}") };
        let partition = world.store.keys().partition(user(1));
        world.run(Withdraw::new(partition, vec![(edge, followed_at)], model::Version(0))).await;
        assert_eq!(world.ends(edge).await, [None, Some(followed_at)]);
        let _graph = world.graph().await;
        check_nothing_of(world, edge).await;
    });
}

#[test]
fn rows_of_an_import_are_refused_each_by_its_number() {
    on_each_backend(async |world| {
        let graph = world.graph_without_relay().await;
        make_unavailable(world, user(3)).await;
        let edges = [edge(1, 2), edge(1, 3), edge(3, 1), edge(2, 3), edge(4, 5)];
        let rows = edges.map(|edge| Ok(ImportRow { edge, followed_at: Some(micros(1_000_000)) }));
        let summary = graph.import(stream::iter(rows), None).await.unwrap();
        assert_eq!((summary.created, summary.unavailable), (2, 3));
        let faults = [2, 3, 4].map(|row| RowFault { row, problem: RowProblem::Unavailable });
        assert_eq!(summary.faults, faults);
        for edge in [edge(1, 3), edge(3, 1), edge(2, 3)] {
            check_nothing_of(world, edge).await;
        }
        let committed = world.commit(edge(1, 2), None).await;
        assert!(matches!(committed.outcomes[..], [RowOutcome::Existing { .. }]));
    });
}
