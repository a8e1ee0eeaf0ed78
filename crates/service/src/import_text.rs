//! What became of an import's rows, as text: for its checkpoint.

use std::fmt::Write;

use crate::{ImportSummary, RowFault, RowProblem};

/// The counts with blanks in between; and a line for each fault: the row, a letter, and perhaps what is wrong.
pub(crate) fn write_summary(summary: &ImportSummary) -> (String, String) {
    let ImportSummary {
        created,
        existing,
        superseded,
        self_reference,
        invalid,
        over_limit,
        unavailable,
        blocked,
        faults,
    } = summary;
    let counts =
        format!("{created} {existing} {superseded} {self_reference} {invalid} {over_limit} {unavailable} {blocked}");
    let mut lines = String::new();
    for RowFault { row, problem } in faults {
        let _infallible = match problem {
            RowProblem::SelfReference => writeln!(lines, "{row} s"),
            RowProblem::Invalid(text) => writeln!(lines, "{row} i {text}"),
            RowProblem::OverLimit => writeln!(lines, "{row} l"),
            RowProblem::Unavailable => writeln!(lines, "{row} u"),
            RowProblem::Blocked => writeln!(lines, "{row} b"),
        };
    }
    (counts, lines)
}

/// Reads what [`write_summary`] wrote; of empty texts an empty summary.
pub(crate) fn read_summary(counts: &str, faults: &str) -> Option<ImportSummary> {
    let mut counts = counts.split_ascii_whitespace();
    let mut count = || counts.next().map_or(Some(0), |count| count.parse().ok());
    let mut summary = ImportSummary {
        created: count()?,
        existing: count()?,
        superseded: count()?,
        self_reference: count()?,
        invalid: count()?,
        over_limit: count()?,
        unavailable: count()?,
        blocked: count()?,
        faults: Vec::new(),
    };
    for line in faults.lines() {
        let mut words = line.splitn(3, ' ');
        let row = words.next()?.parse().ok()?;
        let problem = match (words.next()?, words.next()) {
            ("s", None) => RowProblem::SelfReference,
            ("i", Some(text)) => RowProblem::Invalid(text.to_owned()),
            ("l", None) => RowProblem::OverLimit,
            ("u", None) => RowProblem::Unavailable,
            ("b", None) => RowProblem::Blocked,
            _ => return None,
        };
        summary.faults.push(RowFault { row, problem });
    }
    Some(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_read_as_it_is_written() {
        let fault = |row, problem| RowFault { row, problem };
        let summary = ImportSummary {
            created: 1,
            existing: 2,
            superseded: 3,
            self_reference: 4,
            invalid: 5,
            over_limit: 6,
            unavailable: 7,
            blocked: 8,
            faults: vec![
                fault(2, RowProblem::SelfReference),
                fault(3, RowProblem::Invalid("followee_id: must be greater than 0, not -1".to_owned())),
                fault(5, RowProblem::OverLimit),
                fault(8, RowProblem::Unavailable),
                fault(9, RowProblem::Blocked),
            ],
        };
        let (counts, faults) = write_summary(&summary);
        assert_eq!(counts, "1 2 3 4 5 6 7 8");
        assert_eq!(faults, "2 s\n3 i followee_id: must be greater than 0, not -1\n5 l\n8 u\n9 b\n");
        assert_eq!(read_summary(&counts, &faults), Some(summary));
        assert_eq!(read_summary("", ""), Some(ImportSummary::default()));
        for (counts, faults) in [("x", ""), ("1", "1 x"), ("1", "x s"), ("1", "1"), ("1", "1 i")] {
            assert_eq!(read_summary(counts, faults), None, "{counts:?} {faults:?}");
        }
    }
}
