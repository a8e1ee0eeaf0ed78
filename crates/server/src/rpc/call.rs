//! One call, from its first byte to the end of its answer.

use std::{any::Any, error::Error as _, sync::Arc, time::Instant};

use http::{HeaderMap, HeaderValue, Request};
use metrics::Gauge;
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Sleep, sleep_until},
};
use tonic::{Code, Status, body::Body};
use tracing::Span;

use model::Deadline;

use super::{Shared, method::Method, request_id, trace};
use crate::errors;

/// Counts a call as soon as it begins, and however it ends. One that is dropped was cancelled by its caller.
pub(super) struct Call {
    method: Arc<Method>,
    request_id: HeaderValue,
    started: Instant,
    deadline: Option<Deadline>,
    span: Span,
    in_flight: Gauge,
    permit: Option<OwnedSemaphorePermit>,
    ended: bool,
}

impl Call {
    pub(super) fn begin(shared: &Shared, request: &mut Request<Body>) -> Self {
        let method = shared.methods.get(request.uri().path());
        let request_id = request_id::ensure(request.headers_mut());
        let span = trace::span(method.name(), &request_id, request.headers());
        let in_flight = shared.in_flight.clone();
        in_flight.increment(1.0);
        Self {
            method,
            request_id,
            started: Instant::now(),
            deadline: None,
            span,
            in_flight,
            permit: None,
            ended: false,
        }
    }

    pub(super) fn method(&self) -> &Method {
        &self.method
    }

    pub(super) fn request_id(&self) -> &HeaderValue {
        &self.request_id
    }

    pub(super) fn started(&self) -> Instant {
        self.started
    }

    pub(super) fn span(&self) -> &Span {
        &self.span
    }

    /// Holds a place among the calls in progress until the call has ended.
    pub(super) fn hold(&mut self, permit: OwnedSemaphorePermit) {
        self.permit = Some(permit);
    }

    pub(super) fn limit_to(&mut self, deadline: Deadline) {
        self.deadline = Some(deadline);
    }

    /// Ends with the deadline. Registers no timer before it is first polled.
    pub(super) fn sleep(&self) -> Option<Sleep> {
        self.deadline.map(|deadline| sleep_until(deadline.instant().into()))
    }

    pub(super) fn is_late(&self) -> bool {
        self.deadline.is_some_and(Deadline::has_passed)
    }

    /// Notes a panic and gives the answer to it.
    pub(super) fn panicked(&self, panic: &(dyn Any + Send)) -> Status {
        self.method.panicked();
        let (method, request_id) = (self.method.name(), self.request_id.to_str().unwrap_or_default());
        tracing::error!(method, request_id, cause = tasks::panic_message(panic), "call panicked");
        Status::internal("internal error")
    }

    /// Ends by the headers or trailers of an answer. `status` is what the handler gave, if it is at hand.
    pub(super) fn end_by(self, headers: &HeaderMap, status: Option<&Status>) {
        let code = headers.get(Status::GRPC_STATUS).map_or(Code::Unknown, |code| Code::from_bytes(code.as_bytes()));
        self.log(code, status);
        self.end(code);
    }

    /// Ends with a code.
    pub(super) fn end(mut self, code: Code) {
        self.finish(code);
    }

    fn finish(&mut self, code: Code) {
        self.ended = true;
        self.in_flight.decrement(1.0);
        self.method.ended(code, self.started.elapsed());
        trace::record(&self.span, code);
    }

    /// What the caller isn't told is told here. Without a cause it comes from tonic, such as a message that cannot be
    /// decoded, and is no bug of ours.
    fn log(&self, code: Code, status: Option<&Status>) {
        if !matches!(code, Code::Internal | Code::Unknown | Code::DataLoss) {
            return;
        }
        let (method, request_id) = (self.method.name(), self.request_id.to_str().unwrap_or_default());
        match status.and_then(|status| status.source()) {
            Some(cause) => tracing::error!(method, request_id, cause, "call failed"),
            None => {
                let message = status.map_or("", Status::message);
                tracing::warn!(method, request_id, ?code, message, "call failed");
            }
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.ended {
            self.finish(Code::Cancelled);
        }
    }
}

/// The trailers that tell a status.
pub(super) fn trailers(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    if status.add_header(&mut trailers).is_err() {
        // Only for a message or metadata that no header can carry; ours are constants.
        let _ = errors::internal("status does not fit headers").add_header(&mut trailers);
    }
    trailers
}
