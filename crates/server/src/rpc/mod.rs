//! The layer around every call: trace context, request id, metrics, limit on calls in progress, deadline and panics.
//!
//! One service, one future and one body carry it all, so that a call costs no allocation for its passage through layers.
//! What may refuse a call is listed in [`admission::ADMISSION`], in its order; all of it runs after the call is counted,
//! so that metrics, request id and span cover refused calls too. tonic's own timeout and limit sit outside of every
//! layer, where metrics don't see them, and answer CANCELLED; they stay off, and the deadline here is the earlier one.

mod admission;
mod body;
mod call;
mod deadline;
mod future;
mod method;
mod request_id;
mod trace;

use std::{
    convert::Infallible,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response};
use metrics::{Gauge, gauge};
use tokio::sync::Semaphore;
use tonic::{Status, body::Body};
use tower::{Layer, Service};

pub use self::{body::CallBody, future::CallFuture};
use self::{call::Call, method::Methods};
use crate::{config::Limits, telemetry::metrics::RPC_IN_FLIGHT};

#[cfg(test)]
mod tests;

/// Wraps the routes of a server. Clones share one limit on calls in progress.
#[derive(Clone)]
pub struct RpcLayer {
    shared: Arc<Shared>,
}

struct Shared {
    methods: Methods,
    permits: Arc<Semaphore>,
    in_flight: Gauge,
    default_deadline: Duration,
    /// Made once: shedding must be cheap.
    overloaded: Status,
}

impl RpcLayer {
    /// A layer with the limits given. [`crate::telemetry::metrics::install`] must have been called before.
    pub fn new(limits: &Limits) -> Self {
        let permits = usize::try_from(limits.max_in_flight_calls).unwrap_or(Semaphore::MAX_PERMITS);
        Self {
            shared: Arc::new(Shared {
                methods: Methods::known(),
                permits: Arc::new(Semaphore::new(permits)),
                in_flight: gauge!(RPC_IN_FLIGHT),
                default_deadline: limits.default_deadline,
                overloaded: admission::overloaded(),
            }),
        }
    }
}

impl<S> Layer<S> for RpcLayer {
    type Service = Rpc<S>;

    fn layer(&self, inner: S) -> Rpc<S> {
        Rpc { inner, shared: self.shared.clone() }
    }
}

/// A service wrapped by [`RpcLayer`].
#[derive(Clone)]
pub struct Rpc<S> {
    inner: S,
    shared: Arc<Shared>,
}

impl<S> Service<Request<Body>> for Rpc<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
{
    type Response = Response<CallBody>;
    type Error = Infallible;
    type Future = CallFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let mut call = Call::begin(&self.shared, &mut request);
        if let Err(status) = admission::admit(&self.shared, &mut request, &mut call) {
            return CallFuture::refused(call, status);
        }
        let started = call.span().in_scope(|| catch_unwind(AssertUnwindSafe(|| self.inner.call(request))));
        match started {
            Ok(inner) => CallFuture::running(call, inner),
            Err(panic) => {
                let status = call.panicked(panic.as_ref());
                CallFuture::refused(call, status)
            }
        }
    }
}
