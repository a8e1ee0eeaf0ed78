use std::pin::Pin;

use futures::{Stream, StreamExt};
use service::{ExportChunk, Graph};
use socialgraph::v1::{ExportEdgesRequest, ExportEdgesResponse};
use tonic::{Request, Status};

use super::{convert::exported_follower, status::status};

/// What an export answers. It reads no faster than it is taken.
pub(super) type Chunks = Pin<Box<dyn Stream<Item = Result<ExportEdgesResponse, Status>> + Send>>;

/// Reads all edges. Only the caller sets a deadline.
pub(super) fn export(graph: &Graph, request: Request<ExportEdgesRequest>) -> Result<Chunks, Status> {
    let deadline = request.extensions().get().copied();
    let chunks = graph.export(&request.get_ref().resume_token, deadline).map_err(status)?;
    Ok(chunks.map(|chunk| chunk.map(response).map_err(status)).boxed())
}

fn response(chunk: ExportChunk) -> ExportEdgesResponse {
    ExportEdgesResponse {
        followers: chunk.followers.into_iter().map(exported_follower).collect(),
        partition: chunk.partition.into(),
        version: chunk.version.0.cast_signed(),
        resume_token: chunk.resume_token,
    }
}
