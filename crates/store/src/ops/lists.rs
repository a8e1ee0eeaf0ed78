//! Reads of lists.

use fred::types::Value;
use keyspace::{Keyspace, List, Partition};
use model::{Entry, Micros, Order, UserId, Version, Window};

use super::Operation;
use crate::{StoreError, call::Call, script, value};

/// Since when a user follows another, if they do.
#[derive(Clone, Copy, Debug)]
pub struct IsFollowing {
    /// Who follows.
    pub follower: UserId,
    /// Who is followed.
    pub followee: UserId,
}

impl Operation for IsFollowing {
    type Output = Option<Micros>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("ZSCORE", keys.following(self.follower), [self.followee.get()]))
    }

    fn answer(&self, answer: Value) -> Result<Option<Micros>, StoreError> {
        value::optional_score(&answer)
    }
}

/// Since when a user follows each of 1 to 1,000 others, in the order given.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Who follows.
    pub follower: UserId,
    /// Whom to ask about.
    pub followees: Vec<UserId>,
}

impl Operation for Probe {
    type Output = Vec<Option<Micros>>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let followees = self.followees.iter().map(|followee| followee.get());
        Ok(Call::command("ZMSCORE", keys.following(self.follower), followees))
    }

    fn answer(&self, answer: Value) -> Result<Vec<Option<Micros>>, StoreError> {
        let scores = value::array(answer)?;
        if scores.len() != self.followees.len() {
            return Err(value::unexpected("as many scores as were asked for", &Value::Array(scores)));
        }
        scores.iter().map(value::optional_score).collect()
    }
}

/// The length of a list.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// Which list.
    pub list: List,
    /// Whose.
    pub user: UserId,
}

impl Operation for Count {
    type Output = u64;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("ZCARD", keys.list(self.list, self.user), [0_i64; 0]))
    }

    fn answer(&self, answer: Value) -> Result<u64, StoreError> {
        value::number(&answer)
    }
}

/// Entries of a list by time.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Which list.
    pub list: List,
    /// Whose.
    pub user: UserId,
    /// Which end first.
    pub order: Order,
    /// Only entries of this span.
    pub window: Window,
    /// Most entries, 1 to 1,000.
    pub limit: usize,
}

impl Operation for Page {
    type Output = Vec<Entry>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let (from, until) = (micros(self.window.from), micros(self.window.until));
        let mut args = match self.order {
            Order::OldestFirst => vec![from, until, "BYSCORE".into()],
            Order::NewestFirst => vec![until, from, "BYSCORE".into(), "REV".into()],
        };
        args.extend(["LIMIT".into(), Value::Integer(0), Value::Integer(self.limit as i64), "WITHSCORES".into()]);
        Ok(Call::command("ZRANGE", keys.list(self.list, self.user), args))
    }

    fn answer(&self, answer: Value) -> Result<Vec<Entry>, StoreError> {
        value::entries(answer)
    }
}

/// How many entries of a list come before a given one, oldest first. See `rank.lua`.
#[derive(Clone, Copy, Debug)]
pub struct Rank {
    /// Which list.
    pub list: List,
    /// Whose.
    pub user: UserId,
    /// The entry, which need not be there.
    pub entry: Entry,
}

impl Operation for Rank {
    type Output = u64;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let args = vec![micros(self.entry.at), self.entry.user.get().to_string().into()];
        Ok(Call::script(&script::RANK, keys.list(self.list, self.user).into(), args))
    }

    fn answer(&self, answer: Value) -> Result<u64, StoreError> {
        value::number(&answer)
    }
}

/// Entries of a list by rank, oldest first.
#[derive(Clone, Copy, Debug)]
pub struct RankPage {
    /// Which list.
    pub list: List,
    /// Whose.
    pub user: UserId,
    /// The rank of the first entry.
    pub start: u64,
    /// Most entries, 1 to 1,000.
    pub limit: usize,
}

impl Operation for RankPage {
    type Output = Vec<Entry>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let start = self.start.cast_signed();
        let args = [start.into(), (start + self.limit as i64 - 1).into(), Value::from_static_str("WITHSCORES")];
        Ok(Call::command("ZRANGE", keys.list(self.list, self.user), args))
    }

    fn answer(&self, answer: Value) -> Result<Vec<Entry>, StoreError> {
        value::entries(answer)
    }
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
