//! Lists of whom somebody blocks and mutes, how many these may be, and what the end of a user leaves of them.

use model::UserId;
use socialgraph::v1::{BlockRequest, MuteRequest, Relationship};
use tonic::Code;

use crate::support::{Place, Refusal, eventually, micros, now, refused};

const MOST: i64 = 5_000;

async fn lists_are_newest_first_in_pages(place: Place) {
    let api = place.serve(&[]).await;
    assert_eq!(api.blocks(1, 10).await, []);
    assert_eq!(api.mutes(1, 10).await, []);
    let later = now() + 3_600_000_000;
    let (mut blocks, mut mutes) = (Vec::new(), Vec::new());
    for other in 2..=25 {
        blocks.push((other, micros(api.block(1, other).await.blocked_at)));
        let until = (other % 2 == 0).then_some(later + other);
        mutes.push((other, micros(api.mute(1, other, until).await.muted_at), until));
    }
    // Of another user, who is in the way of nobody.
    api.block(2, 3).await;
    for ended in [2, 13, 25] {
        assert!(api.unblock(1, ended).await.removed);
        assert!(api.unmute(1, ended).await);
        blocks.retain(|block| block.0 != ended);
        mutes.retain(|mute| mute.0 != ended);
    }
    blocks.reverse();
    mutes.reverse();
    for page_size in [1, 7, 20, 21, 22, 500] {
        assert_eq!(api.blocks(1, page_size).await, blocks, "pages of {page_size}");
        assert_eq!(api.mutes(1, page_size).await, mutes, "pages of {page_size}");
    }
    assert_eq!(api.blocks(2, 10).await.len(), 1);
}

/// A mute keeps its beginning when its end changes.
async fn the_end_of_a_mute_may_change(place: Place) {
    let api = place.serve(&[]).await;
    let later = now() + 3_600_000_000;
    let first = api.mute(1, 2, None).await;
    assert!(first.created);
    for until in [Some(later), Some(later), Some(later - 60_000_000), None, None] {
        let again = api.mute(1, 2, until).await;
        assert_eq!((again.created, again.muted_at), (false, first.muted_at));
        let seen = api.relationship(1, 2).await;
        let muted_until = until.map(crate::support::stamp);
        let expected =
            Relationship { target_id: 2, muting: true, muted_at: first.muted_at, muted_until, ..Default::default() };
        assert_eq!(seen, expected);
        assert_eq!(api.mutes(1, 5).await, [(2, micros(first.muted_at), until)]);
    }
    // Nobody but the muter is told.
    assert_eq!(api.relationship(2, 1).await, Relationship { target_id: 1, ..Default::default() });
}

/// Pages of mutes go on past those that ended.
async fn mutes_that_ended_are_not_listed(place: Place) {
    let api = place.serve(&[]).await;
    let mut lasting = Vec::new();
    let end = now() + 2_000_000;
    for other in 2..=30 {
        let until = (other % 5 != 0).then_some(end);
        let at = micros(api.mute(1, other, until).await.muted_at);
        if until.is_none() {
            lasting.insert(0, (other, at, None));
        }
    }
    eventually("the mutes end", async || (api.mutes(1, 500).await == lasting).then_some(())).await;
    assert!(now() >= end);
    for page_size in [1, 2, 3, 500] {
        assert_eq!(api.mutes(1, page_size).await, lasting, "pages of {page_size}");
    }
}

/// As if the user had marked so many, each with a time of its own.
async fn fill(place: &Place, key: keyspace::Key, times: impl Fn(i64) -> i64) {
    let rows: Vec<String> =
        (1..=MOST).flat_map(|other| [times(other).to_string(), (1_000 + other).to_string()]).collect();
    let key = key.to_string();
    let command: Vec<&str> = ["ZADD", &key].into_iter().chain(rows.iter().map(String::as_str)).collect();
    assert_eq!(place.redis.command(&command).await, MOST.to_string());
}

async fn nobody_marks_more_than_the_limit(place: Place) {
    let api = place.serve(&[]).await;
    let (keys, user) = (place.keys(), UserId::new(1).unwrap());
    let at = |other| 1_600_000_000_000_000 + other;
    fill(&place, keys.blocking(user), at).await;
    fill(&place, keys.muting(user), at).await;
    let refuse = Refusal::new(Code::ResourceExhausted, "RELATION_LIMIT");
    let block = BlockRequest { user_id: 1, blocked_id: 2 };
    let mute = MuteRequest { user_id: 1, muted_id: 2, muted_until: None };
    refused(api.social().block(block).await, &refuse, block);
    refused(api.social().mute(mute).await, &refuse, mute);
    // What is there already is there, and the rest stays as it was.
    assert!(!api.block(1, 1_001).await.created && !api.mute(1, 1_001, None).await.created);
    assert_eq!(api.blocks(1, 500).await.len(), 5_000);
    assert_eq!(api.relationship(1, 2).await, Relationship { target_id: 2, ..Default::default() });
    assert!(api.unblock(1, 1_001).await.removed && api.unmute(1, 1_001).await);
    assert!(api.block(1, 2).await.created && api.mute(1, 2, None).await.created);
    refused(api.social().block(BlockRequest { blocked_id: 3, ..block }).await, &refuse, 3);
    refused(api.social().mute(MuteRequest { muted_id: 3, ..mute }).await, &refuse, 3);
    // Mutes that ended make room.
    fill(&place, keys.mute_ends(user), at).await;
    assert!(api.mute(1, 3, None).await.created);
    assert_eq!(api.mutes(1, 500).await.iter().map(|mute| mute.0).collect::<Vec<_>>(), [3, 2]);
}

/// A deleted user's marks are removed with them; others' marks that name them stay, and may be ended.
async fn of_deleted_users(place: Place) {
    let api = place.serve(&[]).await;
    let later = Some(now() + 3_600_000_000);
    for (user, other) in [(1, 2), (2, 1)] {
        api.block(user, other).await;
        api.mute(user, other, later).await;
    }
    api.delete(1).await;
    let refuse = Refusal::new(Code::FailedPrecondition, "USER_UNAVAILABLE");
    refused(api.social().block(BlockRequest { user_id: 1, blocked_id: 3 }).await, &refuse, "a block");
    let mute = MuteRequest { user_id: 1, muted_id: 3, muted_until: None };
    refused(api.social().mute(mute).await, &refuse, "a mute");
    eventually("the marks are removed", async || {
        (api.blocks(1, 10).await.is_empty() && api.mutes(1, 10).await.is_empty()).then_some(())
    })
    .await;
    assert_eq!((api.blocks(2, 10).await.len(), api.mutes(2, 10).await.len()), (1, 1));
    assert!(api.unblock(2, 1).await.removed && api.unmute(2, 1).await);
    // Whoever is gone may be blocked, for what that is worth.
    assert!(api.block(2, 1).await.created);
}

on_each_backend!(
    lists_are_newest_first_in_pages,
    the_end_of_a_mute_may_change,
    mutes_that_ended_are_not_listed,
    nobody_marks_more_than_the_limit,
    of_deleted_users,
);
