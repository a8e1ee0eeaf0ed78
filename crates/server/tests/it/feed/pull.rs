//! Authors with many followers, whose posts readers pull.

use socialgraph::v1::{Delivery, GetDeliveryRequest};

use super::support::{
    BEGIN, MILLISECOND, becomes, expire_inbox, feed, inbox_keys, post, post_at, publish, publish_all,
};
use crate::{
    feeds::Entry,
    support::{Api, Place, eventually},
};

const STAR: i64 = 1;
const ANOTHER: i64 = 2;
/// As many follow the star as turn it, and one more.
const FANS: std::ops::RangeInclusive<i64> = 50..=60;
const PULL: [(&str, &str); 2] = [("feed.pull-at", "10"), ("feed.inbox-cap", "20")];

/// Everybody follows the star and another author, and has an inbox.
async fn gather(api: &Api) {
    for fan in FANS {
        api.follow(fan, STAR).await;
        api.follow(fan, ANOTHER).await;
        assert_eq!(feed(api, fan).await, []);
    }
}

/// Publishes until posts reach the followers in that way; gives all places, newest first.
async fn publish_until(api: &Api, wanted: Delivery) -> Vec<Entry> {
    let mut entries = Vec::new();
    eventually("the author turns", async || {
        let answer = api.publish_with(post(STAR)).await;
        entries.insert(0, Entry::of_post(answer.post.as_ref().unwrap()));
        (answer.delivery() == wanted).then_some(())
    })
    .await;
    entries
}

/// What a feed knows of the star, beside the posts: nothing, or since when the reader follows, with a `p` where posts are pulled.
async fn mark(place: &Place, reader: i64) -> String {
    place.redis.command(&["HGET", &inbox_keys(place, reader)[1], &format!("m:{STAR}")]).await.trim().to_owned()
}

async fn posts_of_a_star_are_pulled_and_none_is_missed_or_repeated(place: Place) {
    let api = place.serve(&PULL).await;
    gather(&api).await;
    let mut expected = publish_until(&api, Delivery::Pull).await;
    for fan in FANS {
        assert!(mark(&place, fan).await.starts_with('p'), "{fan}");
    }
    // In between those of somebody else, which are pushed; more of each than the inbox holds.
    for n in 0..40 {
        let author = if n % 2 == 0 { STAR } else { ANOTHER };
        expected.insert(0, publish(&api, post(author)).await);
    }
    becomes(&api, *FANS.start(), &expected).await;
    for fan in FANS {
        assert_eq!(feed(&api, fan).await, expected, "{fan}");
    }
    let late = publish(&api, post_at(STAR, BEGIN)).await;
    expected.push(late);
    assert_eq!(feed(&api, *FANS.end()).await, expected, "at once");
    let request = GetDeliveryRequest { author_id: STAR, post_id: expected[1].post, consistency: None };
    let delivery = api.social().get_delivery(request).await.unwrap().into_inner();
    assert_eq!((delivery.delivery(), delivery.total, delivery.done, delivery.complete), (Delivery::Pull, 11, 11, true));
}

async fn readers_come_and_go_while_posts_are_pulled(place: Place) {
    let api = place.serve(&PULL).await;
    gather(&api).await;
    let mut of_star = publish_until(&api, Delivery::Pull).await;
    let [leaves, new, idle, muting] = [50, 70, 51, 52];
    api.unfollow(leaves, STAR).await;
    assert_eq!(feed(&api, leaves).await, []);
    assert_eq!(feed(&api, new).await, []);
    api.follow(new, STAR).await;
    of_star.insert(0, publish(&api, post(STAR)).await);
    assert_eq!(feed(&api, new).await, of_star, "whoever begins to follow");
    assert!(mark(&place, new).await.starts_with('p'));
    expire_inbox(&place, idle).await;
    assert_eq!(feed(&api, idle).await, of_star, "whose inbox is built anew");
    assert!(mark(&place, idle).await.starts_with('p'));
    api.mute(muting, STAR, None).await;
    assert_eq!(feed(&api, muting).await, []);
    of_star.insert(0, publish(&api, post(STAR)).await);
    api.follow(leaves, STAR).await;
    assert_eq!(feed(&api, leaves).await, of_star, "who follows again");
}

async fn with_fewer_followers_posts_are_pushed_again(place: Place) {
    let api = place.serve(&PULL).await;
    gather(&api).await;
    let mut expected = publish_until(&api, Delivery::Pull).await;
    // Nine are not few enough, seven are.
    for fan in 50..=51 {
        api.unfollow(fan, STAR).await;
    }
    expected.insert(0, publish(&api, post(STAR)).await);
    let [still_pulled] = publish_until(&api, Delivery::Pull).await[..] else { panic!("turned back") };
    expected.insert(0, still_pulled);
    for fan in 52..=53 {
        api.unfollow(fan, STAR).await;
    }
    let pushed = publish_until(&api, Delivery::Push).await;
    expected.splice(0..0, pushed);
    let key = place.keys().delivery(model::UserId::new(STAR).unwrap()).to_string();
    let told = async || (place.redis.command(&["EXISTS", &key]).await.trim() == "0").then_some(());
    eventually("all are told", told).await;
    expected.splice(0..0, publish_all(&api, (0..30).map(|n| post_at(STAR, BEGIN + n * MILLISECOND))).await);
    expected.sort_unstable_by(|one, other| other.cmp(one));
    for fan in [54, 60] {
        becomes(&api, fan, &expected).await;
        assert_eq!(mark(&place, fan).await, "", "merged");
    }
    assert_eq!(feed(&api, 50).await, []);
}

/// The second server is asked while the first one tells the readers, and has other settings.
async fn a_turn_is_seen_by_all_servers(place: Place) {
    let (api, other) = (place.serve(&PULL).await, place.serve(&[("feed.pull-at", "0")]).await);
    gather(&api).await;
    let mut expected = publish_until(&api, Delivery::Pull).await;
    // Of a server that pushes everything, the next post turns the author back.
    let answer = other.publish_with(post(STAR)).await;
    assert_eq!(answer.delivery(), Delivery::Push);
    expected.insert(0, Entry::of_post(answer.post.as_ref().unwrap()));
    for fan in FANS {
        becomes(&other, fan, &expected).await;
    }
}

on_each_backend!(
    posts_of_a_star_are_pulled_and_none_is_missed_or_repeated,
    readers_come_and_go_while_posts_are_pulled,
    with_fewer_followers_posts_are_pushed_again,
    a_turn_is_seen_by_all_servers,
);
