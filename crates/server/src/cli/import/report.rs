//! What an import came to.

use std::{
    io::{self, Write},
    time::Duration,
};

use serde_json::{Value, json};
use socialgraph::v1::{ErrorReason, ImportEdgesResponse, ImportError};

use super::{SHOWN_PROBLEMS, line_map::LineMap, parse::Parsed, row::RowError};

/// A line of the file that made no edge.
#[derive(Debug, PartialEq)]
pub(super) struct Problem {
    line: u64,
    exact: bool,
    reason: String,
    message: String,
}

impl Problem {
    /// A line that is no row.
    pub(super) fn unreadable(line: u64, error: &RowError<'_>) -> Self {
        Self { line, exact: true, reason: "UNREADABLE".to_owned(), message: error.to_string() }
    }

    /// The line in the file, from 1.
    #[cfg(test)]
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// A row that the server refused.
    fn refused(error: &ImportError, lines: &LineMap) -> Self {
        let (line, exact) = lines.line(u64::try_from(error.row).unwrap_or_default());
        let reason = ErrorReason::try_from(error.reason).unwrap_or_default().as_str_name();
        let reason = reason.trim_start_matches("ERROR_REASON_").to_owned();
        Self { line, exact, reason, message: error.message.clone() }
    }
}

/// The counts and the first problems.
pub(super) struct Report {
    /// Name and count, in the order of the contract.
    counts: [(&'static str, u64); 8],
    problems: Vec<Problem>,
    more_problems: u64,
    rows: u64,
    skipped: u64,
    elapsed: Duration,
}

impl Report {
    pub(super) fn new(answer: &ImportEdgesResponse, parsed: &mut Parsed, elapsed: Duration) -> Self {
        let count = |count: i64| u64::try_from(count).unwrap_or_default();
        let bad = count(answer.invalid) + parsed.bad;
        let failed =
            count(answer.self_) + count(answer.over_limit) + count(answer.unavailable) + count(answer.blocked) + bad;
        let mut problems = std::mem::take(&mut parsed.problems);
        problems.extend(answer.errors.iter().map(|error| Problem::refused(error, &parsed.lines)));
        problems.sort_by_key(|problem| problem.line);
        problems.truncate(SHOWN_PROBLEMS);
        Self {
            counts: [
                ("created", count(answer.created)),
                ("existing", count(answer.existing)),
                ("superseded", count(answer.superseded)),
                ("self", count(answer.self_)),
                ("overLimit", count(answer.over_limit)),
                ("unavailable", count(answer.unavailable)),
                ("blocked", count(answer.blocked)),
                ("bad", bad),
            ],
            more_problems: failed.saturating_sub(problems.len() as u64),
            problems,
            rows: parsed.lines.rows() + parsed.bad,
            skipped: count(answer.rows_skipped),
            elapsed,
        }
    }

    pub(super) fn print(&self, out: &mut dyn Write, json: bool) -> io::Result<()> {
        if json { writeln!(out, "{}", self.to_json()) } else { self.print_text(out) }
    }

    fn print_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let elapsed = self.elapsed.as_secs_f64();
        writeln!(out, "{} rows in {elapsed:.2} s, {} rows/s", self.rows, super::rate(self.rows, self.elapsed))?;
        if self.skipped > 0 {
            writeln!(out, "{} of them were imported before", self.skipped)?;
        }
        let width = self.counts.iter().map(|(_, count)| count.to_string().len()).max().unwrap_or_default();
        for (name, count) in self.counts {
            let name = if name == "overLimit" { "over limit" } else { name };
            writeln!(out, "{name:11}  {count:>width$}")?;
        }
        for Problem { line, exact, reason, message } in &self.problems {
            let about = if *exact { "" } else { "about " };
            writeln!(out, "{about}line {line}: {reason}: {message}")?;
        }
        if self.more_problems > 0 {
            writeln!(out, "and {} more lines that made no edge", self.more_problems)?;
        }
        Ok(())
    }

    fn to_json(&self) -> Value {
        let mut object: serde_json::Map<_, _> =
            self.counts.iter().map(|(name, count)| ((*name).to_owned(), count.to_string().into())).collect();
        let problems = self.problems.iter().map(|problem| {
            json!({
                "line": problem.line.to_string(),
                "exact": problem.exact,
                "reason": problem.reason,
                "message": problem.message,
            })
        });
        object.insert("rows".into(), self.rows.to_string().into());
        object.insert("rowsSkipped".into(), self.skipped.to_string().into());
        object.insert("elapsed".into(), format!("{:.3}s", self.elapsed.as_secs_f64()).into());
        object.insert("rowsPerSecond".into(), super::rate(self.rows, self.elapsed).to_string().into());
        object.insert("problems".into(), problems.collect());
        object.insert("moreProblems".into(), self.more_problems.to_string().into());
        Value::Object(object)
    }
}
