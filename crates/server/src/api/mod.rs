//! The gRPC services: decode, validate, call the service, encode.

mod admin;
mod batches;
mod blocks;
mod consistency;
mod convert;
mod export;
mod feed;
mod fields;
mod graph;
mod import;
mod lifecycle;
mod posts;
mod recommend;
mod relations;
mod status;
mod topology;
mod verify;
mod watch;

use std::time::Duration;

use model::Deadline;
use service::Graph;
use socialgraph::{admin::v1::admin_server::AdminServer, v1::social_graph_server::SocialGraphServer};
use tokio_util::sync::CancellationToken;
use tonic::{Request, codec::CompressionEncoding, service::Routes};

/// The services of a graph, and those for operators. `max_message_bytes` bounds each request message. `stop_streams` ends the streams that
/// would go on for ever.
pub(crate) fn routes(graph: Graph, max_message_bytes: usize, stop_streams: CancellationToken) -> (Routes, Routes) {
    let api = Api { graph, stop_streams };
    macro_rules! bounded {
        ($server:ident) => {
            $server::new(api.clone())
                .max_decoding_message_size(max_message_bytes)
                .accept_compressed(CompressionEncoding::Gzip)
                .accept_compressed(CompressionEncoding::Zstd)
                .send_compressed(CompressionEncoding::Gzip)
                .send_compressed(CompressionEncoding::Zstd)
        };
    }
    (Routes::new(bounded!(SocialGraphServer)), Routes::new(bounded!(AdminServer)))
}

#[derive(Clone)]
struct Api {
    graph: Graph,
    stop_streams: CancellationToken,
}

/// By when a handler must have its answer: a little before the deadline that the RPC layer set, so that the answer, which may tell
/// more than that time is up, still reaches the caller. Without that layer there is no deadline, and a long one is taken.
fn deadline<T>(request: &Request<T>) -> Deadline {
    const WITHOUT_LAYER: Duration = Duration::from_secs(10);
    const WAY_BACK: Duration = Duration::from_millis(100);
    let whole = request.extensions().get().copied().unwrap_or_else(|| Deadline::after(WITHOUT_LAYER));
    let remaining = whole.remaining();
    Deadline::after(remaining - WAY_BACK.min(remaining / 10))
}
