//! What can go wrong, and how it is told.

use std::{
    error::Error as _,
    io::{self, Write},
    iter::successors,
    path::PathBuf,
};

use serde_json::{Map, Value, json};
use tonic::{Status, TimeoutExpired};
use tonic_types::StatusExt;

use crate::errors::code_name;

/// Why a command did not do all that was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection.
    #[error("cannot reach {endpoint}: {cause}")]
    Unreachable {
        /// As given.
        endpoint: String,
        /// The operating system's or the library's reason.
        cause: String,
    },
    /// The server refused the call or failed.
    #[error("{}", .0.message())]
    Call(Box<Status>),
    /// An import that ended before its rows did.
    #[error(
        "the import broke after {sent} rows were sent, near line {line}; what was imported stays, and running the same \
         command again completes it: {}", .status.message()
    )]
    ImportBroken {
        /// How the call ended.
        status: Box<Status>,
        /// Rows taken by the connection. The server need not have written all of them.
        sent: u64,
        /// The line of the last of them.
        line: u64,
    },
    /// An export that ended before all edges were there.
    #[error("the export broke after {edges} edges and is not complete: {}", .status.message())]
    ExportBroken {
        /// How the call ended.
        status: Box<Status>,
        /// Edges that had come.
        edges: u64,
    },
    /// A file that cannot be written.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// As given.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A file that cannot be read at all.
    #[error("cannot open {}: {source}", .path.display())]
    Open {
        /// As given.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A file that cannot be read to its end. The lines before were imported.
    #[error("the input cannot be read beyond line {line}, and only the lines before were imported: {source}")]
    Truncated {
        /// The last whole line.
        line: u64,
        /// Why.
        source: io::Error,
    },
    /// The server's counts do not add up to the rows that were sent.
    #[error("{sent} rows were sent, but the server counted {counted}; run the same command again")]
    Miscounted {
        /// Rows sent.
        sent: u64,
        /// The sum of the server's counts.
        counted: i64,
    },
    /// A defect of this program.
    #[error("internal error: {0}")]
    Internal(&'static str),
    /// The answer cannot be printed.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        // The client's own clock often beats the server's answer to an expired deadline, and tonic calls that CANCELLED.
        let expired = successors(status.source(), |error| (*error).source()).any(|error| error.is::<TimeoutExpired>());
        let status = if expired { Status::deadline_exceeded("the deadline passed without an answer") } else { status };
        Self::Call(Box::new(status))
    }
}

impl Error {
    /// Tells the error, with the details of a status: reason, bad fields, when to try again.
    pub(super) fn report(&self, err: &mut dyn Write, json: bool) -> io::Result<()> {
        if json { writeln!(err, "{}", self.to_json()) } else { self.report_text(err) }
    }

    fn status(&self) -> Option<&Status> {
        match self {
            Self::Call(status) | Self::ImportBroken { status, .. } | Self::ExportBroken { status, .. } => Some(status),
            Self::Unreachable { .. }
            | Self::Open { .. }
            | Self::Write { .. }
            | Self::Truncated { .. }
            | Self::Miscounted { .. }
            | Self::Internal(_)
            | Self::Output(_) => None,
        }
    }

    fn report_text(&self, err: &mut dyn Write) -> io::Result<()> {
        let Some(status) = self.status() else { return writeln!(err, "error: {self}") };
        let details = status.get_error_details();
        let reason = details.error_info().map(|info| format!(" {}", info.reason)).unwrap_or_default();
        writeln!(err, "error: {}{reason}: {self}", code_name(status.code()))?;
        for violation in details.bad_request().into_iter().flat_map(|bad| &bad.field_violations) {
            writeln!(err, "  {}: {}", violation.field, violation.description)?;
        }
        if let Some(delay) = details.retry_info().and_then(|retry| retry.retry_delay) {
            writeln!(err, "  retry in {}", humantime::format_duration(delay))?;
        }
        Ok(())
    }

    fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("message".into(), self.to_string().into());
        if let Self::ImportBroken { sent, line, .. } = self {
            object.insert("rowsSent".into(), sent.to_string().into());
            object.insert("line".into(), line.to_string().into());
        }
        if let Self::Truncated { line, .. } = self {
            object.insert("line".into(), line.to_string().into());
        }
        if let Some(status) = self.status() {
            let details = status.get_error_details();
            object.insert("code".into(), code_name(status.code()).into());
            if let Some(info) = details.error_info() {
                object.insert("reason".into(), info.reason.as_str().into());
            }
            if let Some(bad) = details.bad_request() {
                let violations =
                    bad.field_violations.iter().map(|v| json!({"field": v.field, "description": v.description}));
                object.insert("fieldViolations".into(), violations.collect());
            }
            if let Some(delay) = details.retry_info().and_then(|retry| retry.retry_delay) {
                object.insert("retryDelay".into(), format!("{}s", delay.as_secs_f64()).into());
            }
        }
        Value::Object(object)
    }
}
