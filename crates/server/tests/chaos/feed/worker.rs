use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use prost_types::Timestamp;
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use socialgraph::v1::{FollowRequest, Post, PublishPostRequest, UnfollowRequest};
use tonic::Code;

use super::{books::Books, fleet::Fleet};
use crate::feeds::{Entry, How};

const SECOND: i64 = 1_000_000;
/// Given ids are few, so that they meet.
const GIVEN_IDS: i64 = 150;
/// Given times of one round are few.
const TIES: i64 = 12;

/// Writes for some users, one call after another: their follows and their posts are its own, so it knows what they must be.
pub(super) struct Worker<'a> {
    fleet: &'a Fleet<'a>,
    books: &'a Books,
    random: StdRng,
    own: Vec<i64>,
    everyone: Vec<i64>,
    /// Requests that gave the post a name, with the post.
    named: Vec<(PublishPostRequest, Post)>,
    /// Posts without a name whose answers were lost: author, content, and when they were sent.
    doubts: Vec<(i64, Bytes, u64)>,
    made: u64,
    /// Posts that were new, and whose only answer denied that. The service sends commits again after lost answers.
    pub(super) denials: usize,
    /// Where given times lie.
    round_began: i64,
}

pub(super) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros() as i64
}

impl<'a> Worker<'a> {
    pub(super) fn new(fleet: &'a Fleet<'a>, books: &'a Books, own: &[i64], everyone: &[i64], seed: u64) -> Self {
        Self {
            fleet,
            books,
            random: StdRng::seed_from_u64(seed),
            own: own.to_vec(),
            everyone: everyone.to_vec(),
            named: Vec::new(),
            doubts: Vec::new(),
            made: 0,
            denials: 0,
            round_began: 0,
        }
    }

    /// Makes some calls, and counts each.
    pub(super) async fn work(&mut self, round_began: i64, operations: usize, count: impl Fn()) {
        self.round_began = round_began;
        for _ in 0..operations {
            match self.random.random_range(0..100) {
                0..27 => self.follow().await,
                27..55 => self.unfollow().await,
                55..65 => self.repeat().await,
                65..70 => self.reuse().await,
                _ => self.publish().await,
            }
            count();
        }
    }

    fn edge(&mut self) -> (i64, i64) {
        let reader = self.reader();
        let others: Vec<_> = self.everyone.iter().copied().filter(|user| *user != reader).collect();
        (reader, *others.choose(&mut self.random).expect("others"))
    }

    fn reader(&mut self) -> i64 {
        *self.own.choose(&mut self.random).expect("own")
    }

    async fn follow(&mut self) {
        let edge = self.edge();
        let begun = self.books.tick();
        let request = FollowRequest { follower_id: edge.0, followee_id: edge.1, ..Default::default() };
        self.fleet.call(request, |mut c, r| async move { c.follow(r).await }).await.expect("follow");
        self.books.followed(edge, begun);
    }

    async fn unfollow(&mut self) {
        let edge = self.edge();
        let begun = self.books.tick();
        let request = UnfollowRequest { follower_id: edge.0, followee_id: edge.1, ..Default::default() };
        self.fleet.call(request, |mut c, r| async move { c.unfollow(r).await }).await.expect("unfollow");
        self.books.unfollowed(edge, begun);
    }

    async fn publish(&mut self) {
        let request = self.post();
        let begun = self.books.tick();
        if request.request_id.is_empty() && request.post_id == 0 {
            return self.publish_unnamed(request, begun).await;
        }
        let known = self.known(&request);
        let answer = self.fleet.call(request.clone(), |mut c, r| async move { c.publish_post(r).await }).await;
        if known {
            let status = answer.err().unwrap_or_else(|| panic!("the id of another post was taken: {request:?}"));
            assert_eq!(status.code(), Code::AlreadyExists, "{status:?}");
            return;
        }
        let answer = answer.unwrap_or_else(|status| panic!("{request:?}: {status:?}"));
        self.denials += usize::from(!answer.message.created && answer.attempts == 1);
        let post = answer.message.post.expect("a post");
        assert_is_of(&post, &request);
        self.named.push((request, post.clone()));
        self.books.published(post, begun);
    }

    /// A post that must not be sent again.
    async fn publish_unnamed(&mut self, request: PublishPostRequest, begun: u64) {
        let answer = self.fleet.attempt(request.clone(), |mut c, r| async move { c.publish_post(r).await }).await;
        let Some(answer) = answer else {
            return self.doubts.push((request.author_id, request.content, begun));
        };
        let answer = answer.unwrap_or_else(|status| panic!("{request:?}: {status:?}"));
        assert!(answer.created);
        let post = answer.post.expect("a post");
        assert_is_of(&post, &request);
        self.books.published(post, begun);
    }

    /// Sends a former post again.
    async fn repeat(&mut self) {
        let Some((request, post)) = self.named.choose(&mut self.random).cloned() else { return };
        let answer = self.fleet.call(request, |mut c, r| async move { c.publish_post(r).await }).await;
        let answer = answer.expect("the same again").message;
        assert_eq!((answer.created, answer.post), (false, Some(post)));
    }

    /// Sends another post under the name of a former one.
    async fn reuse(&mut self) {
        let Some((request, _)) = self.named.choose(&mut self.random).cloned() else { return };
        let request = PublishPostRequest { content: self.content(), ..request };
        let answer = self.fleet.call(request, |mut c, r| async move { c.publish_post(r).await }).await;
        let status = answer.err().expect("the id of another post was taken");
        assert_eq!(status.code(), Code::AlreadyExists, "{status:?}");
    }

    fn post(&mut self) -> PublishPostRequest {
        let name = self.random.random_range(0..20);
        let author_id = self.reader();
        let post_id = match name {
            8..12 => self.random.random_range(1..=GIVEN_IDS),
            12..15 => self.random.random_range(1 << 53..=i64::MAX),
            _ => 0,
        };
        let attributes =
            (0..self.random.random_range(0..3)).map(|number| (format!("k{number}"), self.made.to_string()));
        PublishPostRequest {
            author_id,
            attributes: attributes.collect(),
            content: self.content(),
            published_at: self.time().map(stamp),
            request_id: if (0..9).contains(&name) { format!("r{}", self.made) } else { String::new() },
            post_id,
        }
    }

    /// Of no other post of this worker.
    fn content(&mut self) -> Bytes {
        self.made += 1;
        let mut content = self.made.to_be_bytes().to_vec();
        content.resize(8 + self.random.random_range(0..40), self.random.random());
        content.into()
    }

    /// Now, a time that others have as well, one of long ago, or one that has yet to come.
    fn time(&mut self) -> Option<i64> {
        match self.random.random_range(0..20) {
            0..8 => None,
            8..15 => Some(self.round_began - self.random.random_range(0..TIES) * 250),
            15..19 => Some(now() - self.random.random_range(0..1_000_000) * SECOND),
            _ => Some(now() + self.random.random_range(0..4 * SECOND)),
        }
    }

    /// Whether the id of a new post is that of an old one.
    fn known(&self, request: &PublishPostRequest) -> bool {
        let name = (request.author_id, request.post_id);
        request.post_id > 0 && self.named.iter().any(|(_, post)| (post.author_id, post.post_id) == name)
    }

    /// Finds out what became of the posts whose answers were lost.
    pub(super) async fn resolve(&mut self) -> usize {
        let doubts = std::mem::take(&mut self.doubts);
        for (author, content, begun) in &doubts {
            let view = socialgraph::v1::FeedView::Full;
            let shown = self.fleet.scroll(*author, How { view, ..How::pages(100) }.beside_writes()).await;
            let posts = shown.into_iter().filter_map(|item| item.post);
            for post in posts.filter(|post| post.author_id == *author && post.content == content) {
                self.books.published(post, *begun);
            }
        }
        doubts.len()
    }
}

fn stamp(micros: i64) -> Timestamp {
    Timestamp { seconds: micros / SECOND, nanos: (micros % SECOND) as i32 * 1_000 }
}

/// A post is what was asked for.
fn assert_is_of(post: &Post, request: &PublishPostRequest) {
    let given = (request.author_id, &request.content, &request.attributes);
    assert_eq!((post.author_id, &post.content, &post.attributes), given);
    assert!(request.post_id == 0 || post.post_id == request.post_id, "{post:?}, {request:?}");
    assert!(request.published_at.is_none() || post.published_at == request.published_at, "{post:?}, {request:?}");
    assert!(Entry::of_post(post).at > 0);
}
