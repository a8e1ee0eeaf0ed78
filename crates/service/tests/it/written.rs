//! What a read is told that must see a write.

use model::{Micros, Version};
use socialgraph_service::Freshness;
use store::ops::{DueChange, Follow, FollowRow, FollowerRows, Written, WrittenSoFar};

use crate::support::{World, edge, on_each_backend, user};

fn versions(pending: &[DueChange]) -> Vec<Version> {
    pending.iter().map(|change| change.version).collect()
}

async fn written(world: &World, version: Version, after: &str) -> WrittenSoFar {
    let partition = world.store.keys().partition(user(1));
    world.run(Written { partition, version, after: after.to_owned() }).await
}

#[test]
fn what_is_pending_up_to_a_version_is_told_in_parts() {
    on_each_backend(async |world| {
        assert_eq!(written(world, Version(1), "").await.clock, Version(0));
        let mut committed = Vec::new();
        for followee in 2..72 {
            committed.push(world.commit_new(edge(1, followee), None).await.version());
        }
        let last = committed[69];
        let first_part = written(world, last, "").await;
        assert_eq!((first_part.clock, versions(&first_part.pending)), (last, committed[..64].to_vec()));
        let rest = written(world, last, &first_part.next).await;
        assert_eq!((versions(&rest.pending), rest.next.as_str()), (committed[64..].to_vec(), ""));
        let middle = written(world, committed[9], "").await;
        assert_eq!((middle.clock, versions(&middle.pending)), (last, committed[..10].to_vec()));
        assert_eq!(written(world, Version(committed[0].0 - 1), "").await.pending, []);
    });
}

#[test]
fn an_entry_of_many_rows_counts_for_each_of_them() {
    on_each_backend(async |world| {
        let partition = world.store.keys().partition(user(1));
        let rows = (2..7).map(|followee| FollowRow { followee: user(followee), followed_at: None }).collect();
        let commit = Follow {
            partition,
            followers: vec![FollowerRows { follower: user(1), rows }],
            source: String::new(),
            max_following: 10_000,
            per_hour: 0,
            seen: Version(0),
        };
        let last = world.run(commit).await.version;
        let first = Version(last.0 - 4);
        for row in 0..5 {
            let told = written(world, Version(first.0 + row), "").await;
            assert_eq!((told.clock, versions(&told.pending)), (last, vec![last]), "{row}");
            assert_eq!(told.pending[0].changes.len(), 5);
        }
        assert_eq!(written(world, Version(first.0 - 1), "").await.pending, []);
    });
}

#[test]
fn posts_are_left_out_however_many_wait() {
    on_each_backend(async |world| {
        let keys = world.store.keys();
        let partition = keys.partition(user(1));
        let (log, pending) = (keys.log(partition), keys.pending(partition));
        for post in 1_000..1_100 {
            let (id, post) = (format!("{post}-0"), post.to_string());
            world.redis("XADD", &log, &[&id, "p", &format!("1 {post} {post}")]).await;
            world.redis("ZADD", &pending, &[&post, &post]).await;
        }
        let followed = world.commit_new(edge(1, 2), None).await.version();
        let first_part = written(world, followed, "").await;
        assert_eq!(first_part.pending, []);
        let rest = written(world, followed, &first_part.next).await;
        assert_eq!((versions(&rest.pending), rest.next.as_str()), (vec![followed], ""));
    });
}

/// However many changes are pending before a write, its token brings all of them to light.
#[test]
fn a_token_finishes_all_that_is_pending_up_to_its_write() {
    on_each_backend(async |world| {
        let graph = world.graph_without_relay().await;
        let mut last = None;
        for followee in 2..152 {
            last = Some(world.commit_new(edge(1, followee), None).await.version());
        }
        let partition = world.store.keys().partition(user(1));
        let format = world.redis("HGET", &world.store.keys().format(), &["token_key"]).await;
        let key = model::TokenKey::new(u128::from_str_radix(format.trim(), 16).unwrap().to_be_bytes());
        let token = key.seal_consistency(model::WriteName {
            partition: partition.get(),
            version: last.unwrap(),
            is_applied: false,
        });
        let freshness = Freshness::AtLeast(graph.write_of(&token).unwrap());
        let deadline = model::Deadline::after(crate::support::LIMIT);
        let followees: Vec<_> = (2..152).map(user).collect();
        let read = || graph.counts(&followees, deadline);
        let counts = graph.fresh(freshness, deadline, read).await.unwrap();
        assert!(counts.iter().all(|counts| counts.followers == 1));
        assert_eq!(world.pending(user(1)).await, 0);
        assert!(world.both_ends(edge(1, 151)).await > Some(Micros::MIN));
    });
}
