//! The subscriber: log records to a writer, spans of calls to OpenTelemetry.

use std::io::{IsTerminal as _, stderr};

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::{
    EnvFilter, Layer,
    filter::{FilterExt as _, LevelFilter, filter_fn},
    fmt::MakeWriter,
    layer::SubscriberExt as _,
    registry::LookupSpan,
};

use crate::config::{Log, LogFormat};

/// The target of the span of each call.
pub const RPC_TARGET: &str = "socialgraph::rpc";

/// What the targets of spans begin with that are for OpenTelemetry alone: those of calls, and of what they ask of Redis.
const TRACE_TARGETS: &str = "socialgraph::";

/// The subscriber that `log` asks for. Without `traces`, the spans of calls are disabled and cost next to nothing.
///
/// Every filter says which levels it may let through: without that, each record of a dependency, of which there are many for
/// each command to Redis, would be made only to be thrown away.
pub fn subscriber<W>(log: &Log, traces: Option<&SdkTracerProvider>, writer: W) -> impl Subscriber + Send + Sync + use<W>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let otel = traces.map(|provider| {
        tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("socialgraph"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(filter_fn(is_ours).with_max_level_hint(LevelFilter::INFO))
    });
    tracing_subscriber::registry().with(otel).with(records(log, writer))
}

/// Spans of ours only. The exporter is itself a client of h2 and tonic, whose spans would feed back; and a call's events
/// would grow the span of a long stream without end.
fn is_ours(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.target().starts_with(TRACE_TARGETS)
}

fn records<S, W>(log: &Log, writer: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // The configuration has checked the filter; what it could not check is left out.
    let filter = EnvFilter::builder().parse_lossy(&log.filter);
    let most = filter.max_level_hint().unwrap_or(LevelFilter::TRACE);
    // Formatting the span's fields for every call would cost more than the call itself.
    let filter = filter.and(filter_fn(|metadata| !is_ours(metadata)).with_max_level_hint(most));
    let layer = tracing_subscriber::fmt::layer().with_writer(writer);
    match log.format {
        LogFormat::Json => layer.json().flatten_event(true).with_filter(filter).boxed(),
        LogFormat::Auto if !stderr().is_terminal() => layer.json().flatten_event(true).with_filter(filter).boxed(),
        LogFormat::Text | LogFormat::Auto => {
            let colours = stderr().is_terminal();
            layer.with_ansi(colours).with_filter(filter).boxed()
        }
    }
}
