//! Imports with an id.

use std::collections::BTreeMap;

use socialgraph::v1::{ErrorReason, ImportEdgesRequest, ImportEdgesResponse};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Response, Status};

use crate::support::{Api, Place, Refusal, eventually, refused, row, row_at};

const BEGIN: i64 = 1_600_000_000_000_000;

/// Rows under an id, with a bad one here and there.
fn rows(id: &str, number: i64) -> Vec<ImportEdgesRequest> {
    let mut rows: Vec<_> = (1..=number)
        .map(|number| match number % 100 {
            7 => row_at(number, number, BEGIN),
            13 => row_at(number, 0, BEGIN),
            99 => row(number % 17 + 1, 1_000 + number),
            _ => row_at(number % 17 + 1, 1_000 + number, BEGIN + number),
        })
        .collect();
    rows[0].import_id = id.to_owned();
    rows
}

async fn send(api: &Api, rows: Vec<ImportEdgesRequest>) -> Result<Response<ImportEdgesResponse>, Status> {
    api.social().import_edges(tokio_stream::iter(rows)).await
}

/// Every key but those of imports.
async fn graph(place: &Place) -> BTreeMap<String, String> {
    let mut keys = place.snapshot().await;
    keys.retain(|key, _| !key.contains(":import:"));
    keys
}

async fn again_it_answers_the_same_and_writes_nothing(place: Place) {
    let api = place.serve(&[]).await;
    let rows = rows("edges-1", 1_000);
    let first = api.import(rows.clone()).await;
    let counts = (first.created, first.self_, first.invalid, first.errors.len(), first.rows_skipped);
    assert_eq!(counts, (980, 10, 10, 20, 0));
    // A row without a time would make it anew.
    let timeless = rows.iter().find(|row| row.followed_at.is_none()).unwrap();
    assert!(api.unfollow(timeless.follower_id, timeless.followee_id).await.removed);
    let before = graph(&place).await;
    let again = api.import(rows.clone()).await;
    assert_eq!(again, ImportEdgesResponse { rows_skipped: 1_000, ..first.clone() });
    assert_eq!(graph(&place).await, before);
    // Whichever rows say the id.
    let everywhere = rows.into_iter().map(|row| ImportEdgesRequest { import_id: "edges-1".to_owned(), ..row });
    assert_eq!(api.import(everywhere.collect()).await, again);
    // Another id is another import.
    let other = api.import(self::rows("edges-2", 1_000)).await;
    assert_eq!((other.created, other.existing, other.rows_skipped), (1, 979, 0));
}

async fn more_rows_go_on_with_it(place: Place) {
    let api = place.serve(&[]).await;
    api.import(rows("edges", 300)).await;
    let whole = api.import(rows("edges", 1_000)).await;
    assert_eq!((whole.created, whole.existing, whole.rows_skipped), (980, 0, 300));
    let named: Vec<_> = whole.errors.iter().map(|error| error.row).collect();
    let bad = (1..=1_000).filter(|number| [7, 13].contains(&(number % 100)));
    assert_eq!(named, bad.collect::<Vec<_>>());
    let reasons: Vec<_> = whole.errors.iter().take(2).map(|error| error.reason()).collect();
    assert_eq!(reasons, [ErrorReason::SelfReference, ErrorReason::InvalidField]);
    assert!(whole.errors[1].message.contains("followee_id"));
}

async fn other_rows_under_its_id_are_refused(place: Place) {
    let api = place.serve(&[]).await;
    let good = rows("edges", 500);
    api.import(good.clone()).await;
    let before = graph(&place).await;
    let reused = Refusal::new(Code::AlreadyExists, "REQUEST_ID_REUSED");
    let changed = |at: usize, change: &dyn Fn(&mut ImportEdgesRequest)| {
        let mut rows = good.clone();
        change(&mut rows[at]);
        // And new ones, which must not be written.
        rows.push(row(1, 2));
        rows
    };
    let mut swapped = good.clone();
    swapped.swap(300, 301);
    let mut all: Vec<_> = [0, 250, 499]
        .into_iter()
        .flat_map(|at| {
            [
                changed(at, &|row| row.follower_id += 1),
                changed(at, &|row| row.followee_id += 1),
                changed(at, &|row| row.followed_at = Some(prost_types::Timestamp { seconds: 5, nanos: 0 })),
                changed(at, &|row| row.followed_at = None),
            ]
        })
        // The last one has no time.
        .filter(|rows| rows[..500] != good)
        .collect();
    all.extend([swapped, good[..499].to_vec(), good[..1].to_vec()]);
    assert!(all.len() >= 14);
    for (case, rows) in all.into_iter().enumerate() {
        refused(send(&api, rows).await, &reused, case);
    }
    assert_eq!(graph(&place).await, before);
    assert_eq!(api.import(good).await.rows_skipped, 500);
}

async fn bad_ids_are_refused(place: Place) {
    let api = place.serve(&[]).await;
    let bad_id = Refusal::fields(&["import_id"]);
    let long = "a".repeat(65);
    for id in [" ", "a b", "a:b", "a{b}", "é", "a\n", "../x", &long] {
        refused(send(&api, rows(id, 10)).await, &bad_id, id);
    }
    assert!(place.redis.scan(&format!("{}:*:import:*", place.name)).await.is_empty());
    assert_eq!(api.count(2).await, (0, 0));
    // Of another import in mid-stream: what came before is written.
    for first in ["", "edges"] {
        let mut rows = rows(first, 20);
        rows[10].import_id = "others".to_owned();
        refused(send(&api, rows).await, &bad_id, first);
    }
    let created: i64 = api.counts(&(1..=17).collect::<Vec<_>>()).await.iter().map(|counts| counts.0).sum();
    assert_eq!(created, 9);
    assert_eq!(api.import(rows("edges", 20)).await.rows_skipped, 10);
}

async fn of_two_calls_the_later_one_wins(place: Place) {
    let api = place.serve(&[]).await;
    let pattern = format!("{}:*:import:edges", place.name);
    let (sender, receiver) = tokio::sync::mpsc::channel(1_000);
    for row in rows("edges", 300) {
        sender.send(row).await.unwrap();
    }
    let mut social = api.social();
    let earlier = social.import_edges(ReceiverStream::new(receiver));
    let later = async {
        eventually("it began", async || (!place.redis.scan(&pattern).await.is_empty()).then_some(())).await;
        let answer = api.import(rows("edges", 500)).await;
        drop(sender);
        answer
    };
    let (earlier, later) = tokio::join!(earlier, later);
    refused(earlier, &Refusal::new(Code::Aborted, "IMPORT_TAKEN_OVER"), "the earlier one");
    assert_eq!(later.created + later.existing, 490);
    assert_eq!(api.import(rows("edges", 500)).await.rows_skipped, 500);
}

async fn it_is_remembered_for_a_week(place: Place) {
    let api = place.serve(&[]).await;
    api.import(rows("edges", 10)).await;
    let [key] = &place.redis.describe(&format!("{}:*:import:*", place.name)).await[..] else { panic!("one key") };
    let week = 7 * 24 * 3600;
    assert!((week - 60..=week).contains(&key.expires_in), "{key:?}");
}

on_each_backend!(
    again_it_answers_the_same_and_writes_nothing,
    more_rows_go_on_with_it,
    other_rows_under_its_id_are_refused,
    bad_ids_are_refused,
    of_two_calls_the_later_one_wins,
    it_is_remembered_for_a_week,
);
