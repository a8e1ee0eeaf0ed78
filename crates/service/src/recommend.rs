//! Whom a user may want to follow: friends of friends.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use keyspace::List;
use model::{Deadline, Entry, UserId};
use store::{
    Store, StoreError, Traffic,
    ops::{Dismiss, Dismissed, Newest},
};

use crate::{
    Graph, ServiceError,
    lists::whole_list,
    search::{BESIDE_LIMIT, of_limit},
};

/// Most followees whose lists are looked at: the newest half of them, and as many from all over the rest.
const MOST_FRIENDS: usize = 256;
/// Most users of each of their lists, the newest. Of a long list those that are in no segment: to read one takes a round trip more.
const MOST_OF_FRIEND: usize = 100;
/// How many lists are read between two looks at the time budget.
const SIDE_BY_SIDE: usize = 128;
/// Most users that a recommendation names as its reason.
const MOST_NAMED: usize = 3;
/// How many candidates are looked at, at once, in place of those that are left out.
const LOOKED_AT_ONCE: usize = 500;

/// A question for recommendations.
#[derive(Clone, Copy, Debug)]
pub struct RecommendQuery {
    /// For whom.
    pub user: UserId,
    /// Most recommendations.
    pub limit: usize,
    /// How long the search may take.
    pub time_budget: Duration,
}

/// Somebody who is recommended.
#[derive(Clone, Debug, PartialEq)]
pub struct Recommended {
    /// Who.
    pub user: UserId,
    /// The sum of 1 / ln(1 + how many they follow) over those who are followed and follow them (Adamic and Adar).
    pub score: f64,
    /// How many these are.
    pub mutual_count: u64,
    /// Up to 3 of them, those first who were followed last.
    pub mutuals: Vec<UserId>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Recommendations {
    /// The best first.
    pub users: Vec<Recommended>,
    /// Whether the search came to its end within the time budget.
    pub complete: bool,
}

/// Whom friends follow, and how much that counts.
#[derive(Default)]
struct Candidates(HashMap<UserId, Recommended>);

impl Graph {
    /// Whom those follow whom a user follows, but for whom the user follows already, or has dismissed, blocked or muted,
    /// and who has blocked the user. Some five round trips.
    pub async fn recommend(&self, query: RecommendQuery, deadline: Deadline) -> Result<Recommendations, ServiceError> {
        let _turn = self.turn_to_search(query.time_budget, deadline).await?;
        let budget = Deadline::after(query.time_budget);
        let store = &self.inner.store;
        let own = own_lists(store, query.user, deadline.min(Deadline::after(BESIDE_LIMIT))).await;
        let (mut following, dismissed) = own.map_err(|error| of_limit(error, deadline))?;
        following.sort_unstable_by_key(|entry| std::cmp::Reverse(*entry));
        let mut excluded: HashSet<UserId> = following.iter().map(|entry| entry.user).chain(dismissed).collect();
        excluded.insert(query.user);

        let mut candidates = Candidates::default();
        let mut complete = true;
        for friends in sample(&following).chunks(SIDE_BY_SIDE) {
            match candidates.gather(store, friends, &excluded, deadline.min(budget)).await {
                Ok(()) => {}
                Err(_) if !deadline.has_passed() && budget.has_passed() => {
                    complete = false;
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
        let users = self.not_hidden(query, candidates.ranked(), deadline).await?;
        Ok(Recommendations { users, complete })
    }

    /// The first of some candidates whom the user does not block or mute, and who do not block the user. One round trip, unless some are
    /// left out.
    async fn not_hidden(
        &self,
        RecommendQuery { user, limit, .. }: RecommendQuery,
        ranked: Vec<Recommended>,
        deadline: Deadline,
    ) -> Result<Vec<Recommended>, ServiceError> {
        let mut users = Vec::with_capacity(limit);
        let (mut ranked, mut at_once) = (ranked.into_iter().peekable(), limit);
        while users.len() < limit && ranked.peek().is_some() {
            let some: Vec<_> = ranked.by_ref().take(at_once).collect();
            let ids: Vec<_> = some.iter().map(|candidate| candidate.user).collect();
            let between = self.between(user, &ids, deadline).await?;
            let shown = some
                .into_iter()
                .zip(between)
                .filter(|(_, between)| !between.is_block() && between.held.muted_at.is_none());
            users.extend(shown.map(|(candidate, _)| candidate));
            at_once = LOOKED_AT_ONCE;
        }
        users.truncate(limit);
        Ok(users)
    }

    /// Never recommends somebody to a user again. One round trip.
    pub async fn dismiss(&self, user: UserId, dismissed: UserId, deadline: Deadline) -> Result<(), ServiceError> {
        Ok(self.inner.store.run(&Dismiss { user, dismissed }, Traffic::Interactive, deadline).await?)
    }
}

/// Whom a user follows, and whom they dismissed.
async fn own_lists(
    store: &Store,
    user: UserId,
    deadline: Deadline,
) -> Result<(Vec<Entry>, HashSet<UserId>), StoreError> {
    let dismissed = Dismissed(user);
    let (following, dismissed) = futures::join!(
        whole_list(store, List::Following, user, deadline),
        store.run(&dismissed, Traffic::Interactive, deadline)
    );
    following.outcome?;
    Ok((following.entries, dismissed?))
}

/// The friends whose lists are looked at, of all, newest first.
fn sample(following: &[Entry]) -> Vec<UserId> {
    let newest = following.len().min(MOST_FRIENDS / 2);
    let (newest, rest) = following.split_at(newest);
    let places = rest.len().min(MOST_FRIENDS - newest.len());
    let rest = (0..places).map(|place| &rest[place * rest.len() / places]);
    newest.iter().chain(rest).map(|entry| entry.user).collect()
}

impl Candidates {
    /// Adds those whom some friends follow.
    async fn gather(
        &mut self,
        store: &Store,
        friends: &[UserId],
        excluded: &HashSet<UserId>,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let newest = |&user: &UserId| Newest { list: List::Following, user, limit: MOST_OF_FRIEND };
        let reads: Vec<_> = friends.iter().map(newest).collect();
        let lists = store.run_all(&reads, Traffic::Bulk, deadline).await;
        for (&friend, list) in friends.iter().zip(lists) {
            let (following, users) = list?;
            let weight = 1.0 / (1.0 + following.max(1) as f64).ln();
            for user in users.into_iter().filter(|user| !excluded.contains(user)) {
                self.add(user, friend, weight);
            }
        }
        Ok(())
    }

    fn add(&mut self, user: UserId, friend: UserId, weight: f64) {
        let new = || Recommended { user, score: 0.0, mutual_count: 0, mutuals: Vec::new() };
        let candidate = self.0.entry(user).or_insert_with(new);
        candidate.score += weight;
        candidate.mutual_count += 1;
        if candidate.mutuals.len() < MOST_NAMED {
            candidate.mutuals.push(friend);
        }
    }

    /// The candidates, the highest scores first; of equal ones the lower ids first.
    fn ranked(self) -> Vec<Recommended> {
        let mut all: Vec<_> = self.0.into_values().collect();
        all.sort_unstable_by(|one, other| other.score.total_cmp(&one.score).then(one.user.cmp(&other.user)));
        all
    }
}

#[cfg(test)]
mod tests {
    use model::Micros;

    use super::*;

    fn user(id: usize) -> UserId {
        UserId::new(id as i64).unwrap()
    }

    #[test]
    fn the_sample_has_the_newest_and_some_of_all_the_others() {
        for (followed, sampled) in [(0, 0), (1, 1), (255, 255), (256, 256), (257, 256), (10_000, 256)] {
            let entry = |id| Entry { at: Micros::new(1).unwrap(), user: user(id) };
            let following: Vec<_> = (1..=followed).map(entry).collect();
            let sample = sample(&following);
            assert_eq!(sample.len(), sampled);
            assert!(sample.is_sorted());
            assert_eq!(sample.iter().collect::<HashSet<_>>().len(), sampled);
            assert!(sample.iter().take(128).copied().eq((1..=followed.min(128)).map(user)));
        }
    }

    #[test]
    fn the_best_come_first_and_ties_have_an_order() {
        let mut candidates = Candidates::default();
        for (id, friend, weight) in [(1, 11, 0.5), (2, 11, 0.5), (3, 11, 0.5), (3, 12, 0.25), (4, 13, 2.0)] {
            candidates.add(user(id), user(friend), weight);
        }
        let mut best = candidates.ranked();
        best.truncate(3);
        let told: Vec<_> = best.iter().map(|best| (best.user, best.mutual_count, best.score)).collect();
        assert_eq!(told, [(user(4), 1, 2.0), (user(3), 2, 0.75), (user(1), 1, 0.5)]);
        assert_eq!(best[1].mutuals, [user(11), user(12)]);
    }
}
