//! Reads the answers of Redis. What is not as expected is [`StoreError::Refused`].

use std::{str::FromStr, time::Duration};

use bytes::Bytes;
use fred::types::Value;
use keyspace::Shard;
use model::{Entry, InvalidTime, Micros, UserId};

use crate::StoreError;

pub(crate) fn unexpected(wanted: &str, value: &Value) -> StoreError {
    StoreError::Refused(format!("expected {wanted}, got {:?}", value.kind()))
}

/// An integer or a string.
pub(crate) fn number<T: FromStr + TryFrom<i64>>(value: &Value) -> Result<T, StoreError> {
    let number =
        if let Value::Integer(integer) = value { T::try_from(*integer).ok() } else { text(value)?.parse().ok() };
    number.ok_or_else(|| unexpected("a number", value))
}

pub(crate) fn text(value: &Value) -> Result<&str, StoreError> {
    if let Value::String(text) = value { Ok(text) } else { Err(unexpected("text", value)) }
}

/// A copy of bytes as an argument.
pub(crate) fn of_bytes(bytes: &[u8]) -> Value {
    Value::Bytes(Bytes::copy_from_slice(bytes))
}

/// A duration in microseconds as an argument.
pub(crate) fn of_micros(duration: Duration) -> Value {
    Value::Integer(duration.as_micros() as i64)
}

pub(crate) fn into_bytes(value: Value) -> Result<Bytes, StoreError> {
    if let Value::Bytes(bytes) = value {
        Ok(bytes)
    } else if let Value::String(text) = value {
        Ok(text.into_inner())
    } else {
        Err(unexpected("bytes", &value))
    }
}

pub(crate) fn bytes(value: &Value) -> Result<&[u8], StoreError> {
    value.as_bytes().ok_or_else(|| unexpected("bytes", value))
}

pub(crate) fn array(value: Value) -> Result<Vec<Value>, StoreError> {
    if let Value::Array(items) = value { Ok(items) } else { Err(unexpected("an array", &value)) }
}

pub(crate) fn array_of<const N: usize>(value: Value) -> Result<[Value; N], StoreError> {
    array(value)?.try_into().map_err(|items: Vec<Value>| unexpected("a longer or shorter array", &Value::Array(items)))
}

/// A time of following that is a score. Scores are whole numbers, but Redis may write large ones as `1.7e+15`.
pub(crate) fn score(value: &Value) -> Result<Micros, StoreError> {
    optional_score(value)?.ok_or_else(|| unexpected("a score", value))
}

/// A score, or none: `nil`, or the 0 of scripts.
pub(crate) fn optional_score(value: &Value) -> Result<Option<Micros>, StoreError> {
    if value.is_null() { Ok(None) } else { optional_score_text(text(value)?) }
}

/// [`score`], of a text.
pub(crate) fn score_text(text: &str) -> Result<Micros, StoreError> {
    optional_score_text(text)?.ok_or_else(|| StoreError::Refused("expected a score, got 0".to_owned()))
}

/// [`optional_score`], of a text.
pub(crate) fn optional_score_text(text: &str) -> Result<Option<Micros>, StoreError> {
    let number = text.parse().or_else(|_| text.parse::<f64>().map(|float| float as u64));
    match number.map(Micros::new) {
        Ok(Ok(score)) => Ok(Some(score)),
        Ok(Err(InvalidTime::TooEarly)) => Ok(None),
        Ok(Err(_)) | Err(_) => Err(StoreError::Refused(format!("expected a score, got {text:?}"))),
    }
}

pub(crate) fn user(value: &Value) -> Result<UserId, StoreError> {
    UserId::new(number(value)?).map_err(|_| unexpected("a user id", value))
}

/// `<score> <user>`; `None` where nothing is kept.
pub(crate) fn place(value: &Value) -> Result<Option<Entry>, StoreError> {
    if value.is_null() {
        return Ok(None);
    }
    let wrong = || unexpected("a place", value);
    let (at, user) = text(value)?.split_once(' ').ok_or_else(wrong)?;
    let user = user.parse().ok().and_then(|user| UserId::new(user).ok()).ok_or_else(wrong)?;
    Ok(Some(Entry { at: score_text(at)?, user }))
}

/// What [`place`] reads; empty for `None`.
pub(crate) fn of_place(place: Option<Entry>) -> Value {
    place.map_or_else(String::new, |Entry { at, user }| format!("{} {user}", at.get())).into()
}

/// The id of a shard.
pub(crate) fn shard(text: &str) -> Result<Shard, StoreError> {
    Shard::parse(text).ok_or_else(|| StoreError::Refused(format!("expected the id of a shard, got {text:?}")))
}

/// Members and scores in turn, of each part of a list.
pub(crate) fn parts<T>(
    value: Value,
    entry: impl Fn(&Value, &Value) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let parts = array(value)?.into_iter().map(pairs).collect::<Result<Vec<_>, _>>()?;
    parts.iter().flatten().map(|[member, score]| entry(member, score)).collect()
}

/// Two things in turn.
pub(crate) fn pairs(value: Value) -> Result<Vec<[Value; 2]>, StoreError> {
    let items = array(value)?;
    if !items.len().is_multiple_of(2) {
        return Err(unexpected("pairs", &Value::Array(items)));
    }
    let mut items = items.into_iter();
    Ok(std::iter::from_fn(|| Some([items.next()?, items.next()?])).collect())
}
