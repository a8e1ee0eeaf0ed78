//! The way to the head of an answer.

use std::{
    convert::Infallible,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use http::Response;
use pin_project_lite::pin_project;
use tokio::time::Sleep;
use tonic::{Status, body::Body};

use super::{body::CallBody, call::Call, request_id};
use crate::errors::deadline_exceeded;

pin_project! {
    /// The future of an answer: the handler's, or an error in its place.
    pub struct CallFuture<F> {
        call: Option<Call>,
        refusal: Option<Status>,
        #[pin]
        inner: Option<F>,
        #[pin]
        sleep: Option<Sleep>,
    }
}

impl<F> CallFuture<F> {
    pub(super) fn refused(call: Call, status: Status) -> Self {
        Self { call: Some(call), refusal: Some(status), inner: None, sleep: None }
    }

    pub(super) fn running(call: Call, inner: F) -> Self {
        let sleep = call.sleep();
        Self { call: Some(call), refusal: None, inner: Some(inner), sleep }
    }
}

impl<F> Future for CallFuture<F>
where
    F: Future<Output = Result<Response<Body>, Infallible>>,
{
    type Output = Result<Response<CallBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        // Without a call it has been polled to its end before.
        let Some(call) = this.call.as_ref() else { return Poll::Pending };
        let refusal = match (this.refusal.take(), this.inner.as_mut().as_pin_mut()) {
            (Some(status), _) => status,
            (None, None) => return Poll::Pending,
            (None, Some(inner)) => match call.span().in_scope(|| catch_unwind(AssertUnwindSafe(|| inner.poll(cx)))) {
                Ok(Poll::Ready(Ok(response))) => {
                    let response = this.call.take().map(|call| answer(call, response));
                    return response.map_or(Poll::Pending, |response| Poll::Ready(Ok(response)));
                }
                Ok(Poll::Ready(Err(never))) => match never {},
                Err(panic) => call.panicked(panic.as_ref()),
                Ok(Poll::Pending) => match this.sleep.as_pin_mut().map(|sleep| sleep.poll(cx)) {
                    Some(Poll::Ready(())) => deadline_exceeded(),
                    Some(Poll::Pending) | None => return Poll::Pending,
                },
            },
        };
        // The handler is dropped at once: nobody waits for it.
        this.inner.set(None);
        let response = this.call.take().map(|call| refuse(call, refusal));
        response.map_or(Poll::Pending, |response| Poll::Ready(Ok(response)))
    }
}

fn answer(call: Call, mut response: Response<Body>) -> Response<CallBody> {
    response.headers_mut().insert(request_id::HEADER, call.request_id().clone());
    if http_body::Body::is_end_stream(response.body()) || response.headers().contains_key(Status::GRPC_STATUS) {
        // An answer of headers alone. tonic leaves the status, with the cause that no header carries, in the extensions.
        call.end_by(response.headers(), response.extensions().get::<Status>());
        response.map(CallBody::over)
    } else {
        response.map(|body| CallBody::running(call, body))
    }
}

fn refuse(call: Call, status: Status) -> Response<CallBody> {
    let code = status.code();
    let mut response = status.into_http::<Body>();
    response.headers_mut().insert(request_id::HEADER, call.request_id().clone());
    call.end(code);
    response.map(CallBody::over)
}
