//! Statuses as the contract promises them: every error has a reason, and INTERNAL tells nothing.

use std::{error::Error, sync::Arc, time::Duration};

use socialgraph::{ERROR_DOMAIN, v1::ErrorReason};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

/// Violations beyond these are left out: a status travels in headers, which peers limit to 8 KiB.
pub const MAX_VIOLATIONS: usize = 20;

/// What the enum's names begin with, and reasons do not.
pub(crate) const REASON_PREFIX: &str = "ERROR_REASON_";

/// The trailer by which gRPC clients with a retry policy learn when to try again, in milliseconds.
pub const PUSHBACK: &str = "grpc-retry-pushback-ms";

/// The longest delay that [`PUSHBACK`] has clients wait by themselves. Told a longer one, they would wait until the call's deadline and show
/// that instead of the answer; so they are told not to retry.
const MAX_PUSHBACK: Duration = Duration::from_secs(10);

/// INVALID_ARGUMENT with reason INVALID_FIELD and one violation for each `(field, description)`, the first
/// [`MAX_VIOLATIONS`] of them.
pub fn invalid_fields(violations: Vec<(String, String)>) -> Status {
    let mut details = details(ErrorReason::InvalidField);
    let message = match violations.as_slice() {
        [(field, description)] => format!("{field}: {description}"),
        _ => format!("{} fields are invalid", violations.len()),
    };
    for (field, description) in violations.into_iter().take(MAX_VIOLATIONS) {
        details.add_bad_request_violation(field, description);
    }
    Status::with_error_details(Code::InvalidArgument, message, details)
}

/// A status with a reason. With `retry_after` it also has `RetryInfo` and the trailer [`PUSHBACK`].
pub fn with_reason(
    code: Code,
    reason: ErrorReason,
    message: impl Into<String>,
    retry_after: Option<Duration>,
) -> Status {
    let mut details = details(reason);
    let Some(delay) = retry_after else { return Status::with_error_details(code, message, details) };
    details.set_retry_info(Some(delay));
    let mut status = Status::with_error_details(code, message, details);
    let millis = if delay > MAX_PUSHBACK { -1 } else { i64::try_from(delay.as_millis()).unwrap_or(-1) };
    status.metadata_mut().insert(PUSHBACK, millis.into());
    status
}

/// The answer to a call whose deadline passed.
pub(crate) fn deadline_exceeded() -> Status {
    with_reason(Code::DeadlineExceeded, ErrorReason::Deadline, "the deadline of the call passed", None)
}

/// INTERNAL. The caller learns nothing; the RPC layer logs `cause` with the method and the request id.
pub fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Status {
    let mut status = Status::internal("internal error");
    status.set_source(Arc::from(cause.into()));
    status
}

/// The code's name in the specification.
pub(crate) fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

fn details(reason: ErrorReason) -> ErrorDetails {
    let name = reason.as_str_name();
    let name = name.strip_prefix(REASON_PREFIX).unwrap_or(name);
    ErrorDetails::with_error_info(name, ERROR_DOMAIN, std::collections::HashMap::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_goes_by_its_name_without_prefix() {
        let status = with_reason(Code::DeadlineExceeded, ErrorReason::Deadline, "late", None);
        let info = status.get_details_error_info().unwrap();
        assert_eq!((info.reason.as_str(), info.domain.as_str()), ("DEADLINE", "socialgraph"));
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert!(status.get_details_retry_info().is_none() && status.metadata().is_empty());
    }

    #[test]
    fn a_retry_delay_is_told_to_people_and_to_clients() {
        let delay = Duration::from_millis(200);
        let status = with_reason(Code::ResourceExhausted, ErrorReason::Overloaded, "busy", Some(delay));
        assert_eq!(status.get_details_retry_info().unwrap().retry_delay, Some(delay));
        assert_eq!(status.metadata().get(PUSHBACK).unwrap(), "200");
        let delay = Duration::from_secs(360);
        let status = with_reason(Code::ResourceExhausted, ErrorReason::RateLimited, "too many", Some(delay));
        assert_eq!(status.get_details_retry_info().unwrap().retry_delay, Some(delay));
        assert_eq!(status.metadata().get(PUSHBACK).unwrap(), "-1");
    }

    #[test]
    fn violations_are_capped() {
        let status = invalid_fields((0..50).map(|i| (format!("ids[{i}]"), "must be positive".to_owned())).collect());
        assert_eq!(status.get_details_bad_request().unwrap().field_violations.len(), MAX_VIOLATIONS);
        assert_eq!(status.message(), "50 fields are invalid");
        let mut headers = http::HeaderMap::new();
        status.add_header(&mut headers).unwrap();
        assert!(headers.values().map(http::HeaderValue::len).sum::<usize>() < 4096);
    }

    #[test]
    fn an_internal_error_tells_nothing() {
        let status = internal("the secret cause");
        let mut headers = http::HeaderMap::new();
        status.add_header(&mut headers).unwrap();
        assert!(!format!("{headers:?}").contains("secret"));
        assert_eq!(status.source().unwrap().to_string(), "the secret cause");
    }
}
