use keyspace::{Key, LIKED_PARTS, List};
use model::{Deadline, UserId};
use store::{
    Traffic,
    ops::{Inspect, Inspected, NewestParts, Part, inbox_segments},
};

use crate::{CompactLimits, Graph, ServiceError};

/// Where a user's data lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectedUser {
    /// The partition.
    pub partition: u16,
    /// The partition's hash tag, without braces.
    pub hash_tag: String,
    /// The slot of the hash tag.
    pub slot: u16,
    /// The primary that serves the slot, `host:port`; empty if none does now.
    pub node: String,
    /// Up to how many entries that primary keeps values compact.
    pub limits: CompactLimits,
    /// The user's keys, and then those that the partition shares.
    pub keys: Vec<InspectedKey>,
}

/// A key in Redis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectedKey {
    /// The name.
    pub key: String,
    /// Whether all users of the partition share it.
    pub shared: bool,
    /// The encoding; `None` if there is no such key.
    pub encoding: Option<String>,
    /// Bytes in memory, estimated by Redis.
    pub bytes: u64,
    /// Entries, where the key has any.
    pub entries: Option<u64>,
}

/// Segments and shards of a list that are named.
const MOST_PARTS: u32 = 32;

/// What kind of value a key has.
enum Kind {
    /// A sorted set.
    Set,
    /// A sorted set that most users do not have, such as those of long lists.
    Rare,
    /// A set of members.
    Members,
    /// Facts that most users do not have.
    Facts,
    Stream,
    Text,
}

impl Graph {
    /// Lists a user's keys. Two round trips.
    pub async fn inspect_user(&self, user: UserId, deadline: Deadline) -> Result<InspectedUser, ServiceError> {
        let store = &self.inner.store;
        let keys = store.keys();
        let partition = keys.partition(user);
        let lists = [
            (keys.following(user), keys.list_parts(List::Following, user)),
            (keys.followers(user), keys.list_parts(List::Followers, user)),
            (keys.posts(user), keys.posts_parts(user)),
        ];
        let parts = lists.clone().map(|(head, parts)| NewestParts { head, parts, limit: MOST_PARTS });
        let parts = store.run_all(&parts, Traffic::Interactive, deadline).await;
        let parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
        let key_of = |part| match part {
            Part::Segment(key) => key,
            Part::Shard(shard) => keys.shard_parts(user, shard),
        };
        let mut segments: Vec<_> = parts.into_iter().map(key_of).collect();
        segments.extend(lists.map(|(_, parts)| parts));
        segments.extend(inbox_segments(keys, user, self.inner.settings.inbox_cap));
        let named = [
            (keys.following(user), Kind::Set, false),
            (keys.left(user), Kind::Set, false),
            (keys.followers(user), Kind::Set, false),
            (keys.gone(user), Kind::Set, false),
            (keys.posts(user), Kind::Set, false),
            (keys.erased(user), Kind::Rare, false),
            (keys.delivery(user), Kind::Facts, false),
            (keys.inbox(user), Kind::Set, false),
            (keys.feed(user), Kind::Text, false),
            (keys.state(user), Kind::Facts, false),
            (keys.aside(user), Kind::Rare, false),
            (keys.aside_marks(user), Kind::Rare, false),
            (keys.hidden(user), Kind::Rare, false),
            (keys.blocking(user), Kind::Rare, false),
            (keys.muting(user), Kind::Rare, false),
            (keys.mute_ends(user), Kind::Rare, false),
            (keys.kept(user), Kind::Rare, false),
            (keys.kept_since(user), Kind::Rare, false),
            (keys.dismissed(user), Kind::Rare, false),
            (keys.rate(user), Kind::Facts, false),
            (keys.log(partition), Kind::Stream, true),
            (keys.pending(partition), Kind::Set, true),
            (keys.clock(partition), Kind::Text, true),
            (keys.trimmed(partition), Kind::Text, true),
        ];
        let ids = (keys.following_ids(user), Kind::Members, false);
        let shards = (keys.shards(user), Kind::Facts, false);
        let segments = segments.into_iter().map(|key| (key, Kind::Rare, false));
        let liked = (0..LIKED_PARTS).map(|part| (keys.liked(user, part), Kind::Members, false));
        let named: Vec<_> = segments.chain([ids, shards]).chain(named).chain(liked).collect();
        let questions: Vec<_> = named.iter().map(|(key, kind, _)| questions(key, kind)).collect();
        let answers = store.run_all(&questions.concat(), Traffic::Interactive, deadline).await;
        let mut answers = answers.into_iter();
        let mut inspected = Vec::with_capacity(named.len());
        for ((key, kind, shared), questions) in named.into_iter().zip(questions) {
            let mut found = InspectedKey { key: key.to_string(), shared, encoding: None, bytes: 0, entries: None };
            for (question, answer) in questions.iter().zip(answers.by_ref()) {
                found.learn(question, answer?);
            }
            found.entries = found.entries.filter(|_| found.encoding.is_some());
            // Most users have none of these, ever.
            if found.encoding.is_some() || !matches!(kind, Kind::Rare | Kind::Members | Kind::Facts) {
                inspected.push(found);
            }
        }
        let node = store.node(partition).unwrap_or_default();
        Ok(InspectedUser {
            partition: partition.get(),
            hash_tag: keys.hash_tag(partition),
            slot: keys.slot(partition).get(),
            limits: self.inner.limits.of(&node),
            node,
            keys: inspected,
        })
    }
}

fn questions(key: &Key, kind: &Kind) -> Vec<Inspect> {
    let mut questions = vec![Inspect::Encoding(key.clone()), Inspect::Bytes(key.clone())];
    match kind {
        Kind::Set | Kind::Rare => questions.push(Inspect::SetEntries(key.clone())),
        Kind::Members => questions.push(Inspect::Members(key.clone())),
        Kind::Stream => questions.push(Inspect::StreamEntries(key.clone())),
        Kind::Text | Kind::Facts => {}
    }
    questions
}

impl InspectedKey {
    fn learn(&mut self, question: &Inspect, answer: Inspected) {
        match (question, answer) {
            (_, Inspected::Missing) => {}
            (_, Inspected::Encoding(encoding)) => self.encoding = Some(encoding),
            (Inspect::SetEntries(_) | Inspect::Members(_) | Inspect::StreamEntries(_), Inspected::Number(entries)) => {
                self.entries = Some(entries);
            }
            (Inspect::Bytes(_) | Inspect::Encoding(_), Inspected::Number(bytes)) => self.bytes = bytes,
        }
    }
}
