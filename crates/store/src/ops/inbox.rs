//! Inboxes: the top of a reader's feed, kept as a list.

use std::time::Duration;

use fred::types::Value;
use keyspace::{Key, Keyspace, SlotGroup};
use model::{FeedEntry, Micros, UserId, Window};

use super::{Kept, Operation, Place, kept::all_kept, lists::following_keys};
use crate::{StoreError, call::Call, script, value};

/// An inbox of fewer entries, with a sentinel, is one key.
const MOST_IN_HEAD: u32 = 127;
/// Entries of a segment that was just made: the fewest, as long as none are removed.
const ENTRIES_OF_SEGMENT: u32 = 64;
/// Segments beyond those that a full inbox needs.
const SPARE_SEGMENTS: u32 = 4;

/// Brings a post to inboxes of one partition, as far as that is simple. See `push.lua`.
#[derive(Clone, Debug)]
pub struct Push {
    /// The post.
    pub entry: FeedEntry,
    /// 1 to 64 readers of one partition.
    pub readers: Vec<UserId>,
}

/// What became of a [`Push`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Inboxes that have it now.
    pub pushed: u64,
    /// Readers without an inbox.
    pub no_inbox: u64,
    /// Inboxes that do not reach that far down.
    pub below_floor: u64,
    /// Readers whose inboxes need more: a [`PushOne`].
    pub left: Vec<UserId>,
}

impl Operation for Push {
    type Output = Pushed;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let names = self.readers.iter().flat_map(|&reader| [keys.inbox(reader), keys.feed(reader)]).collect();
        let args = vec![micros(self.entry.at), value::of_bytes(&self.entry.member())];
        Ok(Call::script(&script::PUSH, SlotGroup::new(names)?, args))
    }

    fn answer(&self, answer: Value) -> Result<Pushed, StoreError> {
        let [pushed, no_inbox, below_floor, left] = value::array_of(answer)?;
        let left = value::array(left)?.into_iter().map(|number| {
            let reader = self.readers.get(value::number::<usize>(&number)?);
            reader.copied().ok_or_else(|| value::unexpected("the number of a reader", &number))
        });
        Ok(Pushed {
            pushed: value::number(&pushed)?,
            no_inbox: value::number(&no_inbox)?,
            below_floor: value::number(&below_floor)?,
            left: left.collect::<Result<_, _>>()?,
        })
    }
}

/// Brings a post to an inbox and makes room for it. See `place.lua`.
#[derive(Clone, Copy, Debug)]
pub struct PushOne {
    /// The post.
    pub entry: FeedEntry,
    /// Whose inbox.
    pub reader: UserId,
    /// Most entries of an inbox.
    pub cap: u32,
}

impl Operation for PushOne {
    type Output = Pushed;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let mut names = vec![keys.inbox(self.reader), keys.feed(self.reader)];
        names.extend(inbox_segments(keys, self.reader, self.cap));
        let args = vec![self.cap.into(), micros(self.entry.at), value::of_bytes(&self.entry.member())];
        Ok(Call::script(&script::PLACE, SlotGroup::new(names)?, args))
    }

    fn answer(&self, answer: Value) -> Result<Pushed, StoreError> {
        let outcome = value::number::<u8>(&answer)?;
        let [no_inbox, pushed, below_floor] = [0, 1, 2].map(|known| u64::from(outcome == known));
        Ok(Pushed { pushed, no_inbox, below_floor, left: Vec::new() })
    }
}

/// The keys of all segments that an inbox may have.
pub fn inbox_segments(keys: &Keyspace, reader: UserId, cap: u32) -> impl Iterator<Item = Key> {
    let most = if cap <= MOST_IN_HEAD { 0 } else { cap / ENTRIES_OF_SEGMENT + SPARE_SEGMENTS };
    (1..=most).map(move |number| keys.inbox_segment(reader, number))
}

/// The keys of an inbox and what decides on its entries.
fn whole(keys: &Keyspace, reader: UserId, cap: u32) -> Result<SlotGroup, StoreError> {
    let mut names = vec![keys.inbox(reader), keys.feed(reader)];
    names.extend(following_keys(keys, reader));
    names.extend([keys.state(reader), keys.muting(reader), keys.mute_ends(reader)]);
    names.extend([keys.kept(reader), keys.kept_since(reader)]);
    names.extend(inbox_segments(keys, reader, cap));
    Ok(SlotGroup::new(names)?)
}

/// Reads an inbox, and makes an empty one where there is none. See `scroll.lua`.
#[derive(Clone, Debug)]
pub struct Scroll {
    /// Whose.
    pub reader: UserId,
    /// From where; `None`: from the newest.
    pub from: Option<Place>,
    /// Most entries, 1 to 1,000.
    pub limit: usize,
    /// The name of a new inbox, unlike any other's.
    pub name: u64,
    /// For how long it is the caller's to fill.
    pub lease: Duration,
    /// How long an inbox is kept that nobody reads.
    pub idle: Duration,
    /// Most entries of an inbox.
    pub cap: u32,
}

/// The state of an inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbox {
    /// There was none, or it was given up; the caller is to fill it.
    New,
    /// Somebody else is filling it.
    Building,
    /// It is exact down to its floor, for all authors but those that are being merged.
    Live {
        /// Its name.
        name: u64,
        /// At this entry and below it has nothing; `None`: it has everything.
        floor: Option<FeedEntry>,
        /// The authors whose posts it may lack, each with the time of following.
        merging: Vec<(UserId, Micros)>,
        /// The authors whose posts it does not have, each with the time of following.
        pulled: Vec<(UserId, Micros)>,
        /// The authors who are not followed any more, and of whose kept posts it may lack some.
        unkept: Vec<Kept>,
        /// The entries, newest first; fewer than asked for: there are no more.
        entries: Vec<FeedEntry>,
        /// Those of the entries' authors who are not followed any more.
        kept: Vec<Kept>,
    },
}

impl Operation for Scroll {
    type Output = Inbox;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let [score, member] = self.from.map_or_else(|| ["".into(), "".into()], Place::in_inbox);
        let args = vec![
            self.reader.get().into(),
            score,
            member,
            (self.limit as i64).into(),
            self.name.to_string().into(),
            millis(self.lease),
            millis(self.idle),
            self.cap.into(),
        ];
        Ok(Call::script(&script::SCROLL, whole(keys, self.reader, self.cap)?, args))
    }

    fn answer(&self, answer: Value) -> Result<Inbox, StoreError> {
        let mut parts = value::array(answer)?.into_iter();
        let mut next = || parts.next().unwrap_or(Value::Null);
        match value::text(&next())? {
            "new" => Ok(Inbox::New),
            "building" => Ok(Inbox::Building),
            _live => Ok(Inbox::Live {
                name: value::number(&next())?,
                floor: floor(&next())?,
                merging: authors(next())?,
                pulled: authors(next())?,
                unkept: all_kept(next())?,
                entries: value::pairs(next())?
                    .into_iter()
                    .map(|[member, at]| entry(value::score(&at)?, value::bytes(&member)?))
                    .collect::<Result<_, _>>()?,
                kept: all_kept(next())?,
            }),
        }
    }
}

fn authors(answer: Value) -> Result<Vec<(UserId, Micros)>, StoreError> {
    let pairs = value::pairs(answer)?.into_iter();
    pairs.map(|[author, since]| Ok((value::user(&author)?, value::score(&since)?))).collect()
}

/// Merges entries of timelines into an inbox. See `merge.lua`.
#[derive(Clone, Debug)]
pub struct Merge {
    /// Whose inbox.
    pub reader: UserId,
    /// The name of the inbox that the entries were read for.
    pub name: u64,
    /// Most entries of an inbox.
    pub cap: u32,
    /// At most 64 entries.
    pub entries: Vec<FeedEntry>,
    /// What is complete with these entries.
    pub completes: Merging,
}

/// What is complete once entries are merged.
#[derive(Clone, Debug, Default)]
pub struct Merging {
    /// The inbox is filled.
    pub fills: bool,
    /// At this entry and below the inbox is not complete.
    pub floor: Option<FeedEntry>,
    /// At most 64 authors whose posts the inbox may lack from now on, each with the time of following.
    pub merging: Vec<(UserId, Micros)>,
    /// At most 64 authors whose posts are not pushed to the inbox, each with the time of following.
    pub pulled: Vec<(UserId, Micros)>,
    /// At most 64 authors of whom the inbox has all posts now, each with why it lacked some.
    pub merged: Vec<(UserId, Lack)>,
}

/// Why an inbox may lack posts of an author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// The author is followed since that time.
    Followed(Micros),
    /// What was published in that time is kept.
    Kept(Window),
}

impl Lack {
    fn mark(self) -> Value {
        match self {
            Self::Followed(since) => micros(since),
            Self::Kept(Window { from, until }) => format!("k{} {}", from.get(), until.get()).into(),
        }
    }
}

impl Operation for Merge {
    /// Whether the inbox is still that of this name. If not, nothing was done.
    type Output = bool;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let Merging { fills, floor, merging, pulled, merged } = &self.completes;
        let [score, member] = match floor {
            Some(floor) => [micros(floor.at), value::of_bytes(&floor.member())],
            None => ["".into(), "".into()],
        };
        let mut args = vec![self.name.to_string().into(), self.cap.into(), score, member, i64::from(*fills).into()];
        for authors in [merging, pulled] {
            args.push((authors.len() as i64).into());
            args.extend(authors.iter().flat_map(|&(author, since)| [author.get().into(), micros(since)]));
        }
        args.push((merged.len() as i64).into());
        args.extend(merged.iter().flat_map(|&(author, lack)| [author.get().into(), lack.mark()]));
        args.extend(self.entries.iter().flat_map(|entry| [micros(entry.at), value::of_bytes(&entry.member())]));
        Ok(Call::script(&script::MERGE, whole(keys, self.reader, self.cap)?, args))
    }

    fn answer(&self, answer: Value) -> Result<bool, StoreError> {
        Ok(value::number::<u8>(&answer)? == 1)
    }
}

/// Removes an author's posts from an inbox, unless the reader follows them. See `purge.lua`.
#[derive(Clone, Copy, Debug)]
pub struct Purge {
    /// Whose inbox.
    pub reader: UserId,
    /// Whose posts.
    pub author: UserId,
    /// Most entries of an inbox.
    pub cap: u32,
}

impl Operation for Purge {
    /// Whether there may be more to remove.
    type Output = bool;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let author = self.author.get();
        let args = vec![author.into(), value::of_bytes(&author.to_be_bytes()), self.cap.into()];
        Ok(Call::script(&script::PURGE, whole(keys, self.reader, self.cap)?, args))
    }

    fn answer(&self, answer: Value) -> Result<bool, StoreError> {
        Ok(value::number::<u64>(&answer)? == 64)
    }
}

/// Takes entries out of an inbox whose posts are not there. See `forget.lua`.
#[derive(Clone, Debug)]
pub struct Forget {
    /// Whose inbox.
    pub reader: UserId,
    /// The entries, 1 to 64.
    pub entries: Vec<FeedEntry>,
    /// Most entries of an inbox.
    pub cap: u32,
}

impl Operation for Forget {
    type Output = ();

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let mut names = vec![keys.inbox(self.reader), keys.feed(self.reader)];
        names.extend(inbox_segments(keys, self.reader, self.cap));
        let mut args = vec![self.cap.into()];
        args.extend(self.entries.iter().flat_map(|entry| [micros(entry.at), value::of_bytes(&entry.member())]));
        Ok(Call::script(&script::FORGET, SlotGroup::new(names)?, args))
    }

    fn answer(&self, _removed: Value) -> Result<(), StoreError> {
        Ok(())
    }
}

/// `<score> <member>`, or nothing.
fn floor(value: &Value) -> Result<Option<FeedEntry>, StoreError> {
    let bytes = value::bytes(value)?;
    let Some(blank) = bytes.iter().position(|&byte| byte == b' ') else { return Ok(None) };
    let score = str::from_utf8(&bytes[..blank]).map_err(|_| value::unexpected("a score", value))?;
    entry(value::score_text(score)?, &bytes[blank + 1..]).map(Some)
}

fn entry(at: Micros, member: &[u8]) -> Result<FeedEntry, StoreError> {
    FeedEntry::of_member(at, member).ok_or_else(|| StoreError::Refused(format!("no member of an inbox: {member:02x?}")))
}

fn micros(time: Micros) -> Value {
    time.get().cast_signed().into()
}

fn millis(duration: Duration) -> Value {
    (duration.as_millis() as i64).into()
}
