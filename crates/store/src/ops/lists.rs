//! Reads of lists.

use fred::types::Value;
use keyspace::{Chain, Key, Keyspace, List, Partition, SlotGroup};
use model::{Entry, Micros, Order, UserId, Version, Window};

use super::Operation;
use crate::{StoreError, call::Call, script, value};

/// With so many rows for one list, its head will probably be full: a script that has the key of a new segment need not ask for it.
pub(super) const MANY_ROWS: usize = 16;

/// The keys of a list: its head, and its parts.
pub(super) fn list_keys(keys: &Keyspace, list: List, user: UserId) -> [Key; 2] {
    [keys.list(list, user), keys.list_parts(list, user)]
}

/// The keys of the list of whom a user follows: its head, its parts, and the members of its segments.
pub(super) fn following_keys(keys: &Keyspace, user: UserId) -> [Key; 3] {
    [keys.following(user), keys.list_parts(List::Following, user), keys.following_ids(user)]
}

/// Whether a user follows each of 1 to 1,000 others, in the order given. See `probe.lua`.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Who follows.
    pub follower: UserId,
    /// Whom to ask about.
    pub followees: Vec<UserId>,
}

/// Whether somebody follows somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probed {
    /// No.
    Not,
    /// Yes, since then.
    Since(Micros),
    /// Yes; since when would have taken too long to look for among so many.
    Sometime,
}

impl Operation for Probe {
    type Output = Vec<Probed>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let followees = self.followees.iter().map(|followee| followee.get().into()).collect();
        let group = SlotGroup::new(following_keys(keys, self.follower).into())?;
        Ok(Call::script(&script::PROBE, group, followees))
    }

    fn answer(&self, answer: Value) -> Result<Vec<Probed>, StoreError> {
        let scores = value::array(answer)?;
        if scores.len() != self.followees.len() {
            return Err(value::unexpected("as many scores as were asked for", &Value::Array(scores)));
        }
        let probed = |score: &Value| match value::text(score) {
            Ok("m") => Ok(Probed::Sometime),
            _ => Ok(value::optional_score(score)?.map_or(Probed::Not, Probed::Since)),
        };
        scores.iter().map(probed).collect()
    }
}

/// The lengths of a user's lists. See `counts.lua`.
#[derive(Clone, Copy, Debug)]
pub struct Count(pub UserId);

/// How long lists are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// How many users the user follows.
    pub following: u64,
    /// How many users follow the user.
    pub followers: u64,
    /// How many posts the user has published.
    pub posts: u64,
}

impl Operation for Count {
    type Output = Counts;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let mut names = Vec::with_capacity(6);
        names.extend(list_keys(keys, List::Following, self.0));
        names.extend(list_keys(keys, List::Followers, self.0));
        names.extend([keys.posts(self.0), keys.posts_parts(self.0)]);
        Ok(Call::script(&script::COUNTS, SlotGroup::new(names)?, Vec::new()))
    }

    fn answer(&self, answer: Value) -> Result<Counts, StoreError> {
        let [following, followers, posts] = value::array_of(answer)?;
        Ok(Counts {
            following: value::number(&following)?,
            followers: value::number(&followers)?,
            posts: value::number(&posts)?,
        })
    }
}

/// Reads on in a list. See `range.lua`.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Which list.
    pub list: List,
    /// Whose.
    pub user: UserId,
    /// Which end first.
    pub order: Order,
    /// Only entries of this span; a few may be beyond its end.
    pub window: Window,
    /// Only entries after this one, which need not be there.
    pub after: Option<Entry>,
    /// Most entries, 1 to 1,000.
    pub limit: usize,
}

impl Operation for Range {
    /// The entries. Fewer than asked for: there are no more in the window.
    type Output = Vec<Entry>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let Window { from, until } = self.window;
        let (direction, start, last) = match self.order {
            Order::NewestFirst => ("down", (until.get() + 1, String::new()), from),
            Order::OldestFirst => ("up", (from.get(), String::new()), until),
        };
        let after = self.after.map(|after| match self.order {
            Order::NewestFirst => (after.at.get(), after.user.to_string()),
            // A member is below the same with a byte more.
            Order::OldestFirst => (after.at.get(), format!("{}\0", after.user)),
        });
        let place = match self.order {
            Order::NewestFirst => after.map_or(start.clone(), |after| after.min(start)),
            Order::OldestFirst => after.map_or(start.clone(), |after| after.max(start)),
        };
        let args = vec![
            Value::from_static_str(direction),
            place.0.cast_signed().into(),
            place.1.into(),
            (self.limit as i64).into(),
            micros(last),
        ];
        let group = SlotGroup::new(list_keys(keys, self.list, self.user).into())?;
        Ok(Call::script(&script::RANGE, group, args))
    }

    fn answer(&self, answer: Value) -> Result<Vec<Entry>, StoreError> {
        let parts = value::array(answer)?;
        let mut all = Vec::with_capacity(self.limit.min(64 * parts.len()));
        for part in &parts {
            all.extend(entries(part)?);
        }
        Ok(all)
    }
}

/// The newest segments of a list.
#[derive(Clone, Debug)]
pub struct NewestSegments {
    /// The list's head.
    pub head: Key,
    /// The list's parts.
    pub parts: Key,
    /// Most segments.
    pub limit: u32,
}

impl Operation for NewestSegments {
    type Output = Vec<Key>;

    fn call(&self, _keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("ZRANGE", self.parts.clone(), [-i64::from(self.limit), -1]))
    }

    fn answer(&self, answer: Value) -> Result<Vec<Key>, StoreError> {
        // The lowest member counts entries.
        let names = value::array(answer)?.into_iter().filter(|name| name.as_bytes() != Some(b""));
        let segment = |name: Value| {
            let id = value::bytes(&name)?.rsplit(|&byte| byte == b' ').next().and_then(|id| str::from_utf8(id).ok());
            Ok(self.head.segment(id.ok_or_else(|| value::unexpected("the name of a segment", &name))?))
        };
        names.map(segment).collect()
    }
}

/// Makes segments of what the head of a list of the first format has too much. See `convert.lua`.
#[derive(Clone, Copy, Debug)]
pub struct Convert(pub Chain);

/// What became of a [`Convert`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Converted {
    /// How many segments were made.
    pub segments: u64,
    /// Whether the head still has too much.
    pub has_more: bool,
}

impl Operation for Convert {
    type Output = Converted;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let names = match self.0 {
            Chain::Follows(List::Following, user) => following_keys(keys, user).into(),
            Chain::Follows(List::Followers, user) => list_keys(keys, List::Followers, user).into(),
            Chain::Posts(author) => vec![keys.posts(author), keys.posts_parts(author)],
        };
        Ok(Call::script(&script::CONVERT, SlotGroup::new(names)?, Vec::new()))
    }

    fn answer(&self, answer: Value) -> Result<Converted, StoreError> {
        let [segments, has_more] = value::array_of(answer)?;
        Ok(Converted { segments: value::number(&segments)?, has_more: value::number::<u8>(&has_more)? == 1 })
    }
}

/// Reads a list that is one key, or tells the segments of a longer one. See `outline.lua`.
#[derive(Clone, Copy, Debug)]
pub struct Outline {
    /// Which list.
    pub list: List,
    /// Whose.
    pub user: UserId,
    /// The number of the first segment, from 0 for the oldest.
    pub first: usize,
}

/// How a list lies in its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outlined {
    /// All entries, oldest first.
    Entries(Vec<Entry>),
    /// Segments, oldest first, and besides them a head; fewer than [`MOST_SEGMENTS`]: there are no more.
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

impl Operation for Outline {
    type Output = Outlined;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let group = SlotGroup::new(list_keys(keys, self.list, self.user).into())?;
        Ok(Call::script(&script::OUTLINE, group, vec![(self.first as i64).into(), (MOST_SEGMENTS as i64).into()]))
    }

    fn answer(&self, answer: Value) -> Result<Outlined, StoreError> {
        let [is_long, rows] = value::array_of(answer)?;
        if value::number::<u8>(&is_long)? == 0 {
            return entries(&rows).map(Outlined::Entries);
        }
        let words: Vec<_> = value::text(&rows)?.split_ascii_whitespace().collect();
        let segments = words.chunks(3).map(|row| match row {
            [member, id, at] => Ok(Segment { bound: entry(member, at)?, id: (*id).to_owned() }),
            _ => Err(value::unexpected("a segment", &rows)),
        });
        segments.collect::<Result<_, _>>().map(Outlined::Segments)
    }
}

/// Reads some segments that follow each other, or the head. See `range.lua`.
#[derive(Clone, Debug)]
pub struct Span {
    /// Which list.
    pub list: List,
    /// Whose.
    pub user: UserId,
    /// Only entries after this one.
    pub after: Option<Entry>,
    /// The segments, 1 to 7, oldest first; none for the head.
    pub segments: Vec<Segment>,
}

impl Operation for Span {
    /// The entries up to the last segment's bound, oldest first. `None`: more than 1,000 came meanwhile.
    type Output = Option<Vec<Entry>>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let ids: Vec<_> = self.segments.iter().map(|segment| segment.id.clone()).collect();
        Ok(self.range().call(keys)?.with_segments(&ids))
    }

    fn answer(&self, answer: Value) -> Result<Option<Vec<Entry>>, StoreError> {
        let range = self.range();
        let mut entries = range.answer(answer)?;
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

impl Span {
    fn range(&self) -> Range {
        let until = self.segments.last().map_or(Micros::MAX, |segment| segment.bound.at);
        let window = Window { until, ..Window::ALL };
        let (list, user, order, after) = (self.list, self.user, Order::OldestFirst, self.after);
        Range { list, user, order, window, after, limit: 1_000 }
    }
}

/// Members and scores in turn, with blanks in between.
fn entries(text: &Value) -> Result<Vec<Entry>, StoreError> {
    let mut words = value::text(text)?.split_ascii_whitespace();
    let rows = std::iter::from_fn(|| Some((words.next()?, words.next().unwrap_or_default())));
    rows.map(|(member, at)| entry(member, at)).collect()
}

fn entry(member: &str, at: &str) -> Result<Entry, StoreError> {
    let id = member.parse().ok().and_then(|id| UserId::new(id).ok());
    let user = id.ok_or_else(|| StoreError::Refused(format!("expected a user id, got {member:?}")))?;
    Ok(Entry { at: value::score_text(at)?, user })
}

/// The last version given out in a partition; 0 if none was.
#[derive(Clone, Copy, Debug)]
pub struct Clock(pub Partition);

impl Operation for Clock {
    type Output = Version;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("GET", keys.clock(self.0), [0_i64; 0]))
    }

    fn answer(&self, answer: Value) -> Result<Version, StoreError> {
        if answer.is_null() { Ok(Version::default()) } else { value::number(&answer).map(Version) }
    }
}

fn micros(time: Micros) -> Value {
    Value::Integer(time.get().cast_signed())
}
