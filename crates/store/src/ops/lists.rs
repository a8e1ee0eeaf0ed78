//! Reads of lists.

use fred::types::Value;
use keyspace::{Chain, Key, Keyspace, List, Partition, Shard, SlotGroup};
use model::{Entry, Micros, Order, UserId, Version, Window};

use super::{Operation, Place, Segment, whole_lists::segments};
use crate::{StoreError, call::Call, script, value};

/// With so many rows for one list, its head will probably be full: a script that has the key of a new segment need not ask for it.
pub(super) const MANY_ROWS: usize = 16;

/// The keys of a list: its head, and its parts.
pub(super) fn list_keys(keys: &Keyspace, list: List, user: UserId) -> [Key; 2] {
    [keys.list(list, user), keys.list_parts(list, user)]
}

/// The same of what lies in a shard, if one is given.
pub(super) fn part_keys(keys: &Keyspace, list: List, user: UserId, shard: Option<Shard>) -> [Key; 2] {
    shard.map_or_else(|| list_keys(keys, list, user), |shard| [keys.shard(user, shard), keys.shard_parts(user, shard)])
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

/// What became of a [`Probe`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbedAll {
    /// What is known of each, in the order given.
    pub of_each: Vec<Probed>,
    /// The segments of the list, if since when is not known of some; of 1,000 there may be more.
    pub segments: Vec<Segment>,
}

impl Operation for Probe {
    type Output = ProbedAll;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let followees = self.followees.iter().map(|followee| followee.get().into()).collect();
        let group = SlotGroup::new(following_keys(keys, self.follower).into())?;
        Ok(Call::script(&script::PROBE, group, followees))
    }

    fn answer(&self, answer: Value) -> Result<ProbedAll, StoreError> {
        let mut scores = value::array(answer)?;
        let segments = match scores.get(self.followees.len()) {
            Some(_) => segments(&scores.remove(self.followees.len()))?,
            None => Vec::new(),
        };
        if scores.len() != self.followees.len() {
            return Err(value::unexpected("as many scores as were asked for", &Value::Array(scores)));
        }
        Ok(ProbedAll { of_each: scores.iter().map(probed).collect::<Result<_, _>>()?, segments })
    }
}

/// Which of 1 to 64 users of one partition follow a user. See `probe_followers.lua`.
#[derive(Clone, Debug)]
pub struct ProbeFollowers {
    /// Who may follow.
    pub followers: Vec<UserId>,
    /// Whom.
    pub followee: UserId,
}

impl Operation for ProbeFollowers {
    /// What is known of each, in the order given.
    type Output = Vec<Probed>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let names = self.followers.iter().flat_map(|&user| [keys.following(user), keys.following_ids(user)]);
        let group = SlotGroup::new(names.collect())?;
        Ok(Call::script(&script::PROBE_FOLLOWERS, group, vec![self.followee.get().into()]))
    }

    fn answer(&self, answer: Value) -> Result<Vec<Probed>, StoreError> {
        let scores = value::array(answer)?;
        if scores.len() != self.followers.len() {
            return Err(value::unexpected("as many scores as were asked for", &Value::Array(scores)));
        }
        scores.iter().map(probed).collect()
    }
}

/// A score, `m` for one that was not looked for, or none.
fn probed(score: &Value) -> Result<Probed, StoreError> {
    match value::text(score) {
        Ok("m") => Ok(Probed::Sometime),
        _ => Ok(value::optional_score(score)?.map_or(Probed::Not, Probed::Since)),
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
    /// A stretch of it; `None` for what is not in shards.
    pub stretch: Option<Stretch>,
    /// Which end first.
    pub order: Order,
    /// Only entries of this span; a few may be beyond its end.
    pub window: Window,
    /// From where; `None`: from the first.
    pub from: Option<Place<Entry>>,
    /// Most entries, 1 to 1,000.
    pub limit: usize,
}

/// What a shard has of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The shard.
    pub shard: Shard,
    /// A place that none of its entries is after.
    pub bound: Entry,
    /// The same of the shard before: all of its entries are after it.
    pub before: Option<Entry>,
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangePart {
    /// The entries. Fewer than asked for, and no stretch: there are no more in the window.
    pub entries: Vec<Entry>,
    /// Where the list goes on, if that is in a shard.
    pub stretch: Option<Stretch>,
}

impl Range {
    /// Score and member of the place to read from: oldest first, what is at or above it comes; newest first, what is below it.
    fn place(&self) -> (u64, String) {
        let at = |entry: Entry| (entry.at.get(), entry.user.to_string());
        // Just above a member, and below the name of the part whose bound it is: a member, a blank, and more.
        let above = |entry: Entry| (entry.at.get(), format!("{}\0", entry.user));
        // Above that name as well, so that what comes after a part does not begin with it.
        let above_part = |entry: Entry| (entry.at.get(), format!("{}!", entry.user));
        match self.order {
            Order::NewestFirst => {
                let from = self.from.map(|from| match from {
                    Place::After(entry) => at(entry),
                    Place::At(entry) => above(entry),
                });
                let bound = self.stretch.map(|stretch| above(stretch.bound));
                let start = (self.window.until.get() + 1, String::new());
                [from, bound].into_iter().flatten().fold(start, Ord::min)
            }
            Order::OldestFirst => {
                let from = self.from.map(|from| match from {
                    Place::After(entry) => above_part(entry),
                    Place::At(entry) => at(entry),
                });
                from.into_iter().fold((self.window.from.get(), String::new()), Ord::max)
            }
        }
    }
}

impl Range {
    /// Reads on, at most to the end of a segment: users alone, or with their times.
    pub(super) fn call_until(
        &self,
        last_segment: &str,
        users_alone: bool,
        keys: &Keyspace,
    ) -> Result<Call, StoreError> {
        let (direction, last) = match self.order {
            Order::NewestFirst => ("down", self.window.from),
            Order::OldestFirst => ("up", self.window.until),
        };
        let (score, member) = self.place();
        let args = vec![
            Value::from_static_str(direction),
            score.cast_signed().into(),
            member.into(),
            (self.limit as i64).into(),
            micros(last),
            last_segment.into(),
            Value::from_static_str(if users_alone { "members" } else { "" }),
        ];
        let names = part_keys(keys, self.list, self.user, self.stretch.map(|stretch| stretch.shard));
        Ok(Call::script(&script::RANGE, SlotGroup::new(names.into())?, args))
    }
}

impl Operation for Range {
    type Output = RangePart;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        self.call_until("", false, keys)
    }

    fn answer(&self, answer: Value) -> Result<RangePart, StoreError> {
        let mut parts = value::array(answer)?;
        let stretch = match parts.pop_if(|part| part.is_array()) {
            Some(told) => Some(stretch(&value::array(told)?)?),
            None => None,
        };
        let mut all = Vec::with_capacity(self.limit.min(64 * parts.len()));
        for part in &parts {
            all.extend(entries(part)?);
        }
        if let Some(stretch) = self.stretch {
            all.retain(|entry| *entry <= stretch.bound);
        }
        Ok(RangePart { entries: all, stretch })
    }
}

fn stretch(told: &[Value]) -> Result<Stretch, StoreError> {
    let texts = told.iter().map(value::text).collect::<Result<Vec<_>, _>>()?;
    let (shard, member, at, before) = match texts[..] {
        [shard, member, at] => (shard, member, at, None),
        [shard, member, at, member_before, at_before] => (shard, member, at, Some(entry(member_before, at_before)?)),
        _ => return Err(StoreError::Refused(format!("expected a shard, got {texts:?}"))),
    };
    Ok(Stretch { shard: value::shard(shard)?, bound: entry(member, at)?, before })
}

/// The newest parts of a list but the head.
#[derive(Clone, Debug)]
pub struct NewestParts {
    /// The list's head.
    pub head: Key,
    /// The list's parts.
    pub parts: Key,
    /// Most parts.
    pub limit: u32,
}

/// A part of a list but the head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A segment.
    Segment(Key),
    /// A shard.
    Shard(Shard),
}

impl Operation for NewestParts {
    type Output = Vec<Part>;

    fn call(&self, _keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("ZRANGE", self.parts.clone(), [-i64::from(self.limit), -1]))
    }

    fn answer(&self, answer: Value) -> Result<Vec<Part>, StoreError> {
        // The lowest member counts entries.
        let names = value::array(answer)?.into_iter().filter(|name| name.as_bytes() != Some(b""));
        let part = |name: Value| {
            let id = value::bytes(&name)?.rsplit(|&byte| byte == b' ').next().and_then(|id| str::from_utf8(id).ok());
            let id = id.ok_or_else(|| value::unexpected("the name of a part", &name))?;
            Ok(Shard::parse(id).map_or_else(|| Part::Segment(self.head.segment(id)), Part::Shard))
        };
        names.map(part).collect()
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
        let is_of_posts = matches!(self.0, Chain::Posts(_));
        Ok(Call::script(&script::CONVERT, SlotGroup::new(names)?, vec![i64::from(is_of_posts).into()]))
    }

    fn answer(&self, answer: Value) -> Result<Converted, StoreError> {
        let [segments, has_more] = value::array_of(answer)?;
        Ok(Converted { segments: value::number(&segments)?, has_more: value::number::<u8>(&has_more)? == 1 })
    }
}

/// Members and scores in turn, with blanks in between.
pub(super) fn entries(text: &Value) -> Result<Vec<Entry>, StoreError> {
    let mut words = value::text(text)?.split_ascii_whitespace();
    let rows = std::iter::from_fn(|| Some((words.next()?, words.next().unwrap_or_default())));
    rows.map(|(member, at)| entry(member, at)).collect()
}

pub(super) fn entry(member: &str, at: &str) -> Result<Entry, StoreError> {
    Ok(Entry { user: user(member)?, at: value::score_text(at)? })
}

pub(super) fn user(member: &str) -> Result<UserId, StoreError> {
    let id = member.parse().ok().and_then(|id| UserId::new(id).ok());
    id.ok_or_else(|| StoreError::Refused(format!("expected a user id, got {member:?}")))
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
