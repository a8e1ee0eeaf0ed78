use std::time::Duration;

use keyspace::List;
use model::{Deadline, Entry, Micros, Order, TokenKind, UserId, Window};
use store::{
    StoreError, Traffic,
    ops::{Count, Probe, Probed},
};
use tokio::time::timeout;

use crate::{
    Graph, ServiceError,
    lists::{MOST_ENTRIES, Slice, Walk},
    times::find_times,
};

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
    /// Whom both users follow: reads the shorter list in slices and probes the longer one. Where that one is so long that probes
    /// do not tell since when, it is read as well.
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
        let walk = self.shorter_list(&query, deadline).await?;
        let mut found = Vec::new();
        let complete = match self.intersect(&query, walk, deadline.min(budget), &mut found).await {
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

    /// The way through the shorter list. That it can be found tells a search that is slow from a Redis that is away, so it may take
    /// longer than the budget.
    async fn shorter_list(&self, query: &CommonQuery, deadline: Deadline) -> Result<Walk, ServiceError> {
        let lengths = [query.user, query.other].map(Count);
        let limit = deadline.min(Deadline::after(LENGTHS_LIMIT));
        let lengths = self.inner.store.run_all(&lengths, Traffic::Interactive, limit).await;
        let lengths: Result<Vec<_>, _> =
            lengths.into_iter().map(|counts| counts.map(|counts| counts.following)).collect();
        let lengths = lengths
            .map_err(|error| if deadline.has_passed() { error.into() } else { ServiceError::of_own_limit(error) })?;
        let user = if lengths[0] <= lengths[1] { query.user } else { query.other };
        Ok(Walk { list: List::Following, user, order: Order::NewestFirst, window: Window::ALL })
    }

    /// Gathers the common follows in `found`; an error leaves there what was found before it.
    async fn intersect(
        &self,
        query: &CommonQuery,
        walk: Walk,
        deadline: Deadline,
        found: &mut Vec<Common>,
    ) -> Result<(), StoreError> {
        let store = &self.inner.store;
        let user_is_shorter = walk.user == query.user;
        let longer = if user_is_shorter { query.other } else { query.user };
        let common = |entry: Entry, time| {
            let (followed_at, other_followed_at) = if user_is_shorter { (entry.at, time) } else { (time, entry.at) };
            Common { followee: entry.user, followed_at, other_followed_at }
        };
        let mut untimed = Vec::new();
        let mut slice = walk.slice(store, None, MOST_ENTRIES, deadline).await?;
        while !slice.entries.is_empty() {
            let probe = Probe { follower: longer, followees: slice.entries.iter().map(|entry| entry.user).collect() };
            let following_slice = async {
                match slice.next {
                    Some(last) => walk.slice(store, Some(last), MOST_ENTRIES, deadline).await,
                    None => Ok(Slice { entries: Vec::new(), next: None }),
                }
            };
            let (probed, next) = futures::join!(store.run(&probe, Traffic::Bulk, deadline), following_slice);
            for (&entry, probed) in slice.entries.iter().zip(probed?) {
                match probed {
                    Probed::Not => {}
                    Probed::Since(time) => found.push(common(entry, time)),
                    Probed::Sometime => untimed.push(entry),
                }
            }
            slice = next?;
        }
        let times = find_times(store, longer, untimed.iter().map(|entry| entry.user), deadline).await?;
        found.extend(untimed.into_iter().filter_map(|entry| Some(common(entry, times.get(&entry.user).copied()??))));
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
