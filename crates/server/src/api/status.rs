use std::{fmt::Display, time::Duration};

use service::ServiceError;
use socialgraph::v1::ErrorReason;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::errors::{REASON_PREFIX, deadline_exceeded, internal, invalid_fields, with_reason};

/// When to try again after Redis was not available: a failover takes seconds, a moving slot milliseconds.
const STORE_RETRY_AFTER: Duration = Duration::from_millis(250);

/// When to try again after a search was turned away: some searches later.
const SEARCH_RETRY_AFTER: Duration = Duration::from_millis(100);

/// The status of every error of the service.
pub(super) fn status(error: ServiceError) -> Status {
    let text = error.to_string();
    match error {
        ServiceError::SelfReference(error) => self_reference("followee_id", error),
        ServiceError::FollowLimit { .. } => with_reason(Code::ResourceExhausted, ErrorReason::FollowLimit, text, None),
        ServiceError::RelationLimit { .. } => {
            with_reason(Code::ResourceExhausted, ErrorReason::RelationLimit, text, None)
        }
        ServiceError::RateLimited { retry_after, .. } => {
            with_reason(Code::ResourceExhausted, ErrorReason::RateLimited, text, Some(retry_after))
        }
        ServiceError::Blocked => with_reason(Code::PermissionDenied, ErrorReason::Blocked, text, None),
        ServiceError::PastEnd => invalid_fields(vec![("muted_until".to_owned(), text)]),
        ServiceError::UserUnavailable => {
            with_reason(Code::FailedPrecondition, ErrorReason::UserUnavailable, text, None)
        }
        ServiceError::OperationNotFound => with_reason(Code::NotFound, ErrorReason::OperationNotFound, text, None),
        ServiceError::PostNotFound => with_reason(Code::NotFound, ErrorReason::PostNotFound, text, None),
        ServiceError::IdReused(_) => with_reason(Code::AlreadyExists, ErrorReason::RequestIdReused, text, None),
        ServiceError::ImportIdReused(_) => with_reason(Code::AlreadyExists, ErrorReason::RequestIdReused, text, None),
        ServiceError::ImportTakenOver => with_reason(Code::Aborted, ErrorReason::ImportTakenOver, text, None),
        ServiceError::FuturePost => invalid_fields(vec![("published_at".to_owned(), text)]),
        ServiceError::InvalidPageToken => {
            with_reason(Code::InvalidArgument, ErrorReason::InvalidPageToken, format!("page_token: {text}"), None)
        }
        ServiceError::InvalidResumeToken => {
            with_reason(Code::InvalidArgument, ErrorReason::InvalidPageToken, format!("resume_token: {text}"), None)
        }
        ServiceError::Overloaded => {
            with_reason(Code::ResourceExhausted, ErrorReason::Overloaded, text, Some(SEARCH_RETRY_AFTER))
        }
        ServiceError::PositionExpired => {
            with_reason(Code::OutOfRange, ErrorReason::PositionExpired, format!("resume_token: {text}"), None)
        }
        ServiceError::SlowClient => with_reason(Code::ResourceExhausted, ErrorReason::SlowClient, text, None),
        ServiceError::Stopping => with_reason(Code::Unavailable, ErrorReason::Stopping, text, Some(STORE_RETRY_AFTER)),
        ServiceError::LostWrite => unavailable(text),
        ServiceError::Unavailable(cause) => {
            tracing::debug!(cause, "store unavailable");
            unavailable("the store cannot be reached; the call may be repeated".to_owned())
        }
        ServiceError::Deadline => deadline_exceeded(),
        ServiceError::Internal(cause) => internal(cause),
    }
}

/// Why a row of a call failed, and the same for people; the status of the whole call if a row must not tell.
pub(super) fn row_error(error: ServiceError) -> Result<(ErrorReason, String), Status> {
    let status = status(error);
    let name = status.get_details_error_info().map(|info| format!("{REASON_PREFIX}{}", info.reason));
    match name.and_then(|name| ErrorReason::from_str_name(&name)) {
        Some(reason) => Ok((reason, status.message().to_owned())),
        None => Err(status),
    }
}

/// Two fields name the same user; `field` is the second.
pub(super) fn self_reference(field: &str, what_is_wrong: impl Display) -> Status {
    with_reason(Code::InvalidArgument, ErrorReason::SelfReference, format!("{field}: {what_is_wrong}"), None)
}

fn unavailable(text: String) -> Status {
    with_reason(Code::Unavailable, ErrorReason::StoreUnavailable, text, Some(STORE_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_post_names_its_field() {
        let violations = status(ServiceError::FuturePost).get_details_bad_request().unwrap().field_violations;
        assert_eq!(violations.iter().map(|bad| bad.field.as_str()).collect::<Vec<_>>(), ["published_at"]);
        let reused = status(ServiceError::IdReused("post_id"));
        assert!(reused.message().starts_with("post_id: "), "{}", reused.message());
    }

    #[test]
    fn every_error_has_its_code_reason_and_retry_delay() {
        let table = [
            (ServiceError::SelfReference(model::SelfReference), Code::InvalidArgument, "SELF_REFERENCE", false),
            (ServiceError::FollowLimit { max: 5 }, Code::ResourceExhausted, "FOLLOW_LIMIT", false),
            (ServiceError::RelationLimit { verb: "block", max: 5 }, Code::ResourceExhausted, "RELATION_LIMIT", false),
            (
                ServiceError::RateLimited { max: 5, retry_after: Duration::from_secs(9) },
                Code::ResourceExhausted,
                "RATE_LIMITED",
                true,
            ),
            (ServiceError::Blocked, Code::PermissionDenied, "BLOCKED", false),
            (ServiceError::PastEnd, Code::InvalidArgument, "INVALID_FIELD", false),
            (ServiceError::UserUnavailable, Code::FailedPrecondition, "USER_UNAVAILABLE", false),
            (ServiceError::OperationNotFound, Code::NotFound, "OPERATION_NOT_FOUND", false),
            (ServiceError::PostNotFound, Code::NotFound, "POST_NOT_FOUND", false),
            (ServiceError::IdReused("request_id"), Code::AlreadyExists, "REQUEST_ID_REUSED", false),
            (ServiceError::ImportIdReused(7), Code::AlreadyExists, "REQUEST_ID_REUSED", false),
            (ServiceError::ImportTakenOver, Code::Aborted, "IMPORT_TAKEN_OVER", false),
            (ServiceError::FuturePost, Code::InvalidArgument, "INVALID_FIELD", false),
            (ServiceError::InvalidPageToken, Code::InvalidArgument, "INVALID_PAGE_TOKEN", false),
            (ServiceError::InvalidResumeToken, Code::InvalidArgument, "INVALID_PAGE_TOKEN", false),
            (ServiceError::Overloaded, Code::ResourceExhausted, "OVERLOADED", true),
            (ServiceError::PositionExpired, Code::OutOfRange, "POSITION_EXPIRED", false),
            (ServiceError::SlowClient, Code::ResourceExhausted, "SLOW_CLIENT", false),
            (ServiceError::Stopping, Code::Unavailable, "STOPPING", true),
            (ServiceError::LostWrite, Code::Unavailable, "STORE_UNAVAILABLE", true),
            (ServiceError::Unavailable("redis at 10.0.0.1".to_owned()), Code::Unavailable, "STORE_UNAVAILABLE", true),
            (ServiceError::Deadline, Code::DeadlineExceeded, "DEADLINE", false),
        ];
        for (error, code, reason, retry) in table {
            let status = status(error.clone());
            assert_eq!(status.code(), code, "{error}");
            let info = status.get_details_error_info().unwrap();
            assert_eq!((info.reason.as_str(), info.domain.as_str()), (reason, "socialgraph"));
            assert_eq!(status.get_details_retry_info().is_some(), retry, "{error}");
            assert!(!status.message().contains("redis"), "{}", status.message());
            let (row_reason, message) = row_error(error).unwrap();
            assert_eq!(row_reason.as_str_name(), format!("ERROR_REASON_{reason}"));
            assert_eq!(message, status.message());
        }
        assert!(row_error(ServiceError::Internal("WRONGTYPE".to_owned())).is_err());
        let status = status(ServiceError::Internal("WRONGTYPE".to_owned()));
        assert_eq!((status.code(), status.message()), (Code::Internal, "internal error"));
        assert!(status.details().is_empty());
    }
}
