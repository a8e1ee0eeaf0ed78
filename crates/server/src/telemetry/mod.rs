//! Logs, traces and metrics of the process.

mod logging;
pub mod metrics;
pub(crate) mod stalls;
mod tracing_otlp;

use std::{panic, time::Duration};

use opentelemetry::global;
use opentelemetry_sdk::{propagation::TraceContextPropagator, trace::SdkTracerProvider};
use tokio::{task::spawn_blocking, time::timeout};
use tracing_subscriber::util::SubscriberInitExt as _;

pub use self::{
    logging::{RPC_TARGET, subscriber},
    metrics::MetricsHandle,
    tracing_otlp::tracer_provider,
};
use crate::config::Config;

/// A collector that doesn't answer must not hold up the end of the process.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(2);

/// Why telemetry could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The OTLP exporter could not be built.
    #[error("telemetry.otlp-endpoint: {0}")]
    Otlp(#[from] opentelemetry_otlp::ExporterBuildError),
    /// Another subscriber or recorder is installed in this process.
    #[error("telemetry was installed already: {0}")]
    Installed(#[from] tracing_subscriber::util::TryInitError),
}

/// The telemetry of the process.
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
    metrics: MetricsHandle,
}

impl Telemetry {
    /// Installs logging, traces and metrics for the whole process, and logs panics as records. Call it once, inside the
    /// runtime.
    ///
    /// # Errors
    ///
    /// A bad OTLP endpoint, or a process that has a subscriber already.
    pub fn install(config: &Config) -> Result<Self, TelemetryError> {
        let metrics = metrics::install();
        global::set_text_map_propagator(TraceContextPropagator::new());
        let traces = config
            .telemetry
            .otlp_endpoint
            .as_deref()
            .map(|endpoint| tracer_provider(endpoint, &config.telemetry))
            .transpose()?;
        subscriber(&config.log, traces.as_ref(), std::io::stderr).try_init()?;
        panic::set_hook(Box::new(|info| {
            let location = info.location().map(ToString::to_string).unwrap_or_default();
            let message = info.payload_as_str().unwrap_or_default();
            tracing::error!(location, message, "panic");
        }));
        Ok(Self { traces, metrics })
    }

    /// What renders the metrics.
    pub fn metrics(&self) -> &MetricsHandle {
        &self.metrics
    }

    /// Sends the spans that wait, for at most two seconds.
    pub async fn shutdown(self) {
        let Some(traces) = self.traces else { return };
        // Blocks, and needs the runtime to go on meanwhile.
        let flush = spawn_blocking(move || traces.shutdown_with_timeout(SHUTDOWN_LIMIT));
        match timeout(SHUTDOWN_LIMIT, flush).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::warn!(%error, "some spans were not sent"),
            Ok(Err(_)) | Err(_) => tracing::warn!("some spans were not sent in time"),
        }
    }
}

/// Logs the effective configuration, secrets redacted.
pub fn log_config(config: &Config) {
    let settings: Vec<String> = config.effective().into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    let (version, settings) = (env!("CARGO_PKG_VERSION"), settings.join(" "));
    tracing::info!(version, settings, "effective configuration");
}
