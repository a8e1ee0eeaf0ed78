//! Each port serves its own service, and no other.

use socialgraph::{
    admin::v1::{InspectUserRequest, VerifyUserRequest, admin_client::AdminClient},
    v1::{FollowRequest, social_graph_client::SocialGraphClient},
};
use tonic::Code;

use crate::support::Place;

async fn each_port_has_its_own_service(place: Place) {
    let api = place.serve(&[]).await;
    let mut admin = AdminClient::new(api.channel.clone());
    let answer = admin.inspect_user(InspectUserRequest { user_id: 1 }).await;
    assert_eq!(answer.unwrap_err().code(), Code::Unimplemented);
    let answer = admin.verify_user(VerifyUserRequest { user_id: 1, ..VerifyUserRequest::default() }).await;
    assert_eq!(answer.unwrap_err().code(), Code::Unimplemented);
    let mut social = SocialGraphClient::new(api.admin_channel.clone());
    let request = FollowRequest { follower_id: 1, followee_id: 2, source: String::new() };
    assert_eq!(social.follow(request).await.unwrap_err().code(), Code::Unimplemented);
    assert_eq!(api.is_following(1, 2).await, None);
}

/// Operators can look while the other port sheds calls.
async fn the_ports_have_limits_of_their_own(place: Place) {
    let api = place.serve(&[("limits.max-in-flight-calls", "1")]).await;
    let (send, rows) = tokio::sync::mpsc::channel(1);
    let mut importer = api.social();
    let import = importer.import_edges(tokio_stream::wrappers::ReceiverStream::new(rows));
    let look = async {
        let shed = crate::support::eventually("a call is shed", async || {
            let request = FollowRequest { follower_id: 1, followee_id: 2, source: String::new() };
            api.social().follow(request).await.err()
        })
        .await;
        assert_eq!(shed.code(), Code::ResourceExhausted);
        api.admin().inspect_user(InspectUserRequest { user_id: 1 }).await.unwrap();
        drop(send);
    };
    let (imported, ()) = futures::join!(import, look);
    assert_eq!(imported.unwrap().into_inner().created, 0);
}

on_each_backend!(each_port_has_its_own_service, the_ports_have_limits_of_their_own);
