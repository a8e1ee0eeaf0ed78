//! Both versions of reflection describe the contract and what its errors carry.

use tonic::transport::Channel;
use tonic_reflection::pb::{v1, v1alpha};

use crate::harness::{TestServer, patiently, uri};

const SYMBOLS: [&str; 4] =
    ["socialgraph.v1.SocialGraph", "socialgraph.admin.v1.Admin", "google.rpc.ErrorInfo", "grpc.health.v1.Health"];

async fn channel(server: &TestServer) -> Channel {
    patiently(Channel::builder(uri(server.addresses.grpc)).connect()).await.unwrap()
}

#[tokio::test]
async fn version_1() {
    use v1::{
        ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
        server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
    };
    let server = TestServer::start(&[]).await;
    let mut client = ServerReflectionClient::new(channel(&server).await);
    let requests = SYMBOLS.map(|symbol| ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::FileContainingSymbol(symbol.to_owned())),
    });
    let mut answers =
        patiently(client.server_reflection_info(futures::stream::iter(requests))).await.unwrap().into_inner();
    for symbol in SYMBOLS {
        let answer = patiently(answers.message()).await.unwrap().unwrap().message_response.unwrap();
        assert!(matches!(answer, MessageResponse::FileDescriptorResponse(_)), "{symbol}");
    }
}

#[tokio::test]
async fn version_1_alpha() {
    use v1alpha::{
        ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
        server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
    };
    let server = TestServer::start(&[]).await;
    let mut client = ServerReflectionClient::new(channel(&server).await);
    let requests = SYMBOLS.map(|symbol| ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::FileContainingSymbol(symbol.to_owned())),
    });
    let mut answers =
        patiently(client.server_reflection_info(futures::stream::iter(requests))).await.unwrap().into_inner();
    for symbol in SYMBOLS {
        let answer = patiently(answers.message()).await.unwrap().unwrap().message_response.unwrap();
        assert!(matches!(answer, MessageResponse::FileDescriptorResponse(_)), "{symbol}");
    }
}

#[tokio::test]
async fn each_port_lists_its_own_service() {
    use v1::{
        ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
        server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
    };
    let server = TestServer::start(&[]).await;
    let ports = [
        (server.addresses.grpc, "socialgraph.v1.SocialGraph"),
        (server.addresses.admin_grpc, "socialgraph.admin.v1.Admin"),
    ];
    for (address, service) in ports {
        let channel = patiently(Channel::builder(uri(address)).connect()).await.unwrap();
        let request = ServerReflectionRequest {
            host: String::new(),
            message_request: Some(MessageRequest::ListServices(String::new())),
        };
        let mut client = ServerReflectionClient::new(channel);
        let answers = patiently(client.server_reflection_info(futures::stream::iter([request]))).await;
        let answer = patiently(answers.unwrap().into_inner().message()).await.unwrap().unwrap().message_response;
        let Some(MessageResponse::ListServicesResponse(listed)) = answer else { panic!("{answer:?}") };
        let ours: Vec<_> = listed.service.iter().filter(|listed| listed.name.starts_with("socialgraph")).collect();
        assert_eq!(ours.iter().map(|listed| listed.name.as_str()).collect::<Vec<_>>(), [service]);
        assert!(listed.service.iter().any(|listed| listed.name == "grpc.health.v1.Health"));
    }
}
