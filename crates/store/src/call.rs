use bytes::Bytes;
use fred::types::Value;
use keyspace::{Key, Keyspace, Slot, SlotGroup};

use crate::{Operation, StoreError, script::Script, value};

/// What a script's answer begins with that asks for segments.
const MORE_SEGMENTS: &[u8] = b"NEED";

/// One command or script on the keys of one slot: all that the store ever sends.
#[derive(Clone, Debug)]
pub struct Call {
    pub(crate) verb: Verb,
    pub(crate) slot: Slot,
    keys: Vec<Key>,
    args: Vec<Value>,
    segments: Vec<Segment>,
}

/// The command that an operation sends first: its name, the slot of its keys, and its arguments; a script goes by its hash. For tools
/// that measure Redis without a [`Store`](crate::Store).
pub fn command_of(operation: &impl Operation, keys: &Keyspace) -> Result<(&'static str, Slot, Vec<Value>), StoreError> {
    let call = operation.call(keys)?;
    let (name, args) = call.wire(false);
    Ok((name, call.slot, args))
}

/// A part of a list that a script asked for.
#[derive(Clone, Debug)]
struct Segment {
    /// The number of the list's head among the keys, from 1.
    head: usize,
    /// Its id; of a new one after a `+`.
    id: String,
    key: Key,
}

/// What to run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verb {
    Command(&'static str),
    Script(&'static Script),
}

impl Verb {
    /// The name for metrics and spans.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Command(name) => name,
            Self::Script(script) => script.name,
        }
    }
}

impl Call {
    /// A command whose first argument is its only key.
    pub(crate) fn command<A: Into<Value>>(name: &'static str, key: Key, args: impl IntoIterator<Item = A>) -> Self {
        let slot = key.slot();
        let args = std::iter::once(Value::Bytes(key.into_bytes())).chain(args.into_iter().map(Into::into)).collect();
        Self::of_command(name, slot, args)
    }

    /// A command with a word before its only key, such as `OBJECT ENCODING key`.
    pub(crate) fn subcommand(name: &'static str, word: &'static str, key: Key) -> Self {
        let slot = key.slot();
        Self::of_command(name, slot, vec![Value::from_static_str(word), Value::Bytes(key.into_bytes())])
    }

    /// A command without a key, sent to the node that serves a slot.
    pub(crate) fn to_slot(name: &'static str, slot: Slot, args: Vec<Value>) -> Self {
        Self::of_command(name, slot, args)
    }

    fn of_command(name: &'static str, slot: Slot, args: Vec<Value>) -> Self {
        Self { verb: Verb::Command(name), slot, keys: Vec::new(), args, segments: Vec::new() }
    }

    /// A script.
    pub(crate) fn script(script: &'static Script, group: SlotGroup, args: Vec<Value>) -> Self {
        let slot = group.slot();
        Self { verb: Verb::Script(script), slot, keys: group.into_keys(), args, segments: Vec::new() }
    }

    /// Declares segments that a script will ask for otherwise, of the list whose head is the first key.
    pub(crate) fn with_segments<'a>(mut self, ids: impl IntoIterator<Item = &'a str>) -> Self {
        let list = self.keys[0].clone();
        let segments = ids.into_iter().map(|id| Segment { head: 1, id: id.to_owned(), key: list.segment(id) });
        self.segments.extend(segments);
        self
    }

    /// Declares the key of a new segment of each of some lists, by the numbers of their heads among the keys, from 1: for scripts that
    /// are likely to ask for one.
    pub(crate) fn with_new_segments(mut self, heads: &[usize]) -> Self {
        let segments = heads.iter().filter_map(|&head| Some(Segment::new(head, self.keys.get(head.checked_sub(1)?)?)));
        let segments: Vec<_> = segments.collect();
        self.segments.extend(segments);
        self
    }

    /// The command's name and arguments as they go over the wire. `with_source` sends a script's text instead of its hash.
    pub(crate) fn wire(&self, with_source: bool) -> (&'static str, Vec<Value>) {
        let script = match self.verb {
            Verb::Command(name) => return (name, self.args.iter().map(in_words).collect()),
            Verb::Script(script) => script,
        };
        let (name, text) = if with_source { ("EVAL", script.source) } else { ("EVALSHA", script.sha()) };
        let keys = self.keys.iter().chain(self.segments.iter().map(|segment| &segment.key));
        let mut wire = Vec::with_capacity(3 + self.keys.len() + self.args.len() + 3 * self.segments.len());
        wire.push(Value::Bytes(Bytes::from_static(text.as_bytes())));
        wire.push((self.keys.len() + self.segments.len()).to_string().into());
        wire.extend(keys.map(|key| Value::Bytes(key.bytes().clone())));
        wire.extend(self.args.iter().map(in_words));
        for segment in &self.segments {
            wire.extend([segment.head.to_string().into(), segment.id.as_str().into()]);
        }
        if script.takes_segments() {
            wire.push(self.segments.len().to_string().into());
        }
        (name, wire)
    }

    /// Takes the segments that a script asked for instead of an answer; gives whether it did. It may be asked again then: nothing was
    /// written.
    pub(crate) fn take_segments(&mut self, answer: &Value) -> Result<bool, StoreError> {
        let Value::Array(items) = answer else { return Ok(false) };
        let Some((first, asked)) = items.split_first() else { return Ok(false) };
        let Verb::Script(script) = self.verb else { return Ok(false) };
        if !script.takes_segments() || first.as_bytes() != Some(MORE_SEGMENTS) {
            return Ok(false);
        }
        for pair in asked.chunks(2) {
            let segment = self.segment(pair).ok_or_else(|| value::unexpected("a segment", answer))?;
            self.segments.push(segment);
        }
        Ok(true)
    }

    fn segment(&self, pair: &[Value]) -> Option<Segment> {
        let [head, id] = pair else { return None };
        let (head, id) = (value::number::<usize>(head).ok()?, value::text(id).ok()?);
        let list = self.keys.get(head.checked_sub(1)?)?;
        let known = || Segment { head, id: id.to_owned(), key: list.segment(id) };
        Some(if id.is_empty() { Segment::new(head, list) } else { known() })
    }
}

/// An argument without integers: redis-protocol 6.0.0 takes the length of one from its logarithm, and so writes a byte too many after
/// 999999999999999 and others just below a power of ten, which makes Redis wait for ever.
fn in_words(argument: &Value) -> Value {
    if let Value::Integer(number) = argument { number.to_string().into() } else { argument.clone() }
}

impl Segment {
    /// A new segment. The script makes sure that no other one has its id.
    fn new(head: usize, list: &Key) -> Self {
        let id = format!("{:x}", rand::random::<u32>());
        Self { head, key: list.segment(&id), id: format!("+{id}") }
    }
}
