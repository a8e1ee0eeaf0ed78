//! Searches for who is on two lists, of any users.

use std::{cmp::Reverse, collections::HashMap, time::Duration};

use keyspace::List;
use model::{Deadline, Entry, Micros, Order, TokenKind, UserId, Window, limits::MAX_PAGE_SIZE};
use store::{
    Store, StoreError, Traffic,
    ops::{Count, Probe, Probed},
};
use tokio::{sync::SemaphorePermit, time::timeout};

use crate::{
    Graph, ServiceError,
    lists::{MOST_ENTRIES, Walk, whole_list, whole_list_of_users},
    times::{follow_times, probe_followers},
};

/// Users of one probe of a list of whom somebody follows, and how many times longer that list must be for probes to cost less than
/// reading it.
const MOST_PROBED: u64 = 1_000;
const PROBED_IN_TIMES: u64 = 16;
/// How many times longer than a page a list of followers must be for it to cost less to read it without times, and to ask those of the page
/// for them.
const TIMES_LATER_IN_TIMES: u64 = 100;
/// What it costs to ask users whom they follow, a script for each partition, in users of a list that could be read in that time.
const COST_OF_SCRIPT: u64 = 30;
const COST_OF_PROBE: u64 = 4;
/// Longer lists are not held in memory.
const MOST_READ: u64 = 1_000_000;
/// How long what is beside the search may take before Redis counts as away: the lengths of the lists, and the times of a page.
pub(crate) const BESIDE_LIMIT: Duration = Duration::from_secs(2);

/// A question for who is on two lists.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(crate) kind: TokenKind,
    pub(crate) sides: [Side; 2],
    /// By whose times the answer is ordered, newest first: 0 or 1.
    pub(crate) order: usize,
    /// Entries a page, 1 to 500.
    pub(crate) page_size: usize,
    /// Who looks.
    pub(crate) viewer: Option<UserId>,
    /// From the page before; empty for the first.
    pub(crate) page_token: String,
    /// How long the search may take.
    pub(crate) time_budget: Duration,
}

/// A list that is searched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) list: List,
    pub(crate) user: UserId,
}

/// A page of the answer.
#[derive(Debug)]
pub(crate) struct Found {
    /// Who, and since when they are on each list.
    pub(crate) users: Vec<(UserId, [Micros; 2])>,
    /// How many were found over all pages.
    pub(crate) total: u64,
    /// Whether the search came to its end within the time budget.
    pub(crate) complete: bool,
    /// For the next page; empty on the last.
    pub(crate) next_page_token: String,
}

/// Somebody who is on both lists. A time may not be known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Match {
    user: UserId,
    times: [Option<Micros>; 2],
}

impl Graph {
    /// Waits for the turn of a search, no longer than its time budget.
    pub(crate) async fn turn_to_search(
        &self,
        time_budget: Duration,
        deadline: Deadline,
    ) -> Result<SemaphorePermit<'_>, ServiceError> {
        let wait = timeout(time_budget.min(deadline.remaining()), self.inner.searches.acquire());
        // The semaphore is never closed.
        wait.await.ok().and_then(Result::ok).ok_or(ServiceError::Overloaded)
    }

    /// Who is on both lists: reads both side by side; or reads the shorter one, and asks about everyone on it, where that costs less.
    pub(crate) async fn search(&self, search: Search, deadline: Deadline) -> Result<Found, ServiceError> {
        let [one, other] = search.sides;
        let viewer = search.viewer.map_or(0, UserId::get);
        let bound_to = [one.user.get(), other.user.get(), search.order as i64 + 1, viewer];
        let store = &self.inner.store;
        let after = self.inner.open_page(search.kind, &bound_to, &search.page_token)?;
        let _turn = self.turn_to_search(search.time_budget, deadline).await?;
        let budget = Deadline::after(search.time_budget);
        let lengths = lengths(store, search.sides, deadline).await?;
        let mut found = Vec::new();
        let others_length = lengths[1 - search.order];
        let searching = Searching {
            store,
            sides: search.sides,
            times_later: search.sides[1 - search.order].list == List::Followers
                && others_length > search.page_size as u64 * TIMES_LATER_IN_TIMES,
            deadline: deadline.min(budget),
        };
        let searched = searching.run(lengths, search.order, &mut found).await;
        let complete = match searched {
            Ok(()) => true,
            Err(_) if !deadline.has_passed() && budget.has_passed() => false,
            Err(error) => return Err(error.into()),
        };
        let (mut page, last) = page_of(&mut found, search.order, after, search.page_size);
        let beside = Searching { deadline: deadline.min(Deadline::after(BESIDE_LIMIT)), ..searching };
        beside.fill(1 - search.order, &mut page).await.map_err(|error| of_limit(error, deadline))?;
        let users = page.into_iter().filter_map(|found| Some((found.user, [found.times[0]?, found.times[1]?])));
        Ok(Found {
            users: users.collect(),
            total: found.len() as u64,
            complete,
            next_page_token: self.inner.seal_page(search.kind, &bound_to, last),
        })
    }
}

/// How long the lists are. That it can be found tells a search that is slow from a Redis that is away, so it may take longer than
/// the budget.
async fn lengths(store: &Store, sides: [Side; 2], deadline: Deadline) -> Result<[u64; 2], ServiceError> {
    let limit = deadline.min(Deadline::after(BESIDE_LIMIT));
    let counts = store.run_all(&sides.map(|side| Count(side.user)), Traffic::Interactive, limit).await;
    let mut lengths = [0; 2];
    for (index, counts) in counts.into_iter().enumerate() {
        let counts = counts.map_err(|error| of_limit(error, deadline))?;
        lengths[index] = match sides[index].list {
            List::Following => counts.following,
            List::Followers => counts.followers,
        };
    }
    Ok(lengths)
}

pub(crate) fn of_limit(error: StoreError, deadline: Deadline) -> ServiceError {
    if deadline.has_passed() { error.into() } else { ServiceError::of_own_limit(error) }
}

/// A search under way.
struct Searching<'a> {
    store: &'a Store,
    sides: [Side; 2],
    /// Whether the times of the side that is not ordered by are found later, for what a page shows.
    times_later: bool,
    deadline: Deadline,
}

impl Searching<'_> {
    /// Gathers who is on both lists in `found`, each with the time to order by; an error leaves there what was found before it.
    async fn run(&self, lengths: [u64; 2], order: usize, found: &mut Vec<Match>) -> Result<(), StoreError> {
        let shorter = usize::from(lengths[1] < lengths[0]);
        let (short, long) = (lengths[shorter], lengths[1 - shorter]);
        let partitions = u64::from(self.store.keys().partitions().get());
        let searched = match self.sides[1 - shorter].list {
            List::Following if short <= MOST_PROBED && short * PROBED_IN_TIMES < long => {
                self.probe_list(shorter, found).await
            }
            List::Followers if long > MOST_READ || cost_of_asking(short, partitions) < long => {
                self.ask_each(shorter, short, found).await
            }
            List::Following | List::Followers if self.times_later => self.read_without_times(order, found).await,
            List::Following | List::Followers => self.read_both(shorter, found).await,
        };
        let filled = self.fill(order, found).await;
        found.retain(|found| found.times[order].is_some());
        searched.and(filled)
    }

    async fn read_both(&self, shorter: usize, found: &mut Vec<Match>) -> Result<(), StoreError> {
        let read = |side: Side| whole_list(self.store, side.list, side.user, self.deadline);
        let (short, long) = futures::join!(read(self.sides[shorter]), read(self.sides[1 - shorter]));
        let times: HashMap<UserId, Micros> = short.entries.iter().map(|entry| (entry.user, entry.at)).collect();
        found.extend(long.entries.iter().filter_map(|entry| {
            let time = *times.get(&entry.user)?;
            Some(self.matched(shorter, Entry { user: entry.user, at: time }, Some(entry.at)))
        }));
        short.outcome.and(long.outcome)
    }

    /// Reads both, but of the list that is not ordered by only who is on it.
    async fn read_without_times(&self, order: usize, found: &mut Vec<Match>) -> Result<(), StoreError> {
        let [ordered, other] = [order, 1 - order].map(|side| self.sides[side]);
        let (ordered, other) = futures::join!(
            whole_list(self.store, ordered.list, ordered.user, self.deadline),
            whole_list_of_users(self.store, other.list, other.user, self.deadline)
        );
        let mut times: HashMap<UserId, Micros> = ordered.entries.iter().map(|entry| (entry.user, entry.at)).collect();
        // Taken out, because the other list may name somebody twice.
        let both = other.entries.iter().filter_map(|user| Some(Entry { user: *user, at: times.remove(user)? }));
        found.extend(both.map(|entry| self.matched(order, entry, None)));
        ordered.outcome.and(other.outcome)
    }

    /// Asks of everyone on the shorter list whether the user of the other one follows them.
    async fn probe_list(&self, shorter: usize, found: &mut Vec<Match>) -> Result<(), StoreError> {
        let Side { list, user } = self.sides[shorter];
        let list = whole_list(self.store, list, user, self.deadline).await;
        let chunks = list.entries.chunks(MOST_PROBED as usize);
        let follower = self.sides[1 - shorter].user;
        let probes: Vec<_> = chunks
            .map(|entries| Probe { follower, followees: entries.iter().map(|entry| entry.user).collect() })
            .collect();
        let times = follow_times(self.store, &probes, Traffic::Bulk, self.deadline).await?;
        let times = list.entries.iter().zip(times.into_iter().flatten());
        found.extend(times.filter_map(|(entry, time)| Some(self.matched(shorter, *entry, Some(time?)))));
        list.outcome
    }

    /// Asks everyone on the shorter list whether they follow the user of the other one.
    async fn ask_each(&self, shorter: usize, length: u64, found: &mut Vec<Match>) -> Result<(), StoreError> {
        let Side { list, user } = self.sides[shorter];
        if length <= MOST_READ {
            let list = whole_list(self.store, list, user, self.deadline).await;
            return self.ask(shorter, &list.entries, found).await.and(list.outcome);
        }
        let walk = Walk { list, user, order: Order::NewestFirst, window: Window::ALL };
        let mut after = None;
        loop {
            let slice = walk.slice(self.store, after, MOST_ENTRIES, self.deadline).await?;
            self.ask(shorter, &slice.entries, found).await?;
            after = slice.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn ask(&self, shorter: usize, entries: &[Entry], found: &mut Vec<Match>) -> Result<(), StoreError> {
        let times: HashMap<UserId, Micros> = entries.iter().map(|entry| (entry.user, entry.at)).collect();
        let (followers, followee) = (entries.iter().map(|entry| entry.user), self.sides[1 - shorter].user);
        // Up to some thousand scripts, which small calls must not wait for.
        let (known, outcome) = probe_followers(self.store, followers, followee, Traffic::Bulk, self.deadline).await;
        found.extend(known.into_iter().filter_map(|(user, probed)| {
            let entry = Entry { user, at: *times.get(&user)? };
            match probed {
                Probed::Not => None,
                Probed::Since(time) => Some(self.matched(shorter, entry, Some(time))),
                Probed::Sometime => Some(self.matched(shorter, entry, None)),
            }
        }));
        outcome
    }

    /// Somebody of one list, with their entry there, who is on the other one as well.
    fn matched(&self, side: usize, entry: Entry, time: Option<Micros>) -> Match {
        let times = if side == 0 { [Some(entry.at), time] } else { [time, Some(entry.at)] };
        Match { user: entry.user, times }
    }

    /// Finds the times of one side that are not known yet. Who is not there any more stays without.
    async fn fill(&self, side: usize, found: &mut [Match]) -> Result<(), StoreError> {
        let mut unknown: Vec<&mut Match> = found.iter_mut().filter(|found| found.times[side].is_none()).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let followee = self.sides[side].user;
        let probes: Vec<_> =
            unknown.iter().map(|found| Probe { follower: found.user, followees: vec![followee] }).collect();
        let traffic = if probes.len() > MAX_PAGE_SIZE { Traffic::Bulk } else { Traffic::Interactive };
        let times = follow_times(self.store, &probes, traffic, self.deadline).await?;
        for (found, time) in unknown.iter_mut().zip(times.into_iter().flatten()) {
            found.times[side] = time;
        }
        Ok(())
    }
}

/// What it costs to ask so many users, in entries of a list that could be read instead.
pub(crate) fn cost_of_asking(users: u64, partitions: u64) -> u64 {
    users.min(partitions) * COST_OF_SCRIPT + users * COST_OF_PROBE
}

/// Sorts what was found and cuts the page after a place; also gives the page's last place if more follows.
fn page_of(found: &mut [Match], order: usize, after: Option<Entry>, page_size: usize) -> (Vec<Match>, Option<Entry>) {
    let place = |found: &Match| Entry { at: found.times[order].unwrap_or(Micros::MIN), user: found.user };
    found.sort_unstable_by_key(|found| Reverse(place(found)));
    let start = after.map_or(0, |after| found.partition_point(|found| place(found) >= after));
    let rest = &found[start..];
    let page = rest[..page_size.min(rest.len())].to_vec();
    let last = page.last().filter(|_| rest.len() > page_size).map(place);
    (page, last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(user: i64, at: u64, other_at: u64) -> Match {
        let time = |micros| Some(Micros::new(micros).unwrap());
        Match { user: UserId::new(user).unwrap(), times: [time(at), time(other_at)] }
    }

    #[test]
    fn pages_follow_the_order_and_meet_everyone_once_under_ties() {
        let all: Vec<_> = (1..=97).map(|id| found(id, 5 + id as u64 % 3, 5 + id as u64 % 7)).collect();
        for order in [0, 1] {
            for page_size in [1, 7, 96, 97, 98] {
                let (mut after, mut met) = (None, Vec::new());
                loop {
                    let (page, last) = page_of(&mut all.clone(), order, after, page_size);
                    met.extend(page);
                    if last.is_none() {
                        break;
                    }
                    after = last;
                }
                assert_eq!(met.len(), all.len());
                assert!(met.is_sorted_by_key(|found| Reverse(found.times[order])));
                met.sort_by_key(|found| found.user);
                assert_eq!(met, all);
            }
        }
    }

    #[test]
    fn a_star_is_not_read_and_a_list_of_the_same_length_is() {
        let costs = |users| cost_of_asking(users, 1_024);
        assert!(costs(5_000) < 1_000_000 && costs(5_000) > 5_000);
        assert!(costs(10) < 1_000 && costs(50) > 1_000);
    }
}
