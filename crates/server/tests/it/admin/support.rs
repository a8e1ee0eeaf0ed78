//! Looks at users by the port for operators, and harm done past the service.

use std::collections::BTreeSet;

use keyspace::{Key, List};
use model::UserId;
use socialgraph::admin::v1::{Drift, DriftKind, Findings, RepairUserRequest, VerifyUserRequest};

use crate::support::{Api, Place, micros};

pub(super) const BEGIN: i64 = 1_600_000_000_000_000;

pub(super) fn user(id: i64) -> UserId {
    UserId::new(id).unwrap()
}

/// A drift in short: its kind, follower, followee, and since when either side has the edge; of a count, the count and the entries.
pub(super) type Short = (DriftKind, i64, i64, Option<i64>, Option<i64>);

/// All pages of a look as one; drifts in no order.
#[derive(Debug, Default)]
pub(super) struct Looked {
    pub(super) drifts: BTreeSet<Short>,
    pub(super) drift_count: i64,
    pub(super) edges: i64,
    pub(super) in_flight: i64,
    pub(super) counts_unknown: i32,
    pub(super) pages: usize,
}

impl Looked {
    fn add(&mut self, page: &Findings, is_repair: bool) {
        assert!(page.drifts.len() as i64 <= page.drift_count);
        assert!(page.drifts.iter().all(|drift| drift.repaired == is_repair), "{page:?}");
        self.drifts.extend(page.drifts.iter().map(short));
        self.drift_count += page.drift_count;
        self.edges += page.edges_checked;
        self.in_flight += page.edges_in_flight;
        self.counts_unknown += page.counts_unknown;
        self.pages += 1;
    }

    /// That all is well, and nothing is unknown.
    pub(super) fn is_clean(&self) -> bool {
        (self.drift_count, self.in_flight, self.counts_unknown) == (0, 0, 0)
    }
}

fn short(drift: &Drift) -> Short {
    let time = |time: Option<_>| time.map(|time| micros(Some(time)));
    let (one, other) = if drift.kind() == DriftKind::WrongCount {
        (drift.counted, drift.entries)
    } else {
        (time(drift.followed_at), time(drift.listed_at))
    };
    (drift.kind(), drift.follower_id, drift.followee_id, one, other)
}

/// Looks at a user, by so many edges a call.
pub(super) async fn verify_by(api: &Api, user_id: i64, page_size: i32) -> Looked {
    let (mut looked, mut page_token) = (Looked::default(), String::new());
    loop {
        let request = VerifyUserRequest { user_id, page_size, page_token };
        let page = api.admin().verify_user(request).await.expect("verify").into_inner();
        looked.add(&page.findings.expect("findings"), false);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return looked;
        }
    }
}

pub(super) async fn verify(api: &Api, user_id: i64) -> Looked {
    verify_by(api, user_id, 0).await
}

/// Repairs a user.
pub(super) async fn repair(api: &Api, user_id: i64) -> Looked {
    let (mut looked, mut page_token) = (Looked::default(), String::new());
    loop {
        let request = RepairUserRequest { user_id, page_size: 0, page_token };
        let page = api.admin().repair_user(request).await.expect("repair").into_inner();
        page_token = page.next_page_token;
        looked.add(&page.findings.expect("findings"), true);
        if page_token.is_empty() {
            return looked;
        }
    }
}

/// Writes an entry past the service.
pub(super) async fn add(place: &Place, key: &Key, at: i64, member: i64) {
    place.redis.command(&["ZADD", &key.to_string(), &at.to_string(), &member.to_string()]).await;
}

/// Removes an entry past the service.
pub(super) async fn remove(place: &Place, key: &Key, member: i64) {
    assert_eq!(place.redis.command(&["ZREM", &key.to_string(), &member.to_string()]).await, "1");
}

/// Makes the count of a long list wrong: too small, by a number.
pub(super) async fn miscount(place: &Place, list: List, id: i64, by: i64) {
    let parts = place.keys().list_parts(list, user(id)).to_string();
    place.redis.command(&["ZINCRBY", &parts, &by.to_string(), ""]).await;
}

/// Asserts that these users are wholly well.
pub(super) async fn assert_clean(api: &Api, users: impl IntoIterator<Item = i64>) {
    for id in users {
        let looked = verify(api, id).await;
        assert!(looked.is_clean(), "{id}: {looked:?}");
    }
}
