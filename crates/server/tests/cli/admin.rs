//! The commands for operators.

use serde_json::json;
use socialgraph::admin::v1::{
    Drift, DriftKind, Findings, GetTopologyRequest, GetTopologyResponse, InspectUserRequest, InspectUserResponse,
    Instance, Node, NodeRole, NodeState, RepairUserRequest, RepairUserResponse, VerifyUserRequest, VerifyUserResponse,
    admin_server::Admin,
};
use tonic::{Request, Response, Status};

use crate::{
    answers::{inspected, time},
    run,
    server::{Call, Fake},
};

/// Nothing is wrong with this user.
const WELL: i64 = 2;

/// Two pages, of which the first names a drift unless all is well.
fn found(user_id: i64, page_token: &str, repaired: bool) -> (Findings, String) {
    let is_first = page_token.is_empty();
    let drift = Drift {
        kind: DriftKind::GhostFollower.into(),
        follower_id: 7,
        followee_id: user_id,
        listed_at: time(7),
        repaired,
        ..Drift::default()
    };
    let drifts = if is_first && user_id != WELL { vec![drift] } else { Vec::new() };
    let next_page_token = if is_first { "second".to_owned() } else { String::new() };
    let drift_count = drifts.len() as i64;
    let findings = Findings { drifts, drift_count, edges_checked: 100, edges_in_flight: 1, counts_unknown: 0 };
    (findings, next_page_token)
}

#[tonic::async_trait]
impl Admin for Fake {
    async fn get_topology(
        &self,
        request: Request<GetTopologyRequest>,
    ) -> Result<Response<GetTopologyResponse>, Status> {
        self.record(&request, Call::Topology);
        let node = Node {
            address: "127.0.0.1:7000".to_owned(),
            role: NodeRole::Primary.into(),
            state: NodeState::Up.into(),
            slots: 16_384,
            partitions: "0-1023".to_owned(),
            ..Node::default()
        };
        let instance = Instance { name: "one".to_owned(), asked: true, ..Instance::default() };
        Ok(Response::new(GetTopologyResponse {
            nodes: vec![node],
            instances: vec![instance],
            partitions: 1_024,
            pending_changes: 3,
            oldest_pending_at: time(7),
        }))
    }

    async fn inspect_user(
        &self,
        request: Request<InspectUserRequest>,
    ) -> Result<Response<InspectUserResponse>, Status> {
        self.record(&request, Call::Keys);
        Ok(Response::new(inspected()))
    }

    async fn verify_user(&self, request: Request<VerifyUserRequest>) -> Result<Response<VerifyUserResponse>, Status> {
        self.record(&request, Call::Verify);
        let VerifyUserRequest { user_id, page_token, .. } = request.into_inner();
        let (findings, next_page_token) = found(user_id, &page_token, false);
        Ok(Response::new(VerifyUserResponse { findings: Some(findings), next_page_token }))
    }

    async fn repair_user(&self, request: Request<RepairUserRequest>) -> Result<Response<RepairUserResponse>, Status> {
        self.record(&request, Call::Repair);
        let RepairUserRequest { user_id, page_token, .. } = request.into_inner();
        let (findings, next_page_token) = found(user_id, &page_token, true);
        Ok(Response::new(RepairUserResponse { findings: Some(findings), next_page_token }))
    }
}

#[tokio::test]
async fn verify_goes_through_all_pages_and_fails_for_drift() {
    let (fake, endpoint) = Fake::start().await;
    let outcome = run(&endpoint, "verify 1 --page-size 50").await;
    let request = |page_token: &str| {
        Call::Verify(VerifyUserRequest { user_id: 1, page_size: 50, page_token: page_token.to_owned() })
    };
    assert_eq!(fake.calls(), [request(""), request("second")]);
    assert!(!outcome.ok);
    assert_eq!(outcome.err, "error: 1 drift(s) found; --repair mends them\n");
    for line in ["drift_count      1", "edges_checked    200", "edges_in_flight  2"] {
        assert!(outcome.out.lines().any(|printed| printed == line), "{}", outcome.out);
    }
    assert_eq!(outcome.out.matches("DRIFT_KIND_GHOST_FOLLOWER").count(), 1);
    let well = run(&endpoint, &format!("verify {WELL} --json")).await;
    assert!(well.ok, "{}", well.err);
    assert_eq!((&well.json()["drifts"], &well.json()["edgesChecked"]), (&json!([]), &json!("200")));
}

#[tokio::test]
async fn verify_with_repair_mends_and_does_not_fail() {
    let (fake, endpoint) = Fake::start().await;
    let outcome = run(&endpoint, "verify 1 --repair --json").await;
    let request = |page_token: &str| {
        Call::Repair(RepairUserRequest { user_id: 1, page_size: 0, page_token: page_token.to_owned() })
    };
    assert_eq!(fake.calls(), [request(""), request("second")]);
    assert!(outcome.ok, "{}", outcome.err);
    let printed = outcome.json();
    assert_eq!((&printed["driftCount"], &printed["drifts"][0]["repaired"]), (&json!("1"), &json!(true)));
}

#[tokio::test]
async fn topology_is_printed() {
    let (fake, endpoint) = Fake::start().await;
    let outcome = run(&endpoint, "topology").await;
    assert!(outcome.ok && outcome.out.contains("127.0.0.1:7000") && outcome.out.contains("0-1023"), "{}", outcome.out);
    assert_eq!(fake.calls(), [Call::Topology(GetTopologyRequest {})]);
    let printed = run(&endpoint, "topology --json").await.json();
    assert_eq!((&printed["pendingChanges"], &printed["instances"][0]["name"]), (&json!("3"), &json!("one")));
}
