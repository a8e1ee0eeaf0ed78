//! How watches end.

use model::UserId;
use tonic::{Code, Status, transport::Endpoint};

use crate::support::{Api, Event, Place, Process, Refusal, Watching, eventually, micros, refused, row};

/// Asserts how a watch ended.
#[track_caller]
fn ended(status: Status, code: Code, reason: &str) {
    refused(Err::<tonic::Response<()>, _>(status), &Refusal::new(code, reason), reason);
}

async fn expired(watching: &mut Watching) {
    ended(watching.end().await, Code::OutOfRange, "POSITION_EXPIRED");
}

/// Waits until nothing is left of a user's log.
async fn trimmed(place: &Place, user: i64) {
    let keys = place.keys();
    let log = keys.log(keys.partition(UserId::new(user).unwrap())).to_string();
    eventually("the log is trimmed", async || (place.redis.command(&["XLEN", &log]).await.trim() == "0").then_some(()))
        .await;
}

async fn a_position_before_what_was_trimmed_has_expired_and_no_other(place: Place) {
    let api = place.serve(&[("changes.retention", "1s")]).await;
    let never = api.watch("").await.last_token();
    api.follow(1, 2).await;
    let after_first = api.watch("").await.last_token();
    api.follow(1, 3).await;
    let idle = api.watch("").await.last_token();
    trimmed(&place, 1).await;
    expired(&mut api.watch(&never).await).await;
    expired(&mut api.watch(&after_first).await).await;

    // Nothing was missed since, however long ago that was.
    let follow = micros(api.follow(1, 4).await.followed_at);
    let mut watching = api.watch(&idle).await;
    watching.until_events(1).await;
    assert_eq!(watching.events, [(Event::followed((1, 4, follow)), follow)]);

    // A partition that never had a change may be trimmed later on.
    let elsewhere = (5..).find(|&user| partition(&place, user) != partition(&place, 1)).unwrap();
    let before = watching.last_token();
    api.follow(elsewhere, 1).await;
    watching.until_events(2).await;
    let after = watching.last_token();
    trimmed(&place, elsewhere).await;
    expired(&mut api.watch(&before).await).await;
    watching.next().await.unwrap();
    api.watch(&after).await.next().await.unwrap();
}

fn partition(place: &Place, user: i64) -> u16 {
    place.keys().partition(UserId::new(user).unwrap()).get()
}

/// A client that takes nothing is given up, and may go on where it was.
async fn a_slow_client_is_disconnected(place: Place) {
    const ROWS: i64 = 40_000;
    const SLOW: &str = "socialgraph_watches_ended_total{reason=\"slow\"}";
    let server = Process::serve(&place, &[("watch.patience", "300ms")]).await;
    // Others' windows may take megabytes.
    let endpoint = Endpoint::from_shared(server.endpoint.clone()).unwrap().initial_stream_window_size(64 * 1024);
    let mut slow = Api { channel: endpoint.connect().await.unwrap(), ..server.api.clone() }.watch("").await;
    let mut quick = server.api.watch("").await;
    let rows = (0..ROWS).map(|number| row(1 + number % 500, 1_000 + number / 500)).collect();
    let importing = async { assert_eq!(server.api.import(rows).await.created, ROWS) };
    tokio::join!(importing, quick.until_events(ROWS as usize));
    eventually("it is given up", async || server.metric(SLOW).await.filter(|&ended| ended > 0.0)).await;
    assert_eq!(server.metric("socialgraph_watches").await, Some(1.0), "that of the quick one");
    ended(slow.end().await, Code::ResourceExhausted, "SLOW_CLIENT");
    // No more waited for it than a queue and a window of HTTP/2 have.
    let taken = slow.events.len();
    assert!(taken < ROWS as usize / 2, "{taken} were kept for it");

    let mut rest = server.api.watch(&slow.last_token()).await;
    rest.until_events(ROWS as usize - taken).await;
    slow.events.append(&mut rest.events);
    assert_eq!(slow.graph(), quick.graph());
    assert_eq!(slow.graph().len(), ROWS as usize);
}

async fn a_server_that_stops_ends_its_watches(place: Place) {
    let (first, second) = (place.serve(&[]).await, place.serve(&[]).await);
    let mut watching = first.watch("").await;
    first.follow(1, 2).await;
    watching.until_events(1).await;
    let stopping = async {
        let begun = std::time::Instant::now();
        first.stop().await;
        assert!(begun.elapsed().as_secs() < 10, "the watch kept the server for {:?}", begun.elapsed());
    };
    let (status, ()) = tokio::join!(watching.end(), stopping);
    ended(status, Code::Unavailable, "STOPPING");
    second.follow(1, 3).await;
    let mut rest = second.watch(&watching.last_token()).await;
    rest.until_events(1).await;
    assert_eq!(rest.graph().into_iter().map(|row| row.1).collect::<Vec<_>>(), [3]);
}

async fn too_many_watches_are_refused(place: Place) {
    let api = place.serve(&[("watch.max-watches", "2")]).await;
    let (_first, second) = (api.watch("").await, api.watch("").await);
    let another =
        async || api.social().watch_relationships(socialgraph::v1::WatchRelationshipsRequest::default()).await;
    let answer = another().await.map(|_watching| tonic::Response::new(()));
    refused(answer, &Refusal::overloaded(), "a third watch");
    drop(second);
    eventually("there is room again", async || another().await.ok()).await;
}

on_each_backend!(
    a_position_before_what_was_trimmed_has_expired_and_no_other,
    a_slow_client_is_disconnected,
    a_server_that_stops_ends_its_watches,
    too_many_watches_are_refused,
);
