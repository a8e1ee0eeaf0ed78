//! ListFollowing and ListFollowers: order, pages, time windows.

use socialgraph::v1::{ImportEdgesRequest, ListOrder};

use crate::support::{Listed, ORDERS, Place, Query, SIDES, Side, row_at};

/// The user whose lists are looked at.
const ME: i64 = 1_000_000;
/// The first of the times that are imported.
const BEGIN: i64 = 1_600_000_000_000_000;

/// The row that puts `other` into a list of [`ME`].
fn entry(side: Side, other: i64, at: i64) -> ImportEdgesRequest {
    match side {
        Side::Following => row_at(ME, other, at),
        Side::Followers => row_at(other, ME, at),
    }
}

/// How the service orders entries: by time, and those of one time as Redis does, by the bytes of the id.
fn sorted(mut entries: Vec<Listed>, order: ListOrder) -> Vec<Listed> {
    entries.sort_by_key(|&(id, at)| (at, id.to_string()));
    if order != ListOrder::OldestFirst {
        entries.reverse();
    }
    entries
}

/// Imports `entries` into both lists of [`ME`].
async fn fill(place: &Place, entries: &[Listed]) -> crate::support::Instance {
    let api = place.serve(&[]).await;
    for side in SIDES {
        let rows = entries.iter().map(|&(id, at)| entry(side, id, at)).collect();
        assert_eq!(api.import(rows).await.created, entries.len() as i64);
    }
    api
}

async fn pages_of_any_size_give_the_same_list(place: Place) {
    let entries: Vec<Listed> = (1..=123).map(|id| (id, BEGIN + id * 7)).collect();
    let api = fill(&place, &entries).await;
    for side in SIDES {
        for order in ORDERS {
            let expected = sorted(entries.clone(), order);
            for page_size in [0, 1, 7, 122, 123, 124, 500] {
                let query = Query { order, page_size, ..Query::all(side, ME) };
                assert_eq!(api.walk(&query).await, expected, "{query:?}");
            }
        }
    }
}

async fn pages_are_full_and_only_the_last_has_no_token(place: Place) {
    let entries: Vec<Listed> = (1..=150).map(|id| (id, BEGIN + id)).collect();
    let api = fill(&place, &entries).await;
    for side in SIDES {
        for (page_size, sizes) in [(0, vec![50, 50, 50]), (40, vec![40, 40, 40, 30]), (150, vec![150])] {
            let query = Query { page_size, ..Query::all(side, ME) };
            let (mut token, mut met) = (String::new(), Vec::new());
            loop {
                let (page, next) = api.page(&query, &token).await;
                met.push(page.len());
                token = next;
                if token.is_empty() {
                    break;
                }
            }
            assert_eq!(met, sizes, "{query:?}");
        }
    }
}

async fn the_page_size_may_change_between_pages(place: Place) {
    let entries: Vec<Listed> = (1..=20).map(|id| (id, BEGIN + id)).collect();
    let api = fill(&place, &entries).await;
    for side in SIDES {
        let query = |page_size| Query { page_size, ..Query::all(side, ME) };
        let (mut met, token) = api.page(&query(3), "").await;
        let (page, token) = api.page(&query(10), &token).await;
        met.extend(page);
        let (page, token) = api.page(&query(500), &token).await;
        met.extend(page);
        assert!(token.is_empty());
        assert_eq!(met, sorted(entries.clone(), ListOrder::NewestFirst));
    }
}

async fn the_same_token_gives_the_same_page(place: Place) {
    let entries: Vec<Listed> = (1..=20).map(|id| (id, BEGIN + id)).collect();
    let api = fill(&place, &entries).await;
    let second = place.serve(&[]).await;
    let query = Query { page_size: 8, ..Query::all(Side::Followers, ME) };
    let (_, token) = api.page(&query, "").await;
    let once = api.page(&query, &token).await;
    assert_eq!(api.page(&query, &token).await, once);
    assert_eq!(second.page(&query, &token).await, once, "another server of this keyspace");
}

async fn a_window_includes_its_begin_and_not_its_end(place: Place) {
    // Three entries each at five times: the borders lie on ties.
    let entries: Vec<Listed> = (0..15).map(|number| (number + 1, BEGIN + number / 3 * 10)).collect();
    let api = fill(&place, &entries).await;
    let borders = [-1, 0, 1, 10, 15, 20, 40, 41, 1_000].map(|offset| BEGIN + offset);
    let froms = [None].into_iter().chain(borders.map(Some));
    for (from, before) in froms.flat_map(|from| [None].into_iter().chain(borders.map(Some)).map(move |b| (from, b))) {
        if before.is_some_and(|before| from.is_some_and(|from| before <= from)) {
            continue;
        }
        let inside = |at| from.is_none_or(|from| at >= from) && before.is_none_or(|before| at < before);
        let within: Vec<Listed> = entries.iter().copied().filter(|&(_, at)| inside(at)).collect();
        for (side, order) in SIDES.into_iter().flat_map(|side| ORDERS.map(|order| (side, order))) {
            let expected = sorted(within.clone(), order);
            let query = Query { side, user: ME, order, from, before, page_size: 4 };
            assert_eq!(api.walk(&query).await, expected, "{query:?}");
        }
    }
}

async fn a_window_cuts_to_the_microsecond(place: Place) {
    let entries: Vec<Listed> = (1..=9).map(|id| (id, BEGIN + id)).collect();
    let api = fill(&place, &entries).await;
    let query =
        Query { from: Some(BEGIN + 4), before: Some(BEGIN + 5), page_size: 1, ..Query::all(Side::Following, ME) };
    assert_eq!(api.page(&query, "").await, (vec![(4, BEGIN + 4)], String::new()));
}

on_each_backend!(
    pages_of_any_size_give_the_same_list,
    pages_are_full_and_only_the_last_has_no_token,
    the_page_size_may_change_between_pages,
    the_same_token_gives_the_same_page,
    a_window_includes_its_begin_and_not_its_end,
    a_window_cuts_to_the_microsecond,
);
