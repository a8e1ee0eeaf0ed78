//! What follows and unfollows do to feeds: at once, and for good.

use std::collections::BTreeSet;

use futures::{StreamExt, future::join, stream};
use model::UserId;
use rand::{Rng, seq::IndexedRandom};
use socialgraph::v1::{FeedPolicy, UnfollowRequest};

use super::support::{
    BEGIN, SECOND, becomes, expire_inbox, feed, inbox_len, newest_first, post, post_at, publish, publish_all, scrolled,
};
use crate::{
    feeds::{By, Entry, How},
    support::{Api, Place, eventually, row, row_at, seeded},
};

const ME: i64 = 1_000;
const AUTHORS: [i64; 3] = [1, 2, 3];
const SMALL: [(&str, &str); 1] = [("feed.inbox-cap", "10")];

/// Posts of [`AUTHORS`] and of [`ME`] by turns, who follows nobody yet.
async fn posts(api: &Api, count: i64) -> Vec<Entry> {
    let authors = [1, 2, 3, ME];
    let requests = (0..count).map(|number| post_at(authors[number as usize % 4], BEGIN + number * SECOND));
    publish_all(api, requests).await
}

fn of(all: &[Entry], authors: &[i64]) -> Vec<Entry> {
    all.iter().copied().filter(|entry| entry.author == ME || authors.contains(&entry.author)).collect()
}

/// Each of the settings in a keyspace of its own.
async fn with_both_caps(place: &Place, case: impl AsyncFn(&Place, &Api)) {
    for settings in [&[][..], &SMALL] {
        let place = place.another().await;
        let api = place.serve(settings).await;
        case(&place, &api).await;
    }
}

/// Whether it is the first follow of all, one beside an inbox that is live, or one whose inbox has expired.
async fn field_f39_a_follow_shows_older_posts_at_once(place: Place) {
    with_both_caps(&place, async |place, api| {
        let all = posts(api, 60).await;
        api.follow(ME, 1).await;
        assert_eq!(feed(api, ME).await, of(&all, &[1]), "before the first scroll");
        api.follow(ME, 2).await;
        assert_eq!(feed(api, ME).await, of(&all, &[1, 2]), "after it");
        expire_inbox(place, ME).await;
        api.follow(ME, 3).await;
        assert_eq!(feed(api, ME).await, all, "after the inbox has expired");
        // And it stays so.
        place.settled().await;
        becomes(api, ME, &all).await;
    })
    .await;
}

/// The first scroll found nothing at all, and yet the inbox is live.
async fn a_follow_after_an_empty_feed_shows_older_posts(place: Place) {
    with_both_caps(&place, async |_, api| {
        assert_eq!(feed(api, ME).await, []);
        let all = posts(api, 40).await;
        let own = of(&all, &[]);
        assert_eq!(feed(api, ME).await, own);
        for author in AUTHORS {
            api.follow(ME, author).await;
        }
        assert_eq!(feed(api, ME).await, all);
    })
    .await;
}

async fn imported_follows_show_older_posts_at_once(place: Place) {
    with_both_caps(&place, async |_, api| {
        let all = posts(api, 60).await;
        assert_eq!(feed(api, ME).await, of(&all, &[]));
        // One that begins now, one that began before the posts and one amid them.
        let rows = vec![row(ME, 1), row_at(ME, 2, BEGIN - SECOND), row_at(ME, 3, BEGIN + 30 * SECOND)];
        assert_eq!(api.import(rows).await.created, 3);
        assert_eq!(feed(api, ME).await, all);
        let later = publish_all(api, AUTHORS.map(post)).await;
        becomes(api, ME, &[later, all].concat()).await;
    })
    .await;
}

async fn a_refused_row_of_an_import_shows_nothing(place: Place) {
    let api = place.serve(&[]).await;
    let all = posts(&api, 20).await;
    assert_eq!(feed(&api, ME).await, of(&all, &[]));
    api.follow(ME, 1).await;
    api.unfollow(ME, 1).await;
    assert_eq!(api.import(vec![row_at(ME, 1, BEGIN)]).await.superseded, 1);
    becomes(&api, ME, &of(&all, &[])).await;
}

/// Whatever a follow finds in flight of a post, the post is shown.
async fn a_follow_beside_a_post_misses_nothing(place: Place) {
    let servers = [place.serve(&SMALL).await, place.serve(&SMALL).await];
    let mut expected = BTreeSet::new();
    for round in 0..60 {
        let author = 1 + round;
        if round % 2 == 0 {
            feed(&servers[0], ME).await;
        }
        let (_, entry) = join(servers[0].follow(ME, author), publish(&servers[1], post(author))).await;
        expected.insert(entry);
        let shown = feed(&servers[0], ME).await;
        assert!(shown.contains(&entry), "round {round}: both were answered: {entry:?}");
        assert_eq!(shown.len(), expected.len());
    }
    place.settled().await;
    becomes(&servers[1], ME, &newest_first(expected.into_iter().collect())).await;
}

async fn field_f25_an_unfollow_hides_at_once_and_a_new_follow_shows_all_again(place: Place) {
    with_both_caps(&place, async |place, api| {
        for author in AUTHORS {
            api.follow(ME, author).await;
        }
        let mut all = posts(api, 60).await;
        becomes(api, ME, &all).await;
        for settles in [true, false] {
            api.unfollow(ME, 2).await;
            assert_eq!(feed(api, ME).await, of(&all, &[1, 3]));
            let between = publish_all(api, [post(2), post(1), post(2), post(ME), post_at(2, BEGIN + 5)]).await;
            all = newest_first([between, all].concat());
            becomes(api, ME, &of(&all, &[1, 3])).await;
            if settles {
                place.settled().await;
            }
            api.follow(ME, 2).await;
            assert_eq!(feed(api, ME).await, all, "settles: {settles}");
            becomes(api, ME, &all).await;
        }
    })
    .await;
}

/// What is hidden is removed from storage, too, in the moments after.
async fn field_f25_what_is_hidden_is_removed_later(place: Place) {
    let api = place.serve(&[]).await;
    for author in AUTHORS {
        api.follow(ME, author).await;
    }
    let all = posts(&api, 80).await;
    becomes(&api, ME, &all).await;
    let full = inbox_len(&place, ME).await;
    assert!((80..=81).contains(&full), "{full}");
    api.unfollow(ME, 2).await;
    assert_eq!(feed(&api, ME).await, of(&all, &[1, 3]));
    eventually("hidden posts are removed", async || (inbox_len(&place, ME).await == full - 20).then_some(())).await;
    becomes(&api, ME, &of(&all, &[1, 3])).await;
}

/// Neither one's own posts nor those of others go, nor does anything go from other feeds.
async fn field_f27_an_unfollow_removes_that_authors_posts_only(place: Place) {
    with_both_caps(&place, async |place, api| {
        let other = ME + 1;
        for author in AUTHORS {
            api.follow(ME, author).await;
            api.follow(other, author).await;
        }
        api.follow(2, ME).await;
        api.follow(other, ME).await;
        let all = posts(api, 60).await;
        becomes(api, ME, &all).await;
        becomes(api, other, &all).await;
        let mutual: Vec<_> = all.iter().copied().filter(|entry| [ME, 2].contains(&entry.author)).collect();
        becomes(api, 2, &mutual).await;
        api.unfollow(ME, 2).await;
        api.unfollow(ME, 4).await;
        for _ in 0..2 {
            assert_eq!(feed(api, ME).await, of(&all, &[1, 3]));
            assert_eq!(feed(api, 2).await, mutual);
            assert_eq!(feed(api, other).await, all);
            place.settled().await;
        }
    })
    .await;
}

/// Unfollows and follows in quick succession: a purge that comes late takes nothing that a new follow brought.
async fn field_f29_a_late_purge_takes_nothing_of_a_new_follow(place: Place) {
    let mut random = seeded();
    let servers = [place.serve(&SMALL).await, place.serve(&[]).await];
    let all = posts(&servers[0], 60).await;
    let mut followed = BTreeSet::new();
    feed(&servers[0], ME).await;
    for round in 0..60 {
        for _ in 0..random.random_range(1..6) {
            let author = *AUTHORS.choose(&mut random).unwrap();
            let server = &servers[random.random_range(0..2)];
            if followed.remove(&author) {
                server.unfollow(ME, author).await;
            } else {
                server.follow(ME, author).await;
                followed.insert(author);
            }
        }
        let expected = of(&all, &followed.iter().copied().collect::<Vec<_>>());
        assert_eq!(feed(&servers[round % 2], ME).await, expected, "round {round}");
    }
    place.settled().await;
    for author in AUTHORS {
        servers[0].follow(ME, author).await;
    }
    assert_eq!(feed(&servers[0], ME).await, all);
    place.settled().await;
    becomes(&servers[1], ME, &all).await;
}

/// The same with purges that are surely late: behind those of somebody who unfollows hundreds.
async fn field_f29_a_purge_behind_many_others_takes_nothing(place: Place) {
    let other = ME + 1;
    let api = place.serve(&[]).await;
    let all = posts(&api, 60).await;
    for author in AUTHORS {
        api.follow(ME, author).await;
    }
    assert_eq!(feed(&api, ME).await, all);
    for round in 0..10 {
        let crowd = 10_000 + round * 400..10_400 + round * 400;
        api.import(crowd.clone().map(|author| row(other, author)).collect()).await;
        feed(&api, other).await;
        stream::iter(crowd).for_each_concurrent(64, async |author| drop(api.unfollow(other, author).await)).await;
        api.unfollow(ME, 2).await;
        api.follow(ME, 2).await;
        assert_eq!(feed(&api, ME).await, all, "round {round}, at once");
        // Purges come one after another: when the post of this one is gone, those before it are done.
        let last = publish(&api, post(4)).await;
        api.follow(ME, 4).await;
        assert_eq!(feed(&api, ME).await[0], last);
        let len = inbox_len(&place, ME).await;
        api.unfollow(ME, 4).await;
        eventually("the last purge", async || (inbox_len(&place, ME).await < len).then_some(())).await;
        assert_eq!(feed(&api, ME).await, all, "round {round}");
    }
}

/// Makes a follow look as if the server had died between its two halves.
async fn lose_second_half(place: &Place, follower: i64, followee: i64) {
    place.settled().await;
    let keys = place.keys();
    let [user, author] = [follower, followee].map(|id| UserId::new(id).unwrap());
    let followers = keys.followers(author).to_string();
    assert_eq!(place.redis.command(&["ZREM", &followers, &follower.to_string()]).await, "1");
    let partition = keys.partition(user);
    let log = place.redis.command(&["XREVRANGE", &keys.log(partition).to_string(), "+", "-", "COUNT", "1"]).await;
    let version = log.split_once('-').expect("a log entry").0;
    place.redis.command(&["ZADD", &keys.pending(partition).to_string(), version, version]).await;
}

/// The author does not know of the reader yet, so that posts are not brought to the inbox, whether it was there before the
/// follow or not. And yet the reader sees them.
async fn a_follow_of_which_half_is_pending_shows_all(place: Place) {
    for is_live_before in [true, false] {
        for cap in ["10", "800"] {
            let place = place.another().await;
            let settings = [("feed.inbox-cap", cap), ("relay.min-age", "5m"), ("relay.lease", "1s")];
            let slow = place.serve(&settings).await;
            let mut expected = publish_all(&slow, (0..20).map(|number| post_at(1, BEGIN + number))).await;
            if is_live_before {
                assert_eq!(feed(&slow, ME).await, []);
            }
            slow.follow(ME, 1).await;
            lose_second_half(&place, ME, 1).await;
            for _ in 0..3 {
                assert_eq!(feed(&slow, ME).await, expected, "live before: {is_live_before}");
                let answer = slow.publish_with(post(1)).await;
                assert_eq!(answer.audience, 0);
                expected.insert(0, Entry::of_post(&answer.post.unwrap()));
            }
            assert_eq!(feed(&slow, ME).await, expected, "live before: {is_live_before}");
            slow.stop().await;

            let quick = place.serve(&[("feed.inbox-cap", cap)]).await;
            eventually("the follow is whole", async || (!quick.followers(1).await.is_empty()).then_some(())).await;
            expected.insert(0, publish(&quick, post(1)).await);
            becomes(&quick, ME, &expected).await;
        }
    }
}

/// An author with many posts, most of them below the inbox, comes and goes as quickly as any.
async fn many_posts_come_and_go_at_once(place: Place) {
    let api = place.serve(&SMALL).await;
    let all = publish_all(&api, (0..700).map(|number| post_at(1 + number % 2, BEGIN + number))).await;
    let of_first: Vec<_> = all.iter().copied().filter(|entry| entry.author == 1).collect();
    api.follow(ME, 1).await;
    assert_eq!(feed(&api, ME).await, of_first);
    for _ in 0..3 {
        api.follow(ME, 2).await;
        assert_eq!(feed(&api, ME).await, all);
        api.unfollow(ME, 2).await;
        assert_eq!(feed(&api, ME).await, of_first);
    }
    let how = How { by: By::Cursor, ..How::pages(17) };
    assert_eq!(scrolled(&api, ME, how).await.entries(), of_first);
}

/// Fewer than a scroll merges at a time, more, and more than an inbox notes.
async fn imports_of_any_size_show_older_posts_at_once(place: Place) {
    for follows in [60, 300, 1_500] {
        let place = place.another().await;
        let api = place.serve(&SMALL).await;
        assert_eq!(feed(&api, ME).await, []);
        let authors = (0..60).map(|number| 2_000 + number * follows / 60);
        let requests =
            authors.flat_map(|author| [post_at(author, BEGIN + author % 7), post_at(author, BEGIN + author)]);
        let mut all = publish_all(&api, requests).await;
        api.import((2_000..2_000 + follows).map(|author| row(ME, author)).collect()).await;
        assert_eq!(feed(&api, ME).await, all, "{follows} follows");
        all.insert(0, publish(&api, post(2_000)).await);
        becomes(&api, ME, &all).await;
    }
}

async fn each_policy_of_an_unfollow_hides(place: Place) {
    let api = place.serve(&[]).await;
    let all = posts(&api, 20).await;
    for policy in [FeedPolicy::Unspecified, FeedPolicy::Hide, FeedPolicy::Purge] {
        api.follow(ME, 1).await;
        assert_eq!(feed(&api, ME).await, of(&all, &[1]));
        let request = UnfollowRequest { follower_id: ME, followee_id: 1, feed_policy: policy.into() };
        assert!(api.social().unfollow(request).await.unwrap().into_inner().removed);
        assert_eq!(feed(&api, ME).await, of(&all, &[]), "{policy:?}");
    }
}

/// More followers than a fan-out takes in at a time; some of them read, at both ends of the list and in its middle.
async fn a_post_reaches_all_of_a_large_audience(place: Place) {
    const AUDIENCE: i64 = 17_000;
    let api = place.serve(&[("feed.pull-at", "0")]).await;
    let reader = |number: i64| 100_000 + number;
    let rows = (0..AUDIENCE).map(|number| row_at(reader(number), 1, BEGIN + number)).collect();
    assert_eq!(api.import(rows).await.created, AUDIENCE);
    let readers: Vec<_> =
        (0..AUDIENCE).filter(|number| number % 998 < 2 || AUDIENCE - number <= 2).map(reader).collect();
    for reader in &readers {
        assert_eq!(feed(&api, *reader).await, []);
    }
    let answer = api.publish_with(post(1)).await;
    assert_eq!(answer.audience, AUDIENCE);
    let entry = Entry::of_post(&answer.post.unwrap());
    for reader in readers {
        becomes(&api, reader, &[entry]).await;
        // It was brought there, and not fetched from the author.
        assert_eq!(inbox_len(&place, reader).await, 2);
    }
}

/// A post whose author is followed by the reader only, and one whose author is followed by everybody.
async fn a_post_reaches_exactly_the_followers(place: Place) {
    let api = place.serve(&[]).await;
    let readers: Vec<i64> = (100..150).collect();
    let rows = readers.iter().flat_map(|reader| [row(*reader, 1), row(*reader, reader % 5 + 2)]).collect();
    assert_eq!(api.import(rows).await.created, 100);
    for reader in &readers {
        assert_eq!(feed(&api, *reader).await, []);
    }
    let mut published = Vec::new();
    for author in 1..=6 {
        let answer = api.publish_with(post(author)).await;
        assert_eq!(answer.audience, if author == 1 { 50 } else { 10 });
        published.push(Entry::of_post(&answer.post.unwrap()));
    }
    for reader in readers {
        let expected: Vec<_> =
            published.iter().copied().filter(|entry| [1, reader % 5 + 2].contains(&entry.author)).collect();
        becomes(&api, reader, &newest_first(expected)).await;
    }
}

on_each_backend!(
    field_f39_a_follow_shows_older_posts_at_once,
    a_follow_after_an_empty_feed_shows_older_posts,
    imported_follows_show_older_posts_at_once,
    a_refused_row_of_an_import_shows_nothing,
    a_follow_beside_a_post_misses_nothing,
    field_f25_an_unfollow_hides_at_once_and_a_new_follow_shows_all_again,
    field_f25_what_is_hidden_is_removed_later,
    field_f27_an_unfollow_removes_that_authors_posts_only,
    field_f29_a_late_purge_takes_nothing_of_a_new_follow,
    field_f29_a_purge_behind_many_others_takes_nothing,
    a_follow_of_which_half_is_pending_shows_all,
    many_posts_come_and_go_at_once,
    a_post_reaches_exactly_the_followers,
    a_post_reaches_all_of_a_large_audience,
    each_policy_of_an_unfollow_hides,
    imports_of_any_size_show_older_posts_at_once,
);
