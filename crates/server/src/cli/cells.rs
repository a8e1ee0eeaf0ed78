//! Values as people read them.

use std::{borrow::Cow, collections::BTreeMap};

use base64::{Engine, engine::general_purpose::STANDARD};
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, ReflectMessage, Value};
use prost_types::Timestamp;

use super::time;

/// What stands for an absent value.
const ABSENT: &str = "-";
/// The field that tells how many rows are left out.
pub(super) const FILTERED: &str = "filtered_count";
/// The one message that is a value itself.
const TIMESTAMP: &str = "google.protobuf.Timestamp";

/// A value of a message: of one of its fields, or of a field of a message in it.
pub(super) struct Column {
    outer: Option<FieldDescriptor>,
    field: FieldDescriptor,
}

/// The values of a message. A message in it is shown by those of its fields that the message itself has not.
pub(super) fn columns(message: &MessageDescriptor) -> Vec<Column> {
    let fields = message.fields().flat_map(|field| match nested(&field) {
        None => vec![Column { outer: None, field }],
        Some(inner) => {
            let new = inner.fields().filter(|inner| message.get_field_by_name(inner.name()).is_none());
            new.map(|inner| Column { outer: Some(field.clone()), field: inner }).collect()
        }
    });
    fields.collect()
}

fn nested(field: &FieldDescriptor) -> Option<MessageDescriptor> {
    let kind = field.kind();
    let message = kind.as_message().filter(|message| message.full_name() != TIMESTAMP)?;
    (!field.is_list() && !field.is_map()).then(|| message.clone())
}

impl Column {
    pub(super) fn name(&self) -> &str {
        self.field.name()
    }

    pub(super) fn is(&self, field: &FieldDescriptor) -> bool {
        self.outer.is_none() && self.field == *field
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self.field.kind(), Kind::Int32 | Kind::Int64 | Kind::Uint32 | Kind::Uint64)
    }

    /// Whether it is an empty text, such as the token of a page after the last, or says that nothing is left out.
    pub(super) fn says_nothing(&self, message: &DynamicMessage) -> bool {
        let is_left_out_if_empty = matches!(self.field.kind(), Kind::String) || self.name() == FILTERED;
        self.outer.is_none() && is_left_out_if_empty && !message.has_field(&self.field)
    }

    /// Whether it is a field of a message that is not there.
    pub(super) fn is_absent(&self, message: &DynamicMessage) -> bool {
        self.outer.as_ref().is_some_and(|outer| !message.has_field(outer))
    }

    /// The value in a message.
    pub(super) fn cell(&self, message: &DynamicMessage) -> String {
        match &self.outer {
            None => cell(message, &self.field),
            Some(_) if self.is_absent(message) => ABSENT.to_owned(),
            Some(outer) => {
                message.get_field(outer).as_message().map_or_else(String::new, |inner| cell(inner, &self.field))
            }
        }
    }
}

fn cell(message: &DynamicMessage, field: &FieldDescriptor) -> String {
    if field.supports_presence() && !message.has_field(field) {
        return ABSENT.to_owned();
    }
    let value: Cow<'_, Value> = message.get_field(field);
    let text = match value.as_ref() {
        Value::Bool(value) => value.to_string(),
        Value::I32(value) => value.to_string(),
        Value::I64(value) => value.to_string(),
        Value::U32(value) => value.to_string(),
        Value::U64(value) => value.to_string(),
        Value::F32(value) => value.to_string(),
        Value::F64(value) => value.to_string(),
        Value::String(value) => value.clone(),
        Value::Bytes(value) => str::from_utf8(value).map_or_else(|_| STANDARD.encode(value), printable),
        Value::Map(entries) => {
            let entries: BTreeMap<_, _> = entries.iter().map(|(key, value)| (key_text(key), value)).collect();
            let entries = entries.into_iter().map(|(key, value)| format!("{key}={}", value_text(value)));
            entries.collect::<Vec<_>>().join(" ")
        }
        Value::Message(value) => match value.transcode_to::<Timestamp>() {
            Ok(time) if value.descriptor().full_name() == TIMESTAMP => time::micros(time),
            _ => value.to_string(),
        },
        Value::EnumNumber(number) => field
            .kind()
            .as_enum()
            .and_then(|kind| kind.get_value(*number))
            .map_or_else(|| number.to_string(), |value| value.name().to_owned()),
        Value::List(_) => value.to_string(),
    };
    if text.is_empty() { ABSENT.to_owned() } else { text }
}

fn key_text(key: &MapKey) -> String {
    key.as_str().map_or_else(|| Value::from(key.clone()).to_string(), printable)
}

fn value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), printable)
}

/// Text from users, without what would move a terminal's cursor.
fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_control() { printable.extend(char.escape_default()) } else { printable.push(char) }
    }
    printable
}
