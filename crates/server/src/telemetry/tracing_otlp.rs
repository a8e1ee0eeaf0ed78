//! Traces to an OTLP collector.

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{Sampler, SdkTracerProvider},
};

use crate::config;

/// Longer than a collector in good health needs, shorter than the interval between batches.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(3);

/// Sends spans to `endpoint`. Must be called inside the runtime that is to carry the connection.
///
/// # Errors
///
/// An endpoint that is no URL.
pub fn tracer_provider(endpoint: &str, telemetry: &config::Telemetry) -> Result<SdkTracerProvider, ExporterBuildError> {
    let exporter = SpanExporter::builder().with_tonic().with_endpoint(endpoint).with_timeout(EXPORT_TIMEOUT).build()?;
    let resource = Resource::builder()
        .with_service_name(telemetry.service_name.clone())
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build();
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(telemetry.sample_ratio))))
        .with_resource(resource)
        .build())
}
