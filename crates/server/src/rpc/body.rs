//! The messages and trailers of an answer.

use std::{
    future::Future as _,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::Sleep;
use tonic::{Code, Status, body::Body};

use super::call::{Call, trailers};
use crate::errors::deadline_exceeded;

pin_project! {
    /// The body of an answer: the handler's, cut off by trailers on a panic or a passed deadline.
    ///
    /// The deadline is seen when the connection asks for more. A caller that grants no window isn't asked for; keepalive
    /// and its own deadline end that.
    pub struct CallBody {
        call: Option<Call>,
        cut_off: bool,
        #[pin]
        inner: Body,
        #[pin]
        sleep: Option<Sleep>,
    }
}

impl CallBody {
    pub(super) fn running(call: Call, inner: Body) -> Self {
        let sleep = call.sleep();
        Self { call: Some(call), cut_off: false, inner, sleep }
    }

    pub(super) fn over(inner: Body) -> Self {
        Self { call: None, cut_off: false, inner, sleep: None }
    }
}

impl HttpBody for CallBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.project();
        if *this.cut_off {
            return Poll::Ready(None);
        }
        let Some(call) = this.call.as_ref() else { return this.inner.poll_frame(cx) };
        let polled = if call.is_late() {
            // Also for a handler that always has more: it is never found waiting.
            Err(deadline_exceeded())
        } else {
            call.span()
                .in_scope(|| catch_unwind(AssertUnwindSafe(|| this.inner.poll_frame(cx))))
                .map_err(|panic| call.panicked(panic.as_ref()))
        };
        let status = match polled {
            Ok(Poll::Ready(frame)) => {
                observe(this.call, &frame);
                return Poll::Ready(frame);
            }
            Ok(Poll::Pending) => match this.sleep.as_pin_mut().map(|sleep| sleep.poll(cx)) {
                Some(Poll::Ready(())) => deadline_exceeded(),
                Some(Poll::Pending) | None => return Poll::Pending,
            },
            Err(status) => status,
        };
        *this.cut_off = true;
        if let Some(call) = this.call.take() {
            call.end(status.code());
        }
        Poll::Ready(Some(Ok(Frame::trailers(trailers(&status)))))
    }

    fn is_end_stream(&self) -> bool {
        self.cut_off || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        // Trailers may come in place of what the handler has announced.
        if self.call.is_some() { SizeHint::default() } else { self.inner.size_hint() }
    }
}

/// Ends the call if the frame does.
fn observe(call: &mut Option<Call>, frame: &Option<Result<Frame<Bytes>, Status>>) {
    match frame {
        Some(Ok(frame)) => {
            if let Some(trailers) = frame.trailers_ref()
                && let Some(call) = call.take()
            {
                call.end_by(trailers, None);
            }
        }
        Some(Err(status)) => {
            if let Some(call) = call.take() {
                call.end(status.code());
            }
        }
        None => {
            if let Some(call) = call.take() {
                call.end(Code::Unknown);
            }
        }
    }
}
