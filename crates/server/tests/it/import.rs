//! ImportEdges.

use bytes::BytesMut;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use prost::Message;
use socialgraph::v1::{ErrorReason, FollowRequest, ImportEdgesRequest, ImportEdgesResponse, ImportError};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Status, body::Body, client::Grpc};
use tonic_prost::ProstCodec;
use tower::{Service, ServiceExt};

use crate::support::{Api, Place, assert_mirrored, eventually, now, row, row_at, stamp};

const BEGIN: i64 = 1_600_000_000_000_000;
const SECOND: i64 = 1_000_000;

fn outcome(errors: &[ImportError]) -> Vec<(i64, ErrorReason)> {
    assert!(errors.iter().all(|error| !error.message.is_empty()));
    errors.iter().map(|error| (error.row, error.reason())).collect()
}

async fn an_empty_stream_imports_nothing(place: Place) {
    let api = place.serve(&[]).await;
    assert_eq!(api.import(Vec::new()).await, ImportEdgesResponse::default());
}

async fn rows_keep_their_times_and_those_without_are_from_now(place: Place) {
    let api = place.serve(&[]).await;
    let begin = now();
    let earliest = row_at(1, 4, 1);
    let answer = api.import(vec![row_at(1, 2, BEGIN), row(1, 3), earliest, row_at(i64::MAX, 1, BEGIN + 1)]).await;
    assert_eq!(answer, ImportEdgesResponse { created: 4, ..ImportEdgesResponse::default() });
    assert_eq!(api.is_following(1, 2).await, Some(BEGIN));
    assert_eq!(api.is_following(1, 4).await, Some(1));
    let at = api.is_following(1, 3).await.unwrap();
    assert!((begin..=now()).contains(&at), "{at}");
    assert_eq!(assert_mirrored(&api, [1, 2, 3, 4, i64::MAX]).await.len(), 4);
    place.settled().await;
}

/// Most clients send each message in a frame of its own, ahead of what the server has read.
async fn rows_in_small_frames_come_all(place: Place) {
    const ROWS: i64 = 50_000;
    let api = place.serve(&[]).await;
    let frames = (1..=ROWS).map(|id| {
        let mut frame = BytesMut::from(&[0; 5][..]);
        row(id, i64::MAX).encode(&mut frame).unwrap();
        let length = frame.len() as u32 - 5;
        frame[1..5].copy_from_slice(&length.to_be_bytes());
        Ok::<_, Status>(Frame::data(frame.freeze()))
    });
    let request = http::Request::post("/socialgraph.v1.SocialGraph/ImportEdges")
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Body::new(StreamBody::new(tokio_stream::iter(frames))))
        .unwrap();
    let mut channel = api.channel.clone();
    let response = channel.ready().await.unwrap().call(request).await.unwrap();
    let answer = response.into_body().collect().await.unwrap();
    assert_eq!(answer.trailers().unwrap().get("grpc-status").unwrap(), "0");
    let answer = ImportEdgesResponse::decode(answer.to_bytes().slice(5..)).unwrap();
    assert_eq!(answer, ImportEdgesResponse { created: ROWS, ..ImportEdgesResponse::default() });
}

/// What is there stays as it is, whatever time a later row says.
async fn again_everything_is_existing(place: Place) {
    let api = place.serve(&[]).await;
    let rows: Vec<_> = (2..500).map(|id| row_at(id % 7 + 1_000, id, BEGIN + id)).collect();
    assert_eq!(api.import(rows.clone()).await.created, 498);
    api.follow(1, 2).await;
    let before = place.snapshot().await;
    let again = api.import(rows).await;
    assert_eq!(again, ImportEdgesResponse { existing: 498, ..ImportEdgesResponse::default() });
    let other_times = vec![row_at(1_002, 2, BEGIN - 5), row_at(1_003, 3, BEGIN + 500), row(1_004, 4), row_at(1, 2, 77)];
    assert_eq!(api.import(other_times).await.existing, 4);
    assert_eq!(place.snapshot().await, before);
}

async fn duplicates_in_one_stream_are_existing(place: Place) {
    let api = place.serve(&[]).await;
    let mut rows = vec![row_at(1, 2, BEGIN); 200];
    rows.extend((0..300).map(|number| row_at(1, 3 + number % 3, BEGIN + number % 3)));
    let answer = api.import(rows).await;
    assert_eq!((answer.created, answer.existing), (4, 496));
    assert!(answer.errors.is_empty());
    assert_eq!(assert_mirrored(&api, 1..=5).await.len(), 4);
}

async fn an_unfollow_supersedes_older_rows_only(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(1, 2).await;
    let before = now();
    api.unfollow(1, 2).await;
    api.unfollow(1, 3).await;
    let after = now();
    let answer = api.import(vec![row_at(1, 2, BEGIN), row_at(1, 2, before), row_at(1, 3, before)]).await;
    assert_eq!(answer, ImportEdgesResponse { superseded: 3, ..ImportEdgesResponse::default() });
    assert!(assert_mirrored(&api, 1..=3).await.is_empty());
    let answer = api.import(vec![row_at(1, 2, after), row(1, 3)]).await;
    assert_eq!(answer, ImportEdgesResponse { created: 2, ..ImportEdgesResponse::default() });
    assert_eq!(api.is_following(1, 2).await, Some(after));
    assert_eq!(assert_mirrored(&api, 1..=3).await.len(), 2);
}

async fn bad_rows_are_named_and_the_others_imported(place: Place) {
    let api = place.serve(&[]).await;
    let time = |seconds, nanos| Some(prost_types::Timestamp { seconds, nanos });
    let timed =
        |followed_at| ImportEdgesRequest { follower_id: 1, followee_id: 9, followed_at, import_id: String::new() };
    let rows = vec![
        row(1, 2),
        row(0, 2),
        row(1, -1),
        row(i64::MIN, i64::MIN),
        row(5, 5),
        row_at(6, 6, BEGIN),
        timed(time(0, 0)),
        timed(time(-1, 0)),
        timed(time(1_600_000_000, -1)),
        timed(time(1_600_000_000, 1_000_000_000)),
        timed(time(i64::MAX, 0)),
        timed(Some(stamp(now() + 60 * SECOND))),
        row(1, 3),
    ];
    let answer = api.import(rows).await;
    let counts = (answer.created, answer.invalid, answer.self_, answer.existing, answer.superseded, answer.over_limit);
    assert_eq!(counts, (2, 9, 2, 0, 0, 0));
    let (invalid, self_) = (ErrorReason::InvalidField, ErrorReason::SelfReference);
    let expected: Vec<_> = (2..=12).map(|row| (row, if row == 5 || row == 6 { self_ } else { invalid })).collect();
    assert_eq!(outcome(&answer.errors), expected);
    for (row, field) in [(2, "follower_id"), (3, "followee_id"), (4, "follower_id"), (7, "followed_at")] {
        let message = &answer.errors[row - 2].message;
        assert!(message.contains(field), "row {row}: {message}");
    }
    assert_eq!(assert_mirrored(&api, [1, 2, 3, 5, 6, 9]).await.len(), 2);
}

async fn a_time_may_lie_a_little_in_the_future(place: Place) {
    let api = place.serve(&[]).await;
    let answer = api.import(vec![row_at(1, 2, now() + 5 * SECOND), row_at(1, 3, now() + 15 * SECOND)]).await;
    assert_eq!((answer.created, outcome(&answer.errors)), (1, vec![(2, ErrorReason::InvalidField)]));
}

/// A time in the future counts as now, so that each edge is newer than the one that was removed before it. Else a removal
/// that comes late would take the new edge for the one that it ends.
async fn a_new_follow_is_newer_than_an_edge_from_the_future(place: Place) {
    let api = place.serve(&[]).await;
    let future = now() + 8 * SECOND;
    let mut last = 0;
    for imported in [true, true, false, true] {
        if imported {
            assert_eq!(api.import(vec![row_at(1, 2, future)]).await.created, 1);
        } else {
            assert!(api.follow(1, 2).await.created);
        }
        let at = api.is_following(1, 2).await.unwrap();
        assert!(at > last && at <= now(), "{at} after {last}");
        assert_eq!(assert_mirrored(&api, 1..=2).await.len(), 1);
        assert!(api.unfollow(1, 2).await.removed);
        assert!(assert_mirrored(&api, 1..=2).await.is_empty());
        last = at;
    }
}

async fn rows_over_the_limit_are_named(place: Place) {
    let api = place.serve(&[("limits.max-following", "5")]).await;
    api.follow(1, 100).await;
    let rows = (2..=9).map(|followee| row(1, followee)).chain([row(2, 3), row(1, 100)]).collect();
    let answer = api.import(rows).await;
    assert_eq!((answer.created, answer.existing, answer.over_limit), (5, 1, 4));
    let expected: Vec<_> = (5..=8).map(|row| (row, ErrorReason::FollowLimit)).collect();
    assert_eq!(outcome(&answer.errors), expected);
    assert_eq!(api.count(1).await, (5, 0));
    assert_eq!(assert_mirrored(&api, (1..=9).chain([100])).await.len(), 6);
}

/// Over several chunks of the service, each with faults of each kind.
async fn only_the_first_hundred_faults_are_named(place: Place) {
    let api = place.serve(&[]).await;
    let kind = |number: i64| match number % 500 {
        0 => row(number, 0),
        1 => row(number, number),
        _ => row(number % 997 + 1, number + 1_000),
    };
    let answer = api.import((1..=70_000).map(kind).collect()).await;
    assert_eq!((answer.created, answer.invalid, answer.self_), (69_720, 140, 140));
    let faulty = (1..=70_000).filter(|number| number % 500 <= 1);
    let expected: Vec<_> = faulty
        .map(|row| (row, if row % 500 == 0 { ErrorReason::InvalidField } else { ErrorReason::SelfReference }))
        .take(100)
        .collect();
    assert_eq!(outcome(&answer.errors), expected);
}

/// The caller goes away in mid-stream. Whatever was written is whole, and all of it again gives the same graph.
async fn a_caller_that_goes_away_leaves_no_half_edge(place: Place) {
    let api = place.serve(&[]).await;
    let rows: Vec<_> = (0..40_000).map(|number| row_at(number % 5 + 1, 100 + number / 5, BEGIN + number)).collect();
    let (sender, receiver) = tokio::sync::mpsc::channel(64);
    let mut social = api.social();
    let call = social.import_edges(ReceiverStream::new(receiver));
    let sending = async {
        for row in &rows {
            sender.send(row.clone()).await.unwrap();
        }
        // The service writes what it has, and waits for more.
        eventually("rows are written", async || (api.count(1).await.0 > 0).then_some(())).await;
    };
    tokio::select! {
        answer = call => panic!("answered before the end of the stream: {answer:?}"),
        () = sending => {}
    }
    let written = eventually("writing ends", async || {
        let before = written_by_five(&api).await;
        place.settled().await;
        (written_by_five(&api).await == before).then_some(before)
    });
    let written = written.await;
    assert!(written > 0);
    assert_eq!(count_followers(&api).await, written, "half edges");

    let again = api.import(rows).await;
    assert_eq!((again.created, again.existing), (40_000 - written, written));
    assert_eq!(count_followers(&api).await, 40_000);
}

async fn written_by_five(api: &Api) -> i64 {
    api.counts(&[1, 2, 3, 4, 5]).await.iter().map(|count| count.0).sum()
}

async fn count_followers(api: &Api) -> i64 {
    let users: Vec<i64> = (100..8_100).collect();
    let mut followers = 0;
    for users in users.chunks(200) {
        followers += api.counts(users).await.iter().map(|counts| counts.1).sum::<i64>();
    }
    followers
}

/// A message that is no `ImportEdgesRequest` ends the call with an error, and what came before it is written.
async fn a_malformed_row_breaks_the_stream(place: Place) {
    let api = place.serve(&[]).await;
    // The two requests are alike, but for their third fields: what is a text here must be a time there.
    let request = |followee_id, source: &str| FollowRequest { follower_id: 1, followee_id, source: source.to_owned() };
    let rows = tokio_stream::iter([request(2, ""), request(3, ""), request(4, "zzz"), request(5, "")]);
    let codec = ProstCodec::<FollowRequest, ImportEdgesResponse>::default();
    let path = "/socialgraph.v1.SocialGraph/ImportEdges".parse().unwrap();
    let mut client = Grpc::new(api.channel.clone());
    client.ready().await.unwrap();
    let status = client.client_streaming(Request::new(rows), path, codec).await.unwrap_err();
    assert_eq!(status.code(), Code::Internal, "{status:?}");
    place.settled().await;
    let edges: Vec<_> = assert_mirrored(&api, 1..=5).await.into_iter().map(|(_, followee, _)| followee).collect();
    assert_eq!(edges, [2, 3]);
}

on_each_backend!(
    rows_in_small_frames_come_all,
    an_empty_stream_imports_nothing,
    rows_keep_their_times_and_those_without_are_from_now,
    again_everything_is_existing,
    duplicates_in_one_stream_are_existing,
    an_unfollow_supersedes_older_rows_only,
    bad_rows_are_named_and_the_others_imported,
    a_time_may_lie_a_little_in_the_future,
    a_new_follow_is_newer_than_an_edge_from_the_future,
    rows_over_the_limit_are_named,
    only_the_first_hundred_faults_are_named,
    a_caller_that_goes_away_leaves_no_half_edge,
    a_malformed_row_breaks_the_stream,
);
