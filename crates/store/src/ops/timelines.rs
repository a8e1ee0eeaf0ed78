//! Timelines: the posts of single authors.

use fred::types::Value;
use keyspace::{Keyspace, List, Shard, SlotGroup};
use model::{FeedEntry, Micros, PostId, UserId};

use super::{Operation, lists::list_keys};
use crate::{StoreError, call::Call, script, value};

/// A place from which a feed goes on, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<E = FeedEntry> {
    /// Behind an entry.
    After(E),
    /// At an entry, which need not be there.
    At(E),
}

impl Place {
    /// Whether an entry comes at this place or later.
    pub fn is_passed_by(self, entry: FeedEntry) -> bool {
        match self {
            Self::After(after) => entry < after,
            Self::At(at) => entry <= at,
        }
    }

    /// Score and member of the place in an inbox: what is smaller comes later in the feed.
    pub(super) fn in_inbox(self) -> [Value; 2] {
        let (entry, is_after_entry) = match self {
            Self::After(entry) => (entry, true),
            Self::At(entry) => (entry, false),
        };
        self::place(entry.at, &entry.member(), is_after_entry)
    }

    /// The same in the timeline of an author.
    fn in_timeline(self, author: UserId) -> [Value; 2] {
        let (entry, is_after_post) = match self {
            Self::After(entry) => (entry, author >= entry.author),
            Self::At(entry) => (entry, author > entry.author),
        };
        self::place(entry.at, &entry.post.get().to_be_bytes(), is_after_post)
    }
}

/// A member is below the same with a byte more.
fn place(at: Micros, member: &[u8], exclusive: bool) -> [Value; 2] {
    let mut member = member.to_vec();
    if !exclusive {
        member.push(0);
    }
    [at.get().cast_signed().into(), Value::Bytes(member.into())]
}

/// Reads an author's timeline, newest first. See `timeline.lua`.
#[derive(Clone, Copy, Debug)]
pub struct Timeline {
    /// Whose posts.
    pub author: UserId,
    /// From where; `None`: from the newest.
    pub from: Option<Place>,
    /// Most posts, 1 to 1,000.
    pub limit: usize,
    /// A reader, and since when they follow the author, to be found on the author's list of followers.
    pub reader: Option<(UserId, Micros)>,
}

/// Whether a list of followers has a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Yes.
    Yes,
    /// No.
    No,
    /// A shard tells: [`IsListed`](super::IsListed).
    In(Shard),
}

/// A part of a timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelinePart {
    /// Whether the author's list of followers has the reader since that time.
    pub listed: Listed,
    /// Whether the reader is to pull the author's posts. Only told of a reader.
    pub is_pulled: bool,
    /// The posts, newest first; fewer than asked for at the end.
    pub entries: Vec<FeedEntry>,
}

impl Operation for Timeline {
    type Output = TimelinePart;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let mut names = vec![keys.posts(self.author), keys.posts_parts(self.author)];
        names.extend(list_keys(keys, List::Followers, self.author));
        names.push(keys.delivery(self.author));
        let group = SlotGroup::new(names)?;
        let [score, member] = self.from.map_or_else(|| ["".into(), "".into()], |from| from.in_timeline(self.author));
        let (reader, since) = match self.reader {
            Some((reader, since)) => (reader.get().into(), since.get().cast_signed().into()),
            None => ("".into(), 0_i64.into()),
        };
        Ok(Call::script(&script::TIMELINE, group, vec![score, member, (self.limit as i64).into(), reader, since]))
    }

    fn answer(&self, answer: Value) -> Result<TimelinePart, StoreError> {
        let [listed, is_pulled, posts] = value::array_of(answer)?;
        let entries = value::parts(posts, |member, at| {
            let id = value::bytes(member)?.try_into().map_err(|_| value::unexpected("8 bytes", member))?;
            let post = PostId::new(i64::from_be_bytes(id)).map_err(|_| value::unexpected("a post id", member))?;
            Ok(FeedEntry { at: value::score(at)?, post, author: self.author })
        });
        let listed = match value::number(&listed) {
            Ok(1) => Listed::Yes,
            Ok(_) => Listed::No,
            Err(_) => Listed::In(value::shard(value::text(&listed)?)?),
        };
        Ok(TimelinePart { listed, is_pulled: value::number::<u8>(&is_pulled)? == 1, entries: entries? })
    }
}
