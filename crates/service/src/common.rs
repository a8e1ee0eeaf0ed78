use std::{collections::HashMap, time::Duration};

use keyspace::List;
use model::{Deadline, Entry, Micros, TokenKind, UserId};
use store::{
    StoreError, Traffic,
    ops::{Count, Probe},
};
use tokio::time::timeout;

use crate::{Graph, ServiceError, lists::whole_list, times::follow_times};

/// Users of one probe.
const MOST_PROBED: u64 = 1_000;
/// How many times longer the other list must be for probes to cost less than reading it.
const PROBED_IN_TIMES: u64 = 16;
/// How long reading the lengths of two lists may take before Redis counts as away.
const LENGTHS_LIMIT: Duration = Duration::from_secs(2);

/// A question for the users whom two users both follow.
#[derive(Clone, Debug)]
pub struct CommonQuery {
    /// One user.
    pub user: UserId,
    /// The other.
    pub other: UserId,
    /// The order of the answer.
    pub order: CommonOrder,
    /// Entries a page, 1 to 500.
    pub page_size: usize,
    /// From the page before; empty for the first.
    pub page_token: String,
    /// How long the search may take.
    pub time_budget: Duration,
}

/// By whose follow times an answer is ordered, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommonOrder {
    /// By those of `user`.
    User,
    /// By those of `other`.
    Other,
}

/// Somebody whom both users follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Common {
    /// Who is followed.
    pub followee: UserId,
    /// Since when by `user`.
    pub followed_at: Micros,
    /// Since when by `other`.
    pub other_followed_at: Micros,
}

/// A page of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommonPage {
    /// The entries.
    pub users: Vec<Common>,
    /// How many were found over all pages.
    pub total: u64,
    /// Whether the search came to its end within the time budget.
    pub complete: bool,
    /// For the next page; empty on the last.
    pub next_page_token: String,
}

impl Graph {
    /// Whom both users follow: reads both lists side by side; or if one is much shorter, reads that one and probes the other.
    pub async fn common_follows(&self, query: CommonQuery, deadline: Deadline) -> Result<CommonPage, ServiceError> {
        let order = match query.order {
            CommonOrder::User => 1,
            CommonOrder::Other => 2,
        };
        let bound_to = [query.user.get(), query.other.get(), order];
        let tokens = &self.inner.tokens;
        let kind = TokenKind::CommonFollows;
        let after = match query.page_token.as_str() {
            "" => None,
            token => Some(tokens.open_page(kind, &bound_to, token).map_err(|_| ServiceError::InvalidPageToken)?),
        };
        let wait = timeout(query.time_budget.min(deadline.remaining()), self.inner.searches.acquire());
        let _search = wait.await.map_err(|_| ServiceError::Overloaded)?;
        let budget = Deadline::after(query.time_budget);
        let lengths = self.lengths(&query, deadline).await?;
        let mut found = Vec::new();
        let complete = match self.intersect(&query, lengths, deadline.min(budget), &mut found).await {
            Ok(()) => true,
            Err(_) if !deadline.has_passed() && budget.has_passed() => false,
            Err(error) => return Err(error.into()),
        };
        let (users, last) = page_of(&mut found, query.order, after, query.page_size);
        Ok(CommonPage {
            users,
            total: found.len() as u64,
            complete,
            next_page_token: last.map_or_else(String::new, |last| tokens.seal_page(kind, &bound_to, last)),
        })
    }

    /// How many users both follow. That it can be found tells a search that is slow from a Redis that is away, so it may take longer
    /// than the budget.
    async fn lengths(&self, query: &CommonQuery, deadline: Deadline) -> Result<[u64; 2], ServiceError> {
        let limit = deadline.min(Deadline::after(LENGTHS_LIMIT));
        let counts = [query.user, query.other].map(Count);
        let counts = self.inner.store.run_all(&counts, Traffic::Interactive, limit).await;
        let counts: Result<Vec<_>, _> = counts.into_iter().collect();
        let counts = counts
            .map_err(|error| if deadline.has_passed() { error.into() } else { ServiceError::of_own_limit(error) })?;
        Ok([counts[0].following, counts[1].following])
    }

    /// Gathers the common follows in `found`; an error leaves there what was found before it.
    async fn intersect(
        &self,
        query: &CommonQuery,
        lengths: [u64; 2],
        deadline: Deadline,
        found: &mut Vec<Common>,
    ) -> Result<(), StoreError> {
        let store = &self.inner.store;
        let [shorter, longer] = if lengths[0] <= lengths[1] { lengths } else { [lengths[1], lengths[0]] };
        if shorter <= MOST_PROBED && shorter * PROBED_IN_TIMES < longer {
            return self.probe_longer(query, lengths[0] <= lengths[1], deadline, found).await;
        }
        let read = |user| whole_list(store, List::Following, user, deadline);
        let (of_user, of_other) = futures::join!(read(query.user), read(query.other));
        let times: HashMap<UserId, Micros> = of_other.entries.iter().map(|entry| (entry.user, entry.at)).collect();
        found.extend(of_user.entries.iter().filter_map(|entry| {
            let other_followed_at = *times.get(&entry.user)?;
            Some(Common { followee: entry.user, followed_at: entry.at, other_followed_at })
        }));
        of_user.outcome.and(of_other.outcome)
    }

    /// Asks of everyone on the short list of one user whether the other one follows them.
    async fn probe_longer(
        &self,
        query: &CommonQuery,
        user_is_shorter: bool,
        deadline: Deadline,
        found: &mut Vec<Common>,
    ) -> Result<(), StoreError> {
        let store = &self.inner.store;
        let (shorter, longer) = if user_is_shorter { (query.user, query.other) } else { (query.other, query.user) };
        let list = whole_list(store, List::Following, shorter, deadline).await;
        list.outcome?;
        let probes: Vec<_> = list
            .entries
            .chunks(MOST_PROBED as usize)
            .map(|entries| Probe { follower: longer, followees: entries.iter().map(|entry| entry.user).collect() })
            .collect();
        let times = follow_times(store, &probes, Traffic::Bulk, deadline).await?;
        found.extend(list.entries.iter().zip(times.into_iter().flatten()).filter_map(|(entry, time)| {
            let (followed_at, other_followed_at) = if user_is_shorter { (entry.at, time?) } else { (time?, entry.at) };
            Some(Common { followee: entry.user, followed_at, other_followed_at })
        }));
        Ok(())
    }
}

/// Sorts what was found and cuts the page after a place; also gives the page's last place if more follows.
fn page_of(
    found: &mut [Common],
    order: CommonOrder,
    after: Option<Entry>,
    page_size: usize,
) -> (Vec<Common>, Option<Entry>) {
    let place = |common: &Common| match order {
        CommonOrder::User => Entry { at: common.followed_at, user: common.followee },
        CommonOrder::Other => Entry { at: common.other_followed_at, user: common.followee },
    };
    found.sort_unstable_by_key(|common| std::cmp::Reverse(place(common)));
    let start = after.map_or(0, |after| found.partition_point(|common| place(common) >= after));
    let rest = &found[start..];
    let page = rest[..page_size.min(rest.len())].to_vec();
    let last = page.last().filter(|_| rest.len() > page_size).map(place);
    (page, last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(followee: i64, at: u64, other_at: u64) -> Common {
        Common {
            followee: UserId::new(followee).unwrap(),
            followed_at: Micros::new(at).unwrap(),
            other_followed_at: Micros::new(other_at).unwrap(),
        }
    }

    #[test]
    fn pages_follow_the_order_and_meet_everyone_once_under_ties() {
        let all: Vec<_> = (1..=97).map(|id| common(id, 5 + id as u64 % 3, 5 + id as u64 % 7)).collect();
        for order in [CommonOrder::User, CommonOrder::Other] {
            for page_size in [1, 7, 96, 97, 98] {
                let (mut after, mut met) = (None, Vec::new());
                loop {
                    let mut found = all.clone();
                    let (page, last) = page_of(&mut found, order, after, page_size);
                    met.extend(page);
                    if last.is_none() {
                        break;
                    }
                    after = last;
                }
                assert_eq!(met.len(), all.len());
                let time = |c: &Common| match order {
                    CommonOrder::User => c.followed_at,
                    CommonOrder::Other => c.other_followed_at,
                };
                assert!(met.is_sorted_by_key(|c| std::cmp::Reverse(time(c))));
                met.sort_by_key(|c| c.followee);
                assert_eq!(met, all);
            }
        }
    }
}
