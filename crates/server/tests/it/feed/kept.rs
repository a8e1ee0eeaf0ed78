//! What a feed keeps of those who are not followed any more.

use model::UserId;
use socialgraph::v1::{
    BlockRequest, DeletePostRequest, DeleteUserRequest, FeedPolicy, MuteRequest, SetUserStateRequest, UnblockRequest,
    UnfollowRequest, UserState,
};

use super::support::{
    BEGIN, SECOND, becomes, expire_inbox, feed, inbox_len, newest_first, post, post_at, publish, publish_all,
};
use crate::{
    feeds::Entry,
    support::{Api, Place, eventually, row},
};

const ME: i64 = 500;
const FRIEND: i64 = 1;
const SMALL: [(&str, &str); 1] = [("feed.inbox-cap", "10")];

async fn unfollow(api: &Api, followee_id: i64, policy: FeedPolicy) -> bool {
    let request = UnfollowRequest { follower_id: ME, followee_id, feed_policy: policy.into() };
    api.social().unfollow(request).await.expect("unfollow").into_inner().removed
}

/// Some posts before the follow, some meanwhile, and some after its end. Gives those of meanwhile, newest first.
async fn follow_for_a_while(api: &Api, author: i64, posts: usize) -> Vec<Entry> {
    publish_all(api, (0..3).map(|n| post_at(author, BEGIN + n * SECOND))).await;
    api.follow(ME, author).await;
    let meanwhile = publish_all(api, (0..posts).map(|_| post(author))).await;
    assert!(unfollow(api, author, FeedPolicy::KeepDelivered).await);
    // As if it had been then.
    let late = meanwhile.last().expect("some").at;
    publish_all(api, [post(author), post_at(author, late)]).await;
    meanwhile
}

async fn what_was_published_while_followed_stays(place: Place) {
    let api = place.serve(&[]).await;
    assert_eq!(feed(&api, ME).await, []);
    let kept = follow_for_a_while(&api, FRIEND, 20).await;
    assert_eq!(feed(&api, ME).await, kept);
    // By an inbox that is made anew, as well.
    expire_inbox(&place, ME).await;
    assert_eq!(feed(&api, ME).await, kept);
    assert_eq!(feed(&api, ME).await, kept);
    assert_eq!(inbox_len(&place, ME).await, 21 + 1, "the one that was published late lies there, and is not shown");
}

/// More than the inbox holds, of several authors, and of one who is followed still.
async fn it_is_merged_below_the_inbox(place: Place) {
    let api = place.serve(&SMALL).await;
    api.follow(ME, 9).await;
    assert_eq!(feed(&api, ME).await, []);
    let mut expected = publish_all(&api, (0..5).map(|_| post(9))).await;
    for author in [FRIEND, 2, 3] {
        expected.extend(follow_for_a_while(&api, author, 15).await);
        expected.extend(publish_all(&api, (0..5).map(|_| post(9))).await);
    }
    let mut expected = newest_first(expected);
    becomes(&api, ME, &expected).await;
    expected.insert(0, publish(&api, post(9)).await);
    becomes(&api, ME, &expected).await;
    expire_inbox(&place, ME).await;
    becomes(&api, ME, &expected).await;
}

/// With nothing read between the follow and its end, the inbox has nothing of it yet.
async fn an_inbox_that_lacks_it_is_filled(place: Place) {
    let api = place.serve(&[]).await;
    let first = publish(&api, post(ME)).await;
    assert_eq!(feed(&api, ME).await, [first]);
    let mut expected = follow_for_a_while(&api, FRIEND, 7).await;
    expected.push(first);
    assert_eq!(feed(&api, ME).await, expected);
}

async fn of_a_pulled_author_it_stays(place: Place) {
    let api = place.serve(&[("feed.pull-at", "1")]).await;
    for fan in [ME, 501, 502] {
        api.follow(fan, FRIEND).await;
        assert_eq!(feed(&api, fan).await, []);
    }
    let mut expected = Vec::new();
    eventually("the author is pulled", async || {
        let answer = api.publish_with(post(FRIEND)).await;
        expected.insert(0, Entry::of_post(answer.post.as_ref().unwrap()));
        (answer.delivery() == socialgraph::v1::Delivery::Pull).then_some(())
    })
    .await;
    expected.insert(0, publish(&api, post(FRIEND)).await);
    assert!(unfollow(&api, FRIEND, FeedPolicy::KeepDelivered).await);
    publish(&api, post(FRIEND)).await;
    assert_eq!(feed(&api, ME).await, expected);
    assert_eq!(feed(&api, ME).await, expected);
}

async fn a_later_unfollow_with_another_policy_lets_it_go(place: Place) {
    let api = place.serve(&[]).await;
    for policy in [FeedPolicy::Unspecified, FeedPolicy::Hide, FeedPolicy::Purge] {
        assert_eq!(feed(&api, ME).await, []);
        let kept = follow_for_a_while(&api, FRIEND, 3).await;
        assert_eq!(feed(&api, ME).await, kept);
        assert!(!unfollow(&api, FRIEND, FeedPolicy::KeepDelivered).await, "nobody is followed");
        assert_eq!(feed(&api, ME).await, kept);
        assert!(!unfollow(&api, FRIEND, policy).await);
        assert_eq!(feed(&api, ME).await, []);
        let keys = place.keys();
        let me = UserId::new(ME).unwrap();
        let keys = [keys.kept(me), keys.kept_since(me)].map(|key| key.to_string());
        assert!(place.redis.has_none(&keys).await);
    }
}

/// From the first of the follows on: while followed again, all was in the feed.
async fn a_second_follow_adds_to_it(place: Place) {
    let api = place.serve(&[]).await;
    assert_eq!(feed(&api, ME).await, []);
    api.follow(ME, FRIEND).await;
    let mut expected = publish_all(&api, [post(FRIEND), post(FRIEND)]).await;
    assert!(unfollow(&api, FRIEND, FeedPolicy::KeepDelivered).await);
    let between = publish(&api, post(FRIEND)).await;
    assert_eq!(feed(&api, ME).await, expected);
    api.follow(ME, FRIEND).await;
    expected.insert(0, between);
    expected.insert(0, publish(&api, post(FRIEND)).await);
    assert_eq!(feed(&api, ME).await, expected);
    assert!(unfollow(&api, FRIEND, FeedPolicy::KeepDelivered).await);
    publish(&api, post(FRIEND)).await;
    assert_eq!(feed(&api, ME).await, expected);
}

async fn what_is_deleted_muted_blocked_or_suspended_is_hidden(place: Place) {
    let api = place.serve(&[]).await;
    assert_eq!(feed(&api, ME).await, []);
    let mut kept = follow_for_a_while(&api, FRIEND, 4).await;
    assert_eq!(feed(&api, ME).await, kept);
    let deleted = kept.remove(1);
    let request = DeletePostRequest { author_id: FRIEND, post_id: deleted.post };
    assert!(api.social().delete_post(request).await.unwrap().into_inner().deleted);
    assert_eq!(feed(&api, ME).await, kept);

    let until = MuteRequest { user_id: ME, muted_id: FRIEND, ..Default::default() };
    api.social().mute(until).await.unwrap();
    assert_eq!(feed(&api, ME).await, []);
    let unmute = socialgraph::v1::UnmuteRequest { user_id: ME, muted_id: FRIEND };
    api.social().unmute(unmute).await.unwrap();
    assert_eq!(feed(&api, ME).await, kept);

    for (user_id, blocked_id) in [(ME, FRIEND), (FRIEND, ME)] {
        api.social().block(BlockRequest { user_id, blocked_id }).await.unwrap();
        assert_eq!(feed(&api, ME).await, [], "{user_id} blocks");
        api.social().unblock(UnblockRequest { user_id, blocked_id }).await.unwrap();
        assert_eq!(feed(&api, ME).await, kept, "{user_id} does not any more");
    }

    for (state, expected) in [(UserState::Suspended, &[][..]), (UserState::Active, &kept)] {
        let request = SetUserStateRequest { user_id: FRIEND, state: state.into() };
        api.social().set_user_state(request).await.unwrap();
        assert_eq!(feed(&api, ME).await, expected, "{state:?}");
    }
    api.social().delete_user(DeleteUserRequest { user_id: FRIEND }).await.unwrap();
    assert_eq!(feed(&api, ME).await, []);
}

/// Of more authors than can be kept the first are let go.
async fn there_is_a_bound(place: Place) {
    let api = place.serve(&[]).await;
    let most = i64::from(model::limits::MAX_KEPT);
    let authors = 1_000..1_000 + most + 5;
    api.import(authors.clone().map(|author| row(ME, author)).collect()).await;
    let posts = publish_all(&api, [1_000, 1_004, 1_005, 1_004 + most].map(post)).await;
    becomes(&api, ME, &posts).await;
    for author in authors {
        assert!(unfollow(&api, author, FeedPolicy::KeepDelivered).await);
    }
    let kept: Vec<_> = posts.into_iter().filter(|entry| entry.author >= 1_005).collect();
    assert_eq!(kept.len(), 2);
    assert_eq!(feed(&api, ME).await, kept);
    expire_inbox(&place, ME).await;
    assert_eq!(feed(&api, ME).await, kept);
}

/// With PURGE nothing of the author is in the inbox once the call is answered, whatever it held.
async fn a_purge_is_done_when_the_call_is_answered(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(ME, FRIEND).await;
    assert_eq!(feed(&api, ME).await, []);
    let own = publish(&api, post(ME)).await;
    let mut all = publish_all(&api, (0..200).map(|_| post(FRIEND))).await;
    all.push(own);
    becomes(&api, ME, &all).await;
    assert_eq!(inbox_len_of_all(&place).await, 202);
    assert!(unfollow(&api, FRIEND, FeedPolicy::Purge).await);
    assert_eq!(inbox_len_of_all(&place).await, 2, "the own one and the sentinel");
    assert_eq!(feed(&api, ME).await, [own]);
}

/// Entries of all parts of the inbox.
async fn inbox_len_of_all(place: &Place) -> usize {
    let me = UserId::new(ME).unwrap();
    let mut len = inbox_len(place, ME).await;
    for number in 1..20 {
        let key = place.keys().inbox_segment(me, number).to_string();
        len += place.redis.command(&["ZCARD", &key]).await.parse::<usize>().unwrap();
    }
    len
}

on_each_backend!(
    what_was_published_while_followed_stays,
    it_is_merged_below_the_inbox,
    an_inbox_that_lacks_it_is_filled,
    of_a_pulled_author_it_stays,
    a_later_unfollow_with_another_policy_lets_it_go,
    a_second_follow_adds_to_it,
    what_is_deleted_muted_blocked_or_suspended_is_hidden,
    there_is_a_bound,
    a_purge_is_done_when_the_call_is_answered,
);
