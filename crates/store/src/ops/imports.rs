//! How far imports are that have an id.

use fred::types::Value;
use keyspace::Keyspace;
use model::ImportId;

use super::Operation;
use crate::{StoreError, call::Call, script, value};

/// For how long an import is remembered after its last sign of life: 7 days, in seconds.
const KEPT_SECONDS: i64 = 7 * 24 * 3600;

/// How far an import is. All of its first rows are written, and none of the others is known to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// How many rows are written.
    pub rows: u64,
    /// A hash of these rows.
    pub content: u64,
    /// What became of them, as the service writes it.
    pub counts: String,
    /// The first that were not imported, as the service writes it. Some kilobytes.
    pub faults: String,
}

/// Takes an import over. See `begin_import.lua`.
#[derive(Clone, Debug)]
pub struct BeginImport {
    /// Which.
    pub id: ImportId,
    /// Who, by a name that nobody else has.
    pub owner: String,
}

impl Operation for BeginImport {
    type Output = Checkpoint;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let args = vec![self.owner.as_str().into(), KEPT_SECONDS.into()];
        Ok(Call::script(&script::BEGIN_IMPORT, keys.import(&self.id).into(), args))
    }

    fn answer(&self, answer: Value) -> Result<Checkpoint, StoreError> {
        let [rows, content, counts, faults] = value::array_of(answer)?;
        if rows.is_null() {
            return Ok(Checkpoint::default());
        }
        let text = |text: &Value| value::text(text).map(str::to_owned);
        let (rows, content) = (value::number(&rows)?, text(&content)?);
        let content = u64::from_str_radix(&content, 16)
            .map_err(|_| StoreError::Refused(format!("expected a hash, got {content:?}")))?;
        Ok(Checkpoint { rows, content, counts: text(&counts)?, faults: text(&faults)? })
    }
}

/// Writes down how far an import is. See `save_import.lua`.
#[derive(Clone, Debug)]
pub struct SaveImport {
    /// Which.
    pub id: ImportId,
    /// Who is at it.
    pub owner: String,
    /// How far.
    pub checkpoint: Checkpoint,
}

impl Operation for SaveImport {
    /// Whether nobody else has it.
    type Output = bool;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let Checkpoint { rows, content, counts, faults } = &self.checkpoint;
        let args = vec![
            self.owner.as_str().into(),
            KEPT_SECONDS.into(),
            rows.to_string().into(),
            // Not as a number: it may not fit into one of Redis.
            format!("{content:x}").into(),
            counts.as_str().into(),
            faults.as_str().into(),
        ];
        Ok(Call::script(&script::SAVE_IMPORT, keys.import(&self.id).into(), args))
    }

    fn answer(&self, answer: Value) -> Result<bool, StoreError> {
        Ok(value::number::<u8>(&answer)? == 1)
    }
}
