use std::{ops::RangeInclusive, time::Duration};

use model::{Edge, Micros, Order, PostId, UserId, Window, limits};
use prost_types::Timestamp;
use socialgraph::v1::ListOrder;
use tonic::Status;

use super::status::self_reference;
use crate::errors::{MAX_VIOLATIONS, invalid_fields};

/// Checks the fields of a request and gathers what is wrong with them, so that a caller learns of all at once.
///
/// A check of a bad field gives a placeholder, which is never used: [`Fields::finish`] fails.
#[derive(Default)]
pub(super) struct Fields {
    violations: Vec<(String, String)>,
}

impl Fields {
    /// Fails if any field was bad.
    pub(super) fn finish(self) -> Result<(), Status> {
        if self.violations.is_empty() { Ok(()) } else { Err(invalid_fields(self.violations)) }
    }

    pub(super) fn refuse(&mut self, field: &str, description: impl ToString) {
        self.violations.push((field.to_owned(), description.to_string()));
    }

    fn check<T, E: ToString>(&mut self, field: &str, checked: Result<T, E>, placeholder: T) -> T {
        checked.unwrap_or_else(|error| {
            self.refuse(field, error);
            placeholder
        })
    }

    pub(super) fn user(&mut self, field: &str, id: i64) -> UserId {
        self.check(field, UserId::new(id), UserId::MIN)
    }

    pub(super) fn post(&mut self, field: &str, id: i64) -> PostId {
        self.check(field, PostId::new(id), PostId::MIN)
    }

    /// Who looks; `None` for 0.
    pub(super) fn viewer(&mut self, id: i64) -> Option<UserId> {
        if id == 0 { None } else { Some(self.user("viewer_id", id)) }
    }

    pub(super) fn time(&mut self, field: &str, time: Timestamp, placeholder: Micros) -> Micros {
        self.check(field, Micros::from_parts(time.seconds, time.nanos), placeholder)
    }

    /// 1 to `most` ids.
    pub(super) fn users(&mut self, field: &str, ids: &[i64], most: usize) -> Vec<UserId> {
        if !(1..=most).contains(&ids.len()) {
            self.refuse(field, format!("must have 1 to {most} ids, not {}", ids.len()));
            return Vec::new();
        }
        let mut users = Vec::with_capacity(ids.len());
        for (index, &id) in ids.iter().enumerate() {
            match UserId::new(id) {
                Ok(user) => users.push(user),
                Err(error) => self.refuse(&format!("{field}[{index}]"), error),
            }
            if self.violations.len() >= MAX_VIOLATIONS {
                break;
            }
        }
        users
    }

    /// A value of an enum.
    pub(super) fn one_of<T: TryFrom<i32> + Default>(&mut self, field: &str, number: i32) -> T {
        self.check(field, T::try_from(number).map_err(|_| format!("has no value {number}")), T::default())
    }

    pub(super) fn page_size(&mut self, size: i32) -> usize {
        self.number_of("page_size", size, limits::DEFAULT_PAGE_SIZE, limits::MAX_PAGE_SIZE)
    }

    /// How many entries are wanted, at most `most`; 0 means `default`.
    pub(super) fn number_of(&mut self, field: &str, number: i32, default: usize, most: usize) -> usize {
        match usize::try_from(number) {
            Ok(0) => default,
            Ok(number) if number <= most => number,
            _ => {
                self.refuse(field, format!("must be 0 to {most}, not {number}"));
                0
            }
        }
    }

    pub(super) fn source(&mut self, source: &str) {
        let most = limits::MAX_SOURCE_BYTES;
        if source.len() > most {
            self.refuse("source", format!("must have at most {most} bytes, not {}", source.len()));
        } else if !source.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            self.refuse("source", "must be printable ASCII");
        }
    }

    pub(super) fn time_budget(&mut self, budget: Option<prost_types::Duration>) -> Duration {
        let range = Duration::from_nanos(1)..=limits::MAX_TIME_BUDGET;
        self.duration("time_budget", budget, limits::DEFAULT_TIME_BUDGET, range)
    }

    /// A duration in a range; absent means `default`.
    pub(super) fn duration(
        &mut self,
        field: &str,
        given: Option<prost_types::Duration>,
        default: Duration,
        range: RangeInclusive<Duration>,
    ) -> Duration {
        let Some(prost_types::Duration { seconds, nanos }) = given else { return default };
        // Not by `TryFrom`, which accepts and carries over nanoseconds that are out of range.
        let nanos = u32::try_from(nanos).ok().filter(|&nanos| nanos < 1_000_000_000);
        match u64::try_from(seconds).ok().zip(nanos).map(|(seconds, nanos)| Duration::new(seconds, nanos)) {
            Some(duration) if range.contains(&duration) => duration,
            _ => {
                self.refuse(field, format!("must be {:?} to {:?}", range.start(), range.end()));
                default
            }
        }
    }

    /// The field `order` of a list.
    pub(super) fn order(&mut self, order: i32) -> Order {
        match self.one_of("order", order) {
            ListOrder::Unspecified | ListOrder::NewestFirst => Order::NewestFirst,
            ListOrder::OldestFirst => Order::OldestFirst,
        }
    }

    /// A span from `followed_from` (included) to `followed_before` (excluded).
    pub(super) fn window(&mut self, from: Option<Timestamp>, before: Option<Timestamp>) -> Window {
        let from = from.map_or(Micros::MIN, |from| self.time("followed_from", from, Micros::MIN));
        let Some(before) = before.map(|before| self.time("followed_before", before, Micros::MAX)) else {
            return Window { from, until: Micros::MAX };
        };
        if before <= from {
            self.refuse("followed_before", "must be after followed_from");
        }
        Window { from, until: before.saturating_sub(Duration::from_micros(1)) }
    }
}

/// The edge between the two users of a request whose other fields were checked with `fields`.
pub(super) fn edge(fields: Fields, follower_id: i64, followee_id: i64) -> Result<Edge, Status> {
    pair(fields, ("follower_id", follower_id), ("followee_id", followee_id))
}

/// The same of a request that calls them otherwise.
pub(super) fn pair(mut fields: Fields, one: (&str, i64), other: (&str, i64)) -> Result<Edge, Status> {
    let users = [one, other].map(|(field, id)| fields.user(field, id));
    fields.finish()?;
    Edge::new(users[0], users[1]).map_err(|_| self_reference(other.0, "must be another user"))
}
