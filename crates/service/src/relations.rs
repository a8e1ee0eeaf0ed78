//! How users stand to each other: of a viewer and targets, and of everyone whom a user follows.

use std::collections::{BTreeSet, HashMap};

use futures::join;
use keyspace::List;
use model::{Deadline, Entry, Micros, Order, TokenKind, UserId, Window};
use store::{
    Store, StoreError, Traffic,
    ops::{Count, HeldMarks, Probe, Probed},
};

use crate::{
    Graph, ServiceError,
    blocks::Between,
    lists::{MOST_ENTRIES, Walk, whole_list},
    search::cost_of_asking,
    times::{follow_times, probe_followers},
};

/// Most entries of the list of whom a user follows that one page looks at, if each of them has to be asked.
const MOST_ASKED: usize = 1_000;
/// The same if the list of followers tells.
const MOST_LOOKED_AT: usize = 10_000;
/// Users who are asked at a time.
const ASKED_AT_ONCE: (usize, usize) = (64, 500);

/// What is between a viewer and a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relationship {
    /// Since when the viewer follows the target; `None` if they do not.
    pub followed_at: Option<Micros>,
    /// Since when the target follows the viewer; `None` if they do not.
    pub followed_by_at: Option<Micros>,
    /// What the viewer holds against the target.
    pub held: HeldMarks,
    /// Since when the target blocks the viewer; `None` if they do not.
    pub blocked_by_at: Option<Micros>,
}

/// A question for a page of those whom a user follows and who follow back.
#[derive(Clone, Debug)]
pub struct MutualsQuery {
    /// Whose.
    pub user: UserId,
    /// Which end first, by when the user followed.
    pub order: Order,
    /// Only whom the user followed in this span.
    pub window: Window,
    /// Who looks: nobody whom they blocked, or who blocked them, is shown.
    pub viewer: Option<UserId>,
    /// Entries a page, 1 to 500.
    pub page_size: usize,
    /// From the page before; empty for the first.
    pub page_token: String,
}

/// Somebody whom a user follows and who follows back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutual {
    /// Who.
    pub user: UserId,
    /// Since when the user follows them.
    pub followed_at: Micros,
    /// Since when they follow the user.
    pub followed_by_at: Micros,
}

/// A page of mutual follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutualsPage {
    /// The entries. May be short, or none, before the last page.
    pub users: Vec<Mutual>,
    /// How many entries of the page are not shown to the viewer.
    pub filtered: u64,
    /// For the next page; empty on the last.
    pub next_page_token: String,
}

impl Graph {
    /// What is between a viewer and each of some targets, in the order given. One round trip; two where edges are in segments.
    pub async fn relationships(
        &self,
        viewer: UserId,
        targets: &[UserId],
        deadline: Deadline,
    ) -> Result<Vec<Relationship>, ServiceError> {
        let store = &self.inner.store;
        let distinct: Vec<UserId> = targets.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let forward = [Probe { follower: viewer, followees: distinct.clone() }];
        let backward: Vec<_> =
            distinct.iter().map(|&target| Probe { follower: target, followees: vec![viewer] }).collect();
        let (forward, backward, between) = join!(
            follow_times(store, &forward, Traffic::Interactive, deadline),
            follow_times(store, &backward, Traffic::Interactive, deadline),
            self.between(viewer, &distinct, deadline)
        );
        let times = forward?.into_iter().flatten().zip(backward?.into_iter().flatten());
        let mut known: HashMap<UserId, Relationship> = HashMap::with_capacity(distinct.len());
        for ((user, (followed_at, followed_by_at)), between) in distinct.into_iter().zip(times).zip(between?) {
            let Between { held, blocked_by_at } = between;
            known.insert(user, Relationship { followed_at, followed_by_at, held, blocked_by_at });
        }
        Ok(targets.iter().map(|target| known.get(target).copied().unwrap_or_default()).collect())
    }

    /// A page of those whom a user follows and who follow back. Reads on in the list of whom the user follows, and asks everybody on
    /// it; or reads the list of followers as well, where that costs less.
    pub async fn mutuals(&self, query: MutualsQuery, deadline: Deadline) -> Result<MutualsPage, ServiceError> {
        let MutualsQuery { user, order, window, viewer, page_size, page_token } = query;
        let walk = Walk { list: List::Following, user, order, window };
        let (store, kind, bound_to) = (&self.inner.store, TokenKind::ListMutuals, walk.parameters(viewer));
        let after = self.inner.open_page(kind, &bound_to, &page_token)?;
        let counts = store.run(&Count(user), Traffic::Interactive, deadline).await?;
        let at_once = (2 * page_size).clamp(ASKED_AT_ONCE.0, ASKED_AT_ONCE.1);
        let asked = counts.following.min(at_once as u64);
        let partitions = u64::from(store.keys().partitions().get());
        let back = if counts.followers <= cost_of_asking(asked, partitions) {
            let followers = whole_list(store, List::Followers, user, deadline).await;
            followers.outcome?;
            Back::Read(followers.entries.into_iter().map(|entry| (entry.user, entry.at)).collect())
        } else {
            Back::Ask(at_once)
        };
        let reading = Reading { store, walk, back, page_size, deadline };
        let (rows, next) = reading.page(after).await?;
        let mut users = reading.with_times(rows).await?;
        let filtered = self.hide(viewer, &[user], &mut users, |mutual| mutual.user, deadline).await?;
        let next_page_token = self.inner.seal_page(kind, &bound_to, next);
        Ok(MutualsPage { users, filtered, next_page_token })
    }
}

/// How it is found out who follows back.
enum Back {
    /// By the list of followers.
    Read(HashMap<UserId, Micros>),
    /// By asking them, so many at a time.
    Ask(usize),
}

/// A page in the making.
struct Reading<'a> {
    store: &'a Store,
    walk: Walk,
    back: Back,
    page_size: usize,
    deadline: Deadline,
}

impl Reading<'_> {
    /// The rows of a page, and after which entry the next one begins.
    async fn page(&self, mut after: Option<Entry>) -> Result<(Vec<(Entry, Probed)>, Option<Entry>), StoreError> {
        let (at_once, most) = match self.back {
            Back::Read(_) => (MOST_ENTRIES, MOST_LOOKED_AT),
            Back::Ask(at_once) => (at_once, MOST_ASKED),
        };
        let (mut rows, mut looked_at) = (Vec::new(), 0);
        loop {
            let slice = self.walk.slice(self.store, after, at_once, self.deadline).await?;
            let back = self.follow_back(&slice.entries).await?;
            for entry in &slice.entries {
                let Some(&probed) = back.get(&entry.user) else { continue };
                if rows.len() == self.page_size {
                    let last = rows.last().map(|&(last, _)| last);
                    return Ok((rows, last));
                }
                rows.push((*entry, probed));
            }
            looked_at += slice.entries.len();
            after = slice.next;
            if after.is_none() || rows.len() == self.page_size || looked_at >= most {
                return Ok((rows, after));
            }
        }
    }

    /// Those of some users who follow back.
    async fn follow_back(&self, entries: &[Entry]) -> Result<HashMap<UserId, Probed>, StoreError> {
        let users = entries.iter().map(|entry| entry.user);
        match &self.back {
            Back::Read(followers) => {
                Ok(users.filter_map(|user| Some((user, Probed::Since(*followers.get(&user)?)))).collect())
            }
            Back::Ask(_) => {
                let (known, outcome) =
                    probe_followers(self.store, users, self.walk.user, Traffic::Interactive, self.deadline).await;
                outcome?;
                Ok(known.into_iter().filter(|&(_, probed)| probed != Probed::Not).collect())
            }
        }
    }

    /// The rows with since when they follow back. Who ended that meanwhile is left out.
    async fn with_times(&self, rows: Vec<(Entry, Probed)>) -> Result<Vec<Mutual>, StoreError> {
        let unknown = rows.iter().filter(|(_, probed)| *probed == Probed::Sometime).map(|(entry, _)| entry.user);
        let unknown: Vec<UserId> = unknown.collect();
        let probes: Vec<_> =
            unknown.iter().map(|&follower| Probe { follower, followees: vec![self.walk.user] }).collect();
        let times = follow_times(self.store, &probes, Traffic::Interactive, self.deadline).await?;
        let found: HashMap<UserId, Option<Micros>> = unknown.into_iter().zip(times.into_iter().flatten()).collect();
        let mutual = |(entry, probed): (Entry, Probed)| {
            let followed_by_at = match probed {
                Probed::Since(time) => Some(time),
                Probed::Sometime => found.get(&entry.user).copied().flatten(),
                Probed::Not => None,
            };
            Some(Mutual { user: entry.user, followed_at: entry.at, followed_by_at: followed_by_at? })
        };
        Ok(rows.into_iter().filter_map(mutual).collect())
    }
}
