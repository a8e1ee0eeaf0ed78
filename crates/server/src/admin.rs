//! The HTTP port for machines that look after the server: `/metrics`, `/livez` and `/readyz`.

use std::io;

use axum::{
    Router,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{readiness::Readiness, telemetry::MetricsHandle};

/// What Prometheus' text format is called.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The routes of the port. None of them waits for anything.
pub fn router(metrics: MetricsHandle, readiness: Readiness) -> Router {
    Router::new()
        .route("/metrics", get(async move || ([(header::CONTENT_TYPE, METRICS_TYPE)], metrics.render())))
        // Says that the process lives and its runtime has time to answer. A server that drains or waits for Redis must
        // not be killed for it.
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(async move || readyz(&readiness)))
}

fn readyz(readiness: &Readiness) -> impl IntoResponse + use<> {
    let reasons = readiness.reasons();
    if reasons.is_empty() {
        return (StatusCode::OK, "ok\n".to_owned());
    }
    (StatusCode::SERVICE_UNAVAILABLE, reasons.into_iter().map(|reason| reason + "\n").collect())
}

/// Serves until `shutdown`.
///
/// # Errors
///
/// What the listener's address could not be used for.
pub(crate) async fn serve(listener: TcpListener, router: Router, shutdown: CancellationToken) -> io::Result<()> {
    axum::serve(listener, router).with_graceful_shutdown(shutdown.cancelled_owned()).await
}
