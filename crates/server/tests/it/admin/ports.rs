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

on_each_backend!(each_port_has_its_own_service);
