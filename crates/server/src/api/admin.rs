use service::InspectedKey;
use socialgraph::admin::v1::{
    GetTopologyRequest, GetTopologyResponse, InspectUserRequest, InspectUserResponse, RedisKey, RepairUserRequest,
    RepairUserResponse, VerifyUserRequest, VerifyUserResponse, admin_server::Admin,
};
use tonic::{Request, Response, Status};

use super::{Api, deadline, fields::Fields, status::status, topology, verify};

#[tonic::async_trait]
impl Admin for Api {
    async fn get_topology(
        &self,
        request: Request<GetTopologyRequest>,
    ) -> Result<Response<GetTopologyResponse>, Status> {
        let topology = self.graph.topology(deadline(&request)).await.map_err(status)?;
        Ok(Response::new(topology::response(topology)))
    }

    async fn inspect_user(
        &self,
        request: Request<InspectUserRequest>,
    ) -> Result<Response<InspectUserResponse>, Status> {
        let deadline = deadline(&request);
        let mut fields = Fields::default();
        let user = fields.user("user_id", request.into_inner().user_id);
        fields.finish()?;
        let inspected = self.graph.inspect_user(user, deadline).await.map_err(status)?;
        Ok(Response::new(InspectUserResponse {
            partition: inspected.partition.into(),
            hash_tag: inspected.hash_tag,
            slot: inspected.slot.into(),
            node: inspected.node,
            compact_sorted_set_entries: inspected.limits.sorted_set,
            compact_number_set_entries: inspected.limits.numbers,
            keys: inspected.keys.into_iter().map(redis_key).collect(),
        }))
    }

    async fn verify_user(&self, request: Request<VerifyUserRequest>) -> Result<Response<VerifyUserResponse>, Status> {
        verify::verify_user(&self.graph, request).await
    }

    async fn repair_user(&self, request: Request<RepairUserRequest>) -> Result<Response<RepairUserResponse>, Status> {
        verify::repair_user(&self.graph, request).await
    }
}

fn redis_key(inspected: InspectedKey) -> RedisKey {
    RedisKey {
        key: inspected.key,
        shared: inspected.shared,
        exists: inspected.encoding.is_some(),
        encoding: inspected.encoding.unwrap_or_default(),
        bytes: inspected.bytes.cast_signed(),
        entries: inspected.entries.map(u64::cast_signed),
    }
}
