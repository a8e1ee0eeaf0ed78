//! Reads of whole lists, by their segments.

use fred::types::Value;
use keyspace::{Keyspace, List, Shard, SlotGroup};
use model::{Entry, Micros, Order, UserId, Window};

use super::{
    Operation, Place, Range, RangePart, Stretch,
    lists::{entries, entry, part_keys, user},
};
use crate::{StoreError, call::Call, script, value};

/// Reads a list that is one key, or tells the segments of a longer one. See `outline.lua`.
#[derive(Clone, Copy, Debug)]
pub struct Outline {
    /// Which list.
    pub list: List,
    /// Whose.
    pub user: UserId,
    /// A shard of it; `None` for what is not in shards.
    pub shard: Option<Shard>,
    /// The number of the first segment, from 0 for the oldest.
    pub first: usize,
}

/// How a list lies in its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outlined {
    /// All entries, oldest first.
    Entries(Vec<Entry>),
    /// Segments, oldest first, and besides them a head; fewer than [`MOST_SEGMENTS`]: there are no more. The first ones may be shards.
    Segments(Vec<Segment>),
}

/// Most segments of one [`Outline`].
pub const MOST_SEGMENTS: usize = 1_000;

/// An older part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// A place that no entry of the segment is after.
    pub bound: Entry,
    id: String,
}

impl Segment {
    /// The id of the segment that a place belongs into, of segments oldest first; `None` if it is after all of them.
    pub(super) fn id_at(segments: &[Self], place: Entry) -> Option<&str> {
        let at = segments.partition_point(|segment| segment.bound < place);
        segments.get(at).map(|segment| segment.id.as_str())
    }

    /// The shard that it is, if it is one.
    pub fn shard(&self) -> Option<Shard> {
        Shard::parse(&self.id)
    }
}

impl Operation for Outline {
    type Output = Outlined;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let group = SlotGroup::new(part_keys(keys, self.list, self.user, self.shard).into())?;
        Ok(Call::script(&script::OUTLINE, group, vec![(self.first as i64).into(), (MOST_SEGMENTS as i64).into()]))
    }

    fn answer(&self, answer: Value) -> Result<Outlined, StoreError> {
        let [is_long, rows] = value::array_of(answer)?;
        if value::number::<u8>(&is_long)? == 0 {
            return entries(&rows).map(Outlined::Entries);
        }
        segments(&rows).map(Outlined::Segments)
    }
}

/// Names of segments and scores of their bounds in turn, with blanks in between.
pub(super) fn segments(text: &Value) -> Result<Vec<Segment>, StoreError> {
    let words: Vec<_> = value::text(text)?.split_ascii_whitespace().collect();
    let segments = words.chunks(3).map(|row| match row {
        [member, id, at] => Ok(Segment { bound: entry(member, at)?, id: (*id).to_owned() }),
        _ => Err(value::unexpected("a segment", text)),
    });
    segments.collect()
}

/// Reads some segments that follow each other, or the head. See `range.lua`.
#[derive(Clone, Debug)]
pub struct Span {
    /// Which list.
    pub list: List,
    /// Whose.
    pub user: UserId,
    /// A shard of it; `None` for what is not in shards.
    pub shard: Option<Shard>,
    /// Only entries after this one.
    pub after: Option<Entry>,
    /// The segments, 1 to 7, oldest first; none for the head. Not shards.
    pub segments: Vec<Segment>,
}

impl Operation for Span {
    /// The entries up to the last segment's bound, oldest first. `None`: more than 1,000 came meanwhile, or some went to a shard.
    type Output = Option<Vec<Entry>>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        self.call_of(false, keys)
    }

    fn answer(&self, answer: Value) -> Result<Option<Vec<Entry>>, StoreError> {
        let range = self.range();
        let RangePart { mut entries, stretch: None } = range.answer(answer)? else { return Ok(None) };
        let is_cut = entries.len() == range.limit;
        let bound = self.segments.last().map(|segment| segment.bound);
        let is_beyond = |entry: &Entry| bound.is_some_and(|bound| *entry > bound);
        if is_cut && !entries.last().is_some_and(is_beyond) {
            return Ok(None);
        }
        entries.retain(|entry| !is_beyond(entry));
        Ok(Some(entries))
    }
}

/// Reads the users of a span without their times, which costs Redis about half.
#[derive(Clone, Copy, Debug)]
pub struct SpanUsers<'a>(pub &'a Span);

impl Operation for SpanUsers<'_> {
    /// The users, and perhaps some who come after the last segment's bound. `None` as of a [`Span`], or where segments came meanwhile.
    type Output = Option<Vec<UserId>>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        self.0.call_of(true, keys)
    }

    fn answer(&self, answer: Value) -> Result<Option<Vec<UserId>>, StoreError> {
        let (parts, segments) = (value::array(answer)?, self.0.segments.len());
        // A shard may have more than belongs to the list, but only after the bound: in segments that were not asked for.
        if parts.iter().any(Value::is_array) || segments > 0 && parts.len() > segments {
            return Ok(None);
        }
        let mut users = Vec::new();
        for part in &parts {
            for member in value::text(part)?.split_ascii_whitespace() {
                users.push(user(member)?);
            }
        }
        Ok(Some(users).filter(|users| users.len() < self.0.range().limit))
    }
}

impl Span {
    fn call_of(&self, users_alone: bool, keys: &Keyspace) -> Result<Call, StoreError> {
        let ids = self.segments.iter().map(|segment| segment.id.as_str());
        let last = ids.clone().next_back().unwrap_or_default();
        Ok(self.range().call_until(last, users_alone, keys)?.with_segments(ids))
    }

    fn range(&self) -> Range {
        let until = self.segments.last().map_or(Micros::MAX, |segment| segment.bound.at);
        let window = Window { until, ..Window::ALL };
        let (list, user, order, from) = (self.list, self.user, Order::OldestFirst, self.after.map(Place::After));
        let bound = self.segments.last().map(|segment| segment.bound);
        let stretch = self.shard.zip(bound).map(|(shard, bound)| Stretch { shard, bound, before: self.after });
        Range { list, user, stretch, order, window, from, limit: 1_000 }
    }
}
