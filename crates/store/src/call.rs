use bytes::Bytes;
use fred::types::Value;
use keyspace::{Key, Slot, SlotGroup};

use crate::script::Script;

/// One command or script on the keys of one slot: all that the store ever sends.
#[derive(Clone, Debug)]
pub struct Call {
    pub(crate) verb: Verb,
    pub(crate) slot: Slot,
    args: Vec<Value>,
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
        Self { verb: Verb::Command(name), slot, args }
    }

    /// A command with a word before its only key, such as `OBJECT ENCODING key`.
    pub(crate) fn subcommand(name: &'static str, word: &'static str, key: Key) -> Self {
        let slot = key.slot();
        let args = vec![Value::from_static_str(word), Value::Bytes(key.into_bytes())];
        Self { verb: Verb::Command(name), slot, args }
    }

    /// A command without a key, sent to the node that serves a slot.
    pub(crate) fn to_slot(name: &'static str, slot: Slot) -> Self {
        Self { verb: Verb::Command(name), slot, args: Vec::new() }
    }

    /// A script.
    pub(crate) fn script(script: &'static Script, group: SlotGroup, args: Vec<Value>) -> Self {
        let slot = group.slot();
        let keys = group.into_keys();
        let mut all = Vec::with_capacity(2 + keys.len() + args.len());
        all.push(Value::from_static_str(""));
        all.push(Value::Integer(keys.len() as i64));
        all.extend(keys.into_iter().map(|key| Value::Bytes(key.into_bytes())));
        all.extend(args);
        Self { verb: Verb::Script(script), slot, args: all }
    }

    /// The command's name and arguments as they go over the wire. `with_source` sends a script's text instead of its hash.
    pub(crate) fn wire(&self, with_source: bool) -> (&'static str, Vec<Value>) {
        let mut args = self.args.clone();
        let name = match self.verb {
            Verb::Command(name) => name,
            Verb::Script(script) => {
                let (name, text) = if with_source { ("EVAL", script.source) } else { ("EVALSHA", script.sha()) };
                args[0] = Value::Bytes(Bytes::copy_from_slice(text.as_bytes()));
                name
            }
        };
        (name, args)
    }
}
