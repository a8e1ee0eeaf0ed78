//! Scripts that Redis forgot.

use std::time::Duration;

use socialgraph::v1::{FollowRequest, UnfollowRequest};

use crate::support::{caller::Caller, instance::Instance, redis, redis::PRIMARIES, turn};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgotten_scripts_are_sent_again_and_no_call_notices() {
    let _turn = turn().await;
    let cluster = redis::cluster().await;
    let instance = Instance::start(&cluster).await;
    let caller = Caller::new(instance.addresses.grpc, Duration::from_secs(5));
    for follower_id in 1..=20 {
        for node in 0..PRIMARIES {
            cluster.cli(node, &["SCRIPT", "FLUSH"]).await.expect("flush");
        }
        let followee_id = follower_id + 1_000;
        let follow = FollowRequest { follower_id, followee_id, ..Default::default() };
        let answer = caller.call(follow, |mut c, r| async move { c.follow(r).await }).await;
        let followed = (answer.attempts, answer.message.created, answer.message.followers_pending);
        assert_eq!(followed, (1, true, false), "{follower_id}");
        for node in 0..PRIMARIES {
            cluster.cli(node, &["SCRIPT", "FLUSH"]).await.expect("flush");
        }
        let unfollow = UnfollowRequest { follower_id, followee_id, ..Default::default() };
        let answer = caller.call(unfollow, |mut c, r| async move { c.unfollow(r).await }).await;
        let unfollowed = (answer.attempts, answer.message.removed, answer.message.followers_pending);
        assert_eq!(unfollowed, (1, true, false), "{follower_id}");
    }
    instance.stop().await;
    cluster.stop().await;
}
