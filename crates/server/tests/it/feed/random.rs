//! Random calls, one after another, and feeds by brute force.

use std::sync::Mutex;

use futures::{StreamExt, stream};
use rand::{Rng, rngs::StdRng, seq::IndexedRandom};
use socialgraph::v1::{DeletePostRequest, FeedPolicy, Post, PublishPostRequest, UnfollowRequest};

use super::support::{
    BEGIN, MILLISECOND, SECOND, assert_reused, expire_inbox, inbox_len, page, post, post_at, scrolled,
};
use crate::{
    feeds::{Entry, How, Oracle, Scroll},
    support::{Instance, Place, eventually, row, seeded},
};

const USERS: i64 = 8;
const OPERATIONS: usize = 600;
const PUSHED: [(&str, &str); 1] = [("feed.inbox-cap", "10")];
const TURNING: [(&str, &str); 2] = [("feed.inbox-cap", "10"), ("feed.pull-at", "3")];

struct Run<'a> {
    place: &'a Place,
    servers: Vec<Instance>,
    random: StdRng,
    oracle: Oracle,
    /// Posts that have a name of their author's choice.
    named: Vec<(PublishPostRequest, Post)>,
    /// Those that are deleted.
    deleted: Vec<(PublishPostRequest, Post)>,
}

impl Run<'_> {
    fn user(&mut self) -> i64 {
        self.random.random_range(1..=USERS)
    }

    fn server(&mut self) -> usize {
        self.random.random_range(0..self.servers.len())
    }

    fn pair(&mut self) -> (i64, i64) {
        let user = self.user();
        (user, (user + self.random.random_range(1..USERS) - 1) % USERS + 1)
    }

    async fn operation(&mut self) {
        let server = self.server();
        match self.random.random_range(0..20) {
            0..3 => {
                let (follower, followee) = self.pair();
                self.servers[server].follow(follower, followee).await;
                self.oracle.follow(follower, followee);
            }
            3..5 => {
                let (follower, followee) = self.pair();
                self.unfollow(server, follower, followee).await;
            }
            5 => {
                let pairs = [self.pair(), self.pair(), self.pair()];
                self.servers[server].import(pairs.map(|(follower, followee)| row(follower, followee)).into()).await;
                pairs.iter().for_each(|(follower, followee)| self.oracle.follow(*follower, *followee));
            }
            6 => expire_inbox(self.place, self.user()).await,
            7..9 => self.repeat(server).await,
            9 => self.delete(server).await,
            10..12 => {
                let user = self.user();
                self.check(user).await;
            }
            _ => self.publish(server).await,
        }
    }

    /// An unfollow that may keep the posts.
    async fn unfollow(&mut self, server: usize, follower: i64, followee: i64) {
        let api = &self.servers[server];
        let Some(since) = api.is_following(follower, followee).await.filter(|_| self.random.random_bool(0.5)) else {
            api.unfollow(follower, followee).await;
            return self.oracle.unfollow(follower, followee);
        };
        let feed_policy = FeedPolicy::KeepDelivered.into();
        let request = UnfollowRequest { follower_id: follower, followee_id: followee, feed_policy };
        assert!(api.social().unfollow(request).await.expect("unfollow").into_inner().removed);
        let before = self.oracle.kept.get(&(follower, followee)).map_or(since, |(before, _)| *before);
        let since = since.min(before);
        let posts = self.oracle.posts(followee).map(Entry::of_post).filter(|entry| entry.at >= since);
        let posts = posts.map(|entry| entry.post).collect();
        self.oracle.unfollow(follower, followee);
        self.oracle.kept.insert((follower, followee), (since, posts));
    }

    async fn publish(&mut self, server: usize) {
        let author = self.user();
        let time = match self.random.random_range(0..4) {
            0 => post(author),
            1 => post_at(author, BEGIN + self.random.random_range(0..100) * SECOND),
            _ => post_at(author, BEGIN + 50 * SECOND + self.random.random_range(0..20) * MILLISECOND / 5),
        };
        let name = self.random.random_range(0..4);
        let unique = OPERATIONS + self.named.len() + self.deleted.len();
        let request = PublishPostRequest {
            request_id: if name & 1 == 1 { format!("r{unique}") } else { String::new() },
            post_id: if name & 2 == 2 { unique as i64 } else { 0 },
            content: unique.to_string().into(),
            ..time
        };
        let answer = self.servers[server].publish_with(request.clone()).await;
        assert!(answer.created, "{request:?}");
        let post = answer.post.expect("a post");
        self.oracle.publish(post.clone());
        if name > 0 {
            self.named.push((request, post));
        }
    }

    /// Sends a former post again: the same, or with another content.
    async fn repeat(&mut self, server: usize) {
        let Some((request, post)) = self.named.choose(&mut self.random).cloned() else { return };
        if self.random.random_bool(0.5) {
            let answer = self.servers[server].publish_with(request).await;
            assert_eq!((answer.created, answer.post), (false, Some(post)));
        } else {
            let request = PublishPostRequest { content: "other".into(), ..request };
            assert_reused(self.servers[server].social().publish_post(request).await);
        }
    }

    /// Deletes a post, or sends one again that was deleted before: it does not come back.
    async fn delete(&mut self, server: usize) {
        let api = &self.servers[server];
        let Some(at) = (!self.named.is_empty()).then(|| self.random.random_range(0..self.named.len())) else { return };
        let (request, post) = self.named.swap_remove(at);
        let deletion = DeletePostRequest { author_id: post.author_id, post_id: post.post_id };
        for is_first in [true, false] {
            let answer = api.social().delete_post(deletion).await.expect("delete").into_inner();
            assert_eq!(answer.deleted, is_first);
        }
        let posts = self.oracle.posts.get_mut(&post.author_id).expect("an author");
        assert_eq!(posts.remove(&post.post_id).as_ref(), Some(&post));
        self.deleted.push((request, post));
        let (request, post) = self.deleted.choose(&mut self.random).cloned().expect("one at least");
        if request.request_id.is_empty() {
            assert_reused(api.social().publish_post(request).await);
        } else {
            let answer = api.publish_with(request).await;
            assert_eq!((answer.created, answer.post), (false, Some(post)));
        }
    }

    /// Waits until what was posted has arrived; then a feed is as it must be, and its inbox is small.
    async fn check(&mut self, user: i64) {
        let how = How::any(&mut self.random);
        let server = &self.servers[how.seed as usize % self.servers.len()];
        eventually("feeds are equal", async || {
            let shown = scrolled(server, user, how.beside_writes()).await.shown;
            self.oracle.fault(user, &shown).is_none().then_some(())
        })
        .await;
        let fault = self.oracle.fault(user, &scrolled(server, user, how).await.shown);
        assert_eq!(fault, None, "{how:?}");
        let len = inbox_len(self.place, user).await;
        assert!((1..=11).contains(&len), "{len} entries in the inbox of {user}");
    }
}

async fn random_calls_agree_with_the_oracle(place: Place) {
    random_calls(place, &PUSHED).await;
}

/// As soon as three follow an author, readers pull: authors turn all the time.
async fn random_calls_agree_with_the_oracle_while_authors_turn(place: Place) {
    random_calls(place, &TURNING).await;
}

async fn random_calls(place: Place, settings: &[(&'static str, &str)]) {
    let random = seeded();
    let mut servers = Vec::new();
    for _ in 0..2 {
        servers.push(place.serve(settings).await);
    }
    let mut run =
        Run { place: &place, servers, random, oracle: Oracle::default(), named: Vec::new(), deleted: Vec::new() };
    for _ in 0..OPERATIONS {
        run.operation().await;
    }
    for user in 1..=USERS {
        run.check(user).await;
    }
}

/// One of the calls of a storm.
#[derive(Clone, Copy, Debug)]
enum Call {
    Follow(i64, i64),
    Unfollow(i64, i64),
    Publish(i64, i64),
    Scroll(i64),
    Expire(i64),
}

fn call(random: &mut StdRng) -> Call {
    let user = random.random_range(1..=USERS);
    let other = (user + random.random_range(1..USERS) - 1) % USERS + 1;
    match random.random_range(0..20) {
        0..6 => Call::Follow(user, other),
        6..11 => Call::Unfollow(user, other),
        11..15 => Call::Publish(user, BEGIN + random.random_range(0..50) * MILLISECOND / 5),
        15..19 => Call::Scroll(user),
        _ => Call::Expire(user),
    }
}

/// Many callers at once, on the same few users: nobody knows who follows whom in the end. But feeds are those of the lists.
async fn after_a_storm_feeds_are_those_of_the_lists(place: Place) {
    storm(place, &PUSHED).await;
}

async fn after_a_storm_of_turns_feeds_are_those_of_the_lists(place: Place) {
    storm(place, &TURNING).await;
}

async fn storm(place: Place, settings: &[(&'static str, &str)]) {
    let mut random = seeded();
    let servers = [place.serve(settings).await, place.serve(settings).await];
    let published = Mutex::new(Oracle::default());
    for round in 0..3 {
        let calls: Vec<_> = (0..700).map(|number| (number % 2, call(&mut random))).collect();
        stream::iter(calls)
            .for_each_concurrent(32, async |(server, call)| {
                let api = &servers[server];
                match call {
                    Call::Follow(user, other) => drop(api.follow(user, other).await),
                    Call::Unfollow(user, other) => drop(api.unfollow(user, other).await),
                    Call::Scroll(user) => {
                        let mut scroll = Scroll::new(user, How::pages(7).beside_writes());
                        while !scroll.ended && scroll.pages < 3 {
                            page(api, &mut scroll).await;
                        }
                    }
                    Call::Expire(user) => expire_inbox(&place, user).await,
                    Call::Publish(author, at) => {
                        let post = api.publish_with(post_at(author, at)).await.post.expect("a post");
                        published.lock().unwrap().publish(post);
                    }
                }
            })
            .await;
        place.settled().await;
        let mut oracle = published.lock().unwrap().clone();
        for user in 1..=USERS {
            let followed = servers[0].following(user).await;
            followed.iter().for_each(|(followee, _)| oracle.follow(user, *followee));
        }
        for user in 1..=USERS {
            let shown = scrolled(&servers[round % 2], user, How::any(&mut random)).await.shown;
            assert_eq!(oracle.fault(user, &shown), None, "round {round}");
        }
    }
}

on_each_backend!(
    random_calls_agree_with_the_oracle,
    random_calls_agree_with_the_oracle_while_authors_turn,
    after_a_storm_feeds_are_those_of_the_lists,
    after_a_storm_of_turns_feeds_are_those_of_the_lists,
);
