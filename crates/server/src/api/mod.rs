//! The gRPC services: decode, validate, call the service, encode.

mod admin;
mod convert;
mod fields;
mod graph;
mod import;
mod status;

use model::Deadline;
use service::Graph;
use socialgraph::{admin::v1::admin_server::AdminServer, v1::social_graph_server::SocialGraphServer};
use tonic::{Request, codec::CompressionEncoding, service::Routes};

/// The services of a graph. `max_message_bytes` bounds each request message.
pub(crate) fn routes(graph: Graph, max_message_bytes: usize) -> Routes {
    let api = Api { graph };
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
    Routes::new(bounded!(SocialGraphServer)).add_service(bounded!(AdminServer))
}

#[derive(Clone)]
struct Api {
    graph: Graph,
}

/// The deadline of a call, set by the RPC layer. Without that layer there is none, and a long one is taken.
fn deadline<T>(request: &Request<T>) -> Deadline {
    const WITHOUT_LAYER: std::time::Duration = std::time::Duration::from_secs(10);
    request.extensions().get().copied().unwrap_or_else(|| Deadline::after(WITHOUT_LAYER))
}
