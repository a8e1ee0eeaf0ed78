//! The span of a call, as OpenTelemetry's conventions for RPC have it.

use std::sync::LazyLock;

use http::{HeaderMap, HeaderValue};
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tonic::Code;
use tracing::{Span, field::Empty};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::{errors::code_name, telemetry::RPC_TARGET};

static PROPAGATOR: LazyLock<TraceContextPropagator> = LazyLock::new(TraceContextPropagator::new);

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(http::HeaderName::as_str).collect()
    }
}

/// A span under the caller's, or none if nobody wants spans.
pub(super) fn span(method: &str, request_id: &HeaderValue, headers: &HeaderMap) -> Span {
    let span = tracing::info_span!(
        target: RPC_TARGET,
        parent: None,
        "rpc",
        otel.name = method,
        otel.kind = "server",
        otel.status_code = Empty,
        rpc.system.name = "grpc",
        rpc.method = method,
        rpc.response.status_code = Empty,
        request_id = request_id.to_str().unwrap_or_default(),
    );
    if !span.is_disabled() {
        // It fails on a span that was entered already, and without an OpenTelemetry layer.
        let _ = span.set_parent(PROPAGATOR.extract(&Headers(headers)));
    }
    span
}

/// Notes how the call ended.
pub(super) fn record(span: &Span, code: Code) {
    if span.is_disabled() {
        return;
    }
    span.record("rpc.response.status_code", code_name(code));
    if is_server_error(code) {
        span.record("otel.status_code", "ERROR");
    }
}

/// The codes that the conventions call an error of the server; the others are the caller's affair.
fn is_server_error(code: Code) -> bool {
    matches!(
        code,
        Code::Unknown
            | Code::DeadlineExceeded
            | Code::Unimplemented
            | Code::Internal
            | Code::Unavailable
            | Code::DataLoss
    )
}
