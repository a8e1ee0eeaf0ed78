//! What may refuse a call before it reaches its handler.

use std::{sync::Arc, time::Duration};

use http::Request;
use socialgraph::v1::ErrorReason;
use tonic::{Code, Status, body::Body};

use super::{Shared, call::Call, deadline};
use crate::errors;

/// When a shed call may come again. Long enough for the calls in progress to end, short enough to be retried within
/// most deadlines; shed calls come back as spread as they came.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// One check, with its name for logs and tests.
pub(super) struct Check {
    pub(super) name: &'static str,
    run: fn(&Shared, &mut Request<Body>, &mut Call) -> Result<(), Status>,
}

/// The checks in their order: the cheapest first, which under overload is all that most calls meet.
pub(super) const ADMISSION: [Check; 2] =
    [Check { name: "limit", run: limit }, Check { name: "deadline", run: deadline }];

pub(super) fn admit(shared: &Shared, request: &mut Request<Body>, call: &mut Call) -> Result<(), Status> {
    ADMISSION.iter().try_for_each(|check| {
        (check.run)(shared, request, call)
            .inspect_err(|_| tracing::debug!(check = check.name, method = call.method().name(), "call refused"))
    })
}

/// The answer to a call too many.
pub(super) fn overloaded() -> Status {
    let message = "the server has too many calls in progress";
    errors::with_reason(Code::ResourceExhausted, ErrorReason::Overloaded, message, Some(RETRY_AFTER))
}

fn limit(shared: &Shared, _: &mut Request<Body>, call: &mut Call) -> Result<(), Status> {
    if call.method().is_infrastructure() {
        return Ok(());
    }
    match Arc::clone(&shared.permits).try_acquire_owned() {
        Ok(permit) => {
            call.hold(permit);
            Ok(())
        }
        Err(_) => {
            call.method().shed();
            Err(shared.overloaded.clone())
        }
    }
}

fn deadline(shared: &Shared, request: &mut Request<Body>, call: &mut Call) -> Result<(), Status> {
    let default = (!call.method().may_be_long()).then_some(shared.default_deadline);
    if let Some(deadline) = deadline::of(request.headers(), call.started(), default)? {
        call.limit_to(deadline);
        request.extensions_mut().insert(deadline);
    }
    Ok(())
}
