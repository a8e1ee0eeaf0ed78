//! Pages of lists that change between them, and of lists in which hundreds of entries have one time.

use std::collections::BTreeSet;

use rand::{Rng, seq::IndexedRandom};
use socialgraph::v1::ListOrder;

use crate::support::{Api, Listed, ORDERS, Place, Query, SIDES, Side, row_at, seeded};

const ME: i64 = 1_000_000;
const BEGIN: i64 = 1_600_000_000_000_000;
/// Entries that have one time: more than two of the largest pages.
const TIED: i64 = 1_203;

/// Makes both lists of [`ME`] hold these.
async fn fill(api: &Api, entries: &[Listed]) {
    let both = |&(id, at): &Listed| [row_at(ME, id, at), row_at(id, ME, at)];
    let rows = entries.iter().flat_map(both).collect::<Vec<_>>();
    let sent = rows.len() as i64;
    assert_eq!(api.import(rows).await.created, sent);
}

fn edge(side: Side, other: i64) -> (i64, i64) {
    match side {
        Side::Following => (ME, other),
        Side::Followers => (other, ME),
    }
}

async fn remove(api: &Api, side: Side, other: i64) {
    let (follower, followee) = edge(side, other);
    assert!(api.unfollow(follower, followee).await.removed);
}

async fn add(api: &Api, side: Side, other: i64) {
    let (follower, followee) = edge(side, other);
    assert!(api.follow(follower, followee).await.created);
}

async fn ties_are_met_once_in_the_order_of_redis(place: Place) {
    let api = place.serve(&[]).await;
    let mut entries = vec![(TIED + 1, BEGIN - 1), (TIED + 2, BEGIN + 1)];
    entries.extend((1..=TIED).map(|id| (id, BEGIN)));
    fill(&api, &entries).await;
    entries.sort_by_key(|&(id, at)| (at, id.to_string()));
    for side in SIDES {
        for order in ORDERS {
            if order == ListOrder::NewestFirst {
                entries.reverse();
            }
            for page_size in [7, 500] {
                let query = Query { order, page_size, ..Query::all(side, ME) };
                assert_eq!(api.walk(&query).await, entries, "{query:?}");
            }
            if order == ListOrder::NewestFirst {
                entries.reverse();
            }
        }
    }
}

async fn a_window_borders_on_ties(place: Place) {
    let api = place.serve(&[]).await;
    let entries: Vec<Listed> = (0..900).map(|number| (number + 1, BEGIN + number / 300)).collect();
    fill(&api, &entries).await;
    for (side, order) in SIDES.into_iter().flat_map(|side| ORDERS.map(|order| (side, order))) {
        let query = Query { side, user: ME, order, from: Some(BEGIN + 1), before: Some(BEGIN + 2), page_size: 7 };
        let met = api.walk(&query).await;
        assert_eq!(met.iter().copied().collect::<BTreeSet<_>>(), entries[300..600].iter().copied().collect());
        assert_eq!(met.len(), 300, "{query:?}");
    }
}

/// The entry that a token names need not be there any more.
async fn a_cursor_outlives_its_entry(place: Place) {
    for (side, order) in SIDES.into_iter().flat_map(|side| ORDERS.map(|order| (side, order))) {
        for tied in [false, true] {
            let place = place.another().await;
            let api = place.serve(&[]).await;
            let entries: Vec<Listed> = (1..=60).map(|id| (id, BEGIN + if tied { 0 } else { id })).collect();
            fill(&api, &entries).await;
            let query = Query { order, page_size: 7, ..Query::all(side, ME) };
            let expected = api.walk(&query).await;
            let (mut met, mut token) = (Vec::new(), String::new());
            loop {
                let (page, next) = api.page(&query, &token).await;
                met.extend(page);
                token = next;
                if token.is_empty() {
                    break;
                }
                remove(&api, side, met.last().unwrap().0).await;
            }
            assert_eq!(met, expected, "{query:?}, tied: {tied}");
        }
    }
}

/// Follows and unfollows at random between pages, amid ties: what is there all along is met exactly once.
async fn what_stays_is_met_once_while_others_come_and_go(place: Place) {
    let mut random = seeded();
    let api = place.serve(&[]).await;
    let entries: Vec<Listed> = (1..=400).map(|id| (id, BEGIN + id / 100)).collect();
    fill(&api, &entries).await;
    let mut goers: Vec<i64> = (1..=400).filter(|id| id % 3 == 0).collect();
    let stayers: BTreeSet<Listed> = entries.iter().copied().filter(|(id, _)| id % 3 != 0).collect();
    let mut newcomer = 10_000;
    for (side, order) in SIDES.into_iter().flat_map(|side| ORDERS.map(|order| (side, order))) {
        let query = Query { order, page_size: random.random_range(5..40), ..Query::all(side, ME) };
        let (mut met, mut token) = (Vec::new(), String::new());
        let mut added = 0;
        loop {
            let (page, next) = api.page(&query, &token).await;
            met.extend(page);
            token = next;
            if token.is_empty() {
                break;
            }
            let goer = *goers.choose(&mut random).unwrap();
            let (follower, followee) = edge(side, goer);
            let _perhaps_gone_already = api.unfollow(follower, followee).await;
            // Newest last, a page of newcomers must not keep the walk from its end.
            if added < 30 {
                newcomer += 1;
                added += 1;
                add(&api, side, newcomer).await;
            }
        }
        let ids: BTreeSet<i64> = met.iter().map(|&(id, _)| id).collect();
        assert_eq!(ids.len(), met.len(), "met twice: {query:?}");
        let met: BTreeSet<Listed> = met.into_iter().collect();
        let missed: Vec<_> = stayers.difference(&met).collect();
        assert!(missed.is_empty(), "missed {missed:?}: {query:?}");
        goers.retain(|&id| id % 2 == 0);
    }
}

/// Newest first, what arrives after the first page is not part of the walk, and pages stay full.
async fn field_g21_pages_stay_full_while_follows_arrive(place: Place) {
    let api = place.serve(&[]).await;
    let entries: Vec<Listed> = (1..=100).map(|id| (id, BEGIN + id)).collect();
    fill(&api, &entries).await;
    for side in SIDES {
        let query = Query { page_size: 20, ..Query::all(side, ME) };
        let before = api.walk(&query).await;
        let (mut met, mut token) = api.page(&query, "").await;
        let mut sizes = vec![met.len()];
        let mut newcomer = 20_000;
        while !token.is_empty() {
            for _ in 0..15 {
                newcomer += 1;
                add(&api, side, newcomer).await;
            }
            let (page, next) = api.page(&query, &token).await;
            sizes.push(page.len());
            met.extend(page);
            token = next;
        }
        assert_eq!(met, before);
        assert_eq!(sizes, [20; 5]);
    }
}

on_each_backend!(
    ties_are_met_once_in_the_order_of_redis,
    a_window_borders_on_ties,
    a_cursor_outlives_its_entry,
    what_stays_is_met_once_while_others_come_and_go,
    field_g21_pages_stay_full_while_follows_arrive,
);
