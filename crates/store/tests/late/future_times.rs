//! An imported follow that is to begin in the future, and what happens to its edge until then.

use std::time::Duration;

use keyspace::List;
use model::{Edge, Entry, Micros, Order, UserId, Version, Window};
use socialgraph_store::ops::{Apply, FollowerChange, Range, Unfollow};

use crate::{Fixture, follow, run};

/// The list of followers takes the higher of two scores. If the removed edge had the higher one, an addition that
/// overtakes the removal would be lost.
#[tokio::test]
async fn a_refollow_that_overtakes_the_end_of_a_future_follow_stays() {
    let fixture = Fixture::start().await;
    let store = &fixture.store;
    let [follower, followee] = [1, 2].map(|id| UserId::new(id).unwrap());
    let edge = Edge::new(follower, followee).unwrap();

    let in_the_future = Micros::now().saturating_add(Duration::from_secs(8));
    let (first_at, first) = follow(store, edge, Some(in_the_future)).await;
    assert!(first_at.get() <= first.0 && first_at < in_the_future, "a future time counts as now");
    let add = |followed_at, version| Apply::new(vec![(edge, FollowerChange::Present { followed_at, version })]);
    run(store, add(first_at, first)).await;
    let unfollowed = run(store, Unfollow { edge, keeps_posts: false, seen: Version(0) }).await;
    assert_eq!(unfollowed.removed, Some(first_at));
    let (second_at, second) = follow(store, edge, None).await;
    run(store, add(second_at, second)).await;
    let removal = FollowerChange::Absent { removed: unfollowed.removed, version: unfollowed.version };
    run(store, Apply::new(vec![(edge, removal)])).await;

    let (list, order) = (List::Followers, Order::NewestFirst);
    let range = Range { list, user: followee, stretch: None, order, window: Window::ALL, from: None, limit: 5 };
    assert_eq!(run(store, range).await.entries, [Entry { at: second_at, user: follower }]);
    fixture.stop().await;
}
