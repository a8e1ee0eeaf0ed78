//! Watches, and what every one of them must be.

use std::collections::{BTreeMap, BTreeSet};

use socialgraph::v1::{
    RelationshipChange, UserState, WatchRelationshipsRequest, WatchRelationshipsResponse, relationship_change::Change,
};
use tokio::time::timeout;
use tonic::{Status, Streaming};

use super::{Api, LIMIT, Row, micros};

/// What a watch told of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    Followed(Row, String),
    Unfollowed(Row),
    PutAside(Row),
    Restored(Row),
    StateSet(i64, UserState),
    Deleted(i64),
    /// A user, another one, and since when.
    Blocked(Row),
    Unblocked(Row),
    /// And until when, if there is an end.
    Muted(Row, Option<i64>),
    Unmuted(Row),
}

impl Event {
    pub(crate) fn followed(row: Row) -> Self {
        Self::Followed(row, String::new())
    }

    /// Whose change it is.
    pub(crate) fn user(&self) -> i64 {
        match self {
            Self::Followed(row, _) | Self::Unfollowed(row) | Self::PutAside(row) | Self::Restored(row) => row.0,
            Self::Blocked(row) | Self::Unblocked(row) | Self::Muted(row, _) | Self::Unmuted(row) => row.0,
            Self::StateSet(user, _) | Self::Deleted(user) => *user,
        }
    }
}

/// A watch, and all that it told of so far.
pub(crate) struct Watching {
    messages: Streaming<WatchRelationshipsResponse>,
    pub(crate) events: Vec<(Event, i64)>,
    /// The token of each message, and how many events and users of the snapshot had come with it.
    pub(crate) tokens: Vec<(String, usize, usize)>,
    /// Each user of the snapshot: its version, and whom they followed since when.
    pub(crate) snapshot: BTreeMap<i64, (i64, BTreeMap<i64, i64>)>,
}

impl Api {
    /// Watches with a token every tenth of a second. Its first message has nothing else.
    pub(crate) async fn watch_with(&self, request: WatchRelationshipsRequest) -> Watching {
        let checkpoint_interval = Some(prost_types::Duration { seconds: 0, nanos: 100_000_000 });
        let request = WatchRelationshipsRequest { checkpoint_interval, ..request };
        let messages = self.social().watch_relationships(request).await.expect("watch").into_inner();
        let (events, tokens, snapshot) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut watching = Watching { messages, events, tokens, snapshot };
        let first = watching.next().await.expect("a message");
        assert_eq!(WatchRelationshipsResponse { resume_token: String::new(), ..first }, Default::default());
        watching
    }

    /// Watches everybody, from a token or from now on.
    pub(crate) async fn watch(&self, resume_token: &str) -> Watching {
        let resume_token = resume_token.to_owned();
        self.watch_with(WatchRelationshipsRequest { resume_token, ..Default::default() }).await
    }
}

impl Watching {
    /// The next message, which is kept as well; or how the watch ended.
    pub(crate) async fn next(&mut self) -> Result<WatchRelationshipsResponse, Status> {
        let message = timeout(LIMIT, self.messages.message()).await.expect("a message in time")?;
        let message = message.expect("an end has a status");
        assert!(!message.resume_token.is_empty());
        if let Some(snapshot) = &message.snapshot {
            assert!(self.events.is_empty() && message.changes.is_empty(), "the snapshot comes first");
            for follower in &snapshot.followers {
                let followees = follower.followees.iter().map(|listed| (listed.user_id, micros(listed.followed_at)));
                let before = self.snapshot.insert(follower.follower_id, (snapshot.version, followees.collect()));
                assert!(before.is_none(), "{} comes twice", follower.follower_id);
            }
        }
        self.events.extend(message.changes.iter().cloned().map(event));
        self.tokens.push((message.resume_token.clone(), self.events.len(), self.snapshot.len()));
        Ok(message)
    }

    pub(crate) fn last_token(&self) -> String {
        self.tokens.last().expect("a message").0.clone()
    }

    /// Goes on until it has told of so many events.
    pub(crate) async fn until_events(&mut self, number: usize) {
        while self.events.len() < number {
            self.next().await.expect("a message");
        }
    }

    /// Goes on until each of some users has begun to follow somebody.
    pub(crate) async fn until_all_follow(&mut self, users: impl IntoIterator<Item = i64>, followee: i64) {
        let mut missing: BTreeSet<i64> = users.into_iter().collect();
        let mut seen = 0;
        loop {
            for (event, _) in &self.events[seen..] {
                if let Event::Followed((follower, who, _), _) = event
                    && *who == followee
                {
                    missing.remove(follower);
                }
            }
            seen = self.events.len();
            if missing.is_empty() {
                return;
            }
            self.next().await.expect("a message");
        }
    }

    /// Goes on until it ends.
    pub(crate) async fn end(&mut self) -> Status {
        loop {
            if let Err(status) = self.next().await {
                return status;
            }
        }
    }

    /// What comes of the snapshot and the changes after it. Asserts that versions rise for each user, and that follows begin and end in
    /// turns.
    pub(crate) fn graph(&self) -> BTreeSet<Row> {
        let mut graph: BTreeMap<i64, BTreeMap<i64, i64>> =
            self.snapshot.iter().map(|(&user, (_, followees))| (user, followees.clone())).collect();
        let (mut versions, mut aside): (BTreeMap<i64, i64>, BTreeSet<Row>) = Default::default();
        for (event, version) in &self.events {
            let last = versions.insert(event.user(), *version).unwrap_or_default();
            assert!(*version > last, "{event:?} at {version} after {last}");
            if self.snapshot.get(&event.user()).is_some_and(|(known, _)| version <= known) {
                continue;
            }
            let followees = graph.entry(event.user()).or_default();
            match event {
                // What is aside may end as well.
                Event::Unfollowed(row) if aside.remove(row) => {}
                Event::Followed((_, followee, at), _) => {
                    assert_eq!(followees.insert(*followee, *at), None, "{event:?} twice");
                }
                Event::Restored(row) => {
                    assert!(aside.remove(row), "{event:?} of nothing");
                    assert_eq!(followees.insert(row.1, row.2), None, "{event:?} twice");
                }
                Event::Unfollowed((_, followee, at)) => {
                    assert_eq!(followees.remove(followee), Some(*at), "{event:?} of nothing");
                }
                Event::PutAside(row) => {
                    assert_eq!(followees.remove(&row.1), Some(row.2), "{event:?} of nothing");
                    aside.insert(*row);
                }
                Event::StateSet(..)
                | Event::Deleted(_)
                | Event::Blocked(_)
                | Event::Unblocked(_)
                | Event::Muted(..)
                | Event::Unmuted(_) => {}
            }
        }
        let rows = |(follower, followees): (i64, BTreeMap<i64, i64>)| {
            followees.into_iter().map(move |(followee, at)| (follower, followee, at))
        };
        graph.into_iter().flat_map(rows).collect()
    }
}

fn event(RelationshipChange { change, version, changed_at }: RelationshipChange) -> (Event, i64) {
    assert_eq!(micros(changed_at), version);
    let event = match change.expect("a change") {
        Change::Followed(begun) => {
            let row = (begun.follower_id, begun.followee_id, micros(begun.followed_at));
            if begun.restored { Event::Restored(row) } else { Event::Followed(row, begun.source) }
        }
        Change::Unfollowed(ended) => {
            let row = (ended.follower_id, ended.followee_id, micros(ended.followed_at));
            if ended.put_aside { Event::PutAside(row) } else { Event::Unfollowed(row) }
        }
        Change::UserStateSet(set) => Event::StateSet(set.user_id, set.state()),
        Change::UserDeleted(deleted) => Event::Deleted(deleted.user_id),
        Change::Blocked(block) => Event::Blocked((block.user_id, block.blocked_id, micros(block.blocked_at))),
        Change::Unblocked(block) => Event::Unblocked((block.user_id, block.blocked_id, micros(block.blocked_at))),
        Change::Muted(mute) => {
            let until = mute.muted_until.map(|until| micros(Some(until)));
            Event::Muted((mute.user_id, mute.muted_id, micros(mute.muted_at)), until)
        }
        Change::Unmuted(mute) => Event::Unmuted((mute.user_id, mute.muted_id, micros(mute.muted_at))),
    };
    (event, version)
}
