//! What a refused call must answer.

use std::{collections::BTreeSet, fmt::Debug};

use tonic::{Code, Response, Status};
use tonic_types::StatusExt;

/// The whole of an error: its code, its reason, and the fields it names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    code: Code,
    reason: String,
    fields: BTreeSet<String>,
}

impl Refusal {
    pub(crate) fn new(code: Code, reason: &str) -> Self {
        Self { code, reason: reason.to_owned(), fields: BTreeSet::new() }
    }

    /// INVALID_FIELD, with exactly these fields.
    pub(crate) fn fields(fields: &[&str]) -> Self {
        let fields = fields.iter().map(|&field| field.to_owned()).collect();
        Self { fields, ..Self::new(Code::InvalidArgument, "INVALID_FIELD") }
    }

    pub(crate) fn self_reference() -> Self {
        Self::new(Code::InvalidArgument, "SELF_REFERENCE")
    }

    pub(crate) fn overloaded() -> Self {
        Self::new(Code::ResourceExhausted, "OVERLOADED")
    }

    pub(crate) fn page_token() -> Self {
        Self::new(Code::InvalidArgument, "INVALID_PAGE_TOKEN")
    }

    fn of(status: &Status) -> Self {
        let info = status.get_details_error_info().unwrap_or_else(|| panic!("no reason: {status:?}"));
        assert_eq!(info.domain, "socialgraph");
        let violations = status.get_details_bad_request().map(|bad| bad.field_violations).unwrap_or_default();
        assert!(violations.iter().all(|violation| !violation.description.is_empty()), "{violations:?}");
        let fields = violations.iter().map(|violation| violation.field.clone()).collect();
        Self { code: status.code(), reason: info.reason, fields }
    }
}

/// Asserts that a call was refused in exactly this way. `case` tells which call.
#[track_caller]
pub(crate) fn refused<T: Debug>(answer: Result<Response<T>, Status>, expected: &Refusal, case: impl Debug) {
    match answer {
        Ok(answer) => panic!("accepted: {case:?}: {:?}", answer.into_inner()),
        Err(status) => assert_eq!(&Refusal::of(&status), expected, "{case:?}: {status:?}"),
    }
}
