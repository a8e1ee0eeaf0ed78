use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use model::UserId;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// Posts that are on their way to their audience, of all authors and of one.
const MOST_POSTS: usize = 4_096;
const MOST_POSTS_OF_AUTHOR: usize = 64;
/// Posts of one author that are delivered side by side, so that no author takes all places.
const PLACES_OF_AUTHOR: usize = 2;

/// Bounds how many posts are on their way, and shares the work out fairly among their authors. Clones share the same bounds.
#[derive(Clone)]
pub(crate) struct Lanes {
    all: Arc<Semaphore>,
    authors: Arc<Mutex<HashMap<UserId, Arc<Lane>>>>,
}

/// What an author has on the way.
struct Lane {
    posts: Arc<Semaphore>,
    places: Arc<Semaphore>,
}

/// Admits one post. Its lane is forgotten with the last one.
pub(crate) struct Ticket {
    lanes: Lanes,
    author: UserId,
    lane: Option<Arc<Lane>>,
    _permits: [OwnedSemaphorePermit; 2],
}

impl Lanes {
    pub(crate) fn new() -> Self {
        Self { all: Arc::new(Semaphore::new(MOST_POSTS)), authors: Arc::default() }
    }

    /// Waits until a post of an author may be on its way; `None` if it may not in time.
    pub(crate) async fn admit(&self, author: UserId, wait: Duration) -> Option<Ticket> {
        let lane = self.lane(author);
        let permits = async {
            let of_author = lane.posts.clone().acquire_owned().await.ok()?;
            Some([of_author, self.all.clone().acquire_owned().await.ok()?])
        };
        let permits = timeout(wait, permits).await.ok().flatten();
        let ticket = permits.map(|permits| self.ticket(author, lane.clone(), permits));
        if ticket.is_none() {
            self.forget(author, lane);
        }
        ticket
    }

    /// The same without waiting.
    pub(crate) fn try_admit(&self, author: UserId) -> Option<Ticket> {
        let lane = self.lane(author);
        let of_author = lane.posts.clone().try_acquire_owned().ok();
        let of_all = self.all.clone().try_acquire_owned().ok();
        match of_author.zip(of_all) {
            Some((of_author, of_all)) => Some(self.ticket(author, lane, [of_author, of_all])),
            None => {
                self.forget(author, lane);
                None
            }
        }
    }

    fn ticket(&self, author: UserId, lane: Arc<Lane>, permits: [OwnedSemaphorePermit; 2]) -> Ticket {
        metrics::gauge!("socialgraph_fanout_queue").increment(1.0);
        Ticket { lanes: self.clone(), author, lane: Some(lane), _permits: permits }
    }

    fn lane(&self, author: UserId) -> Arc<Lane> {
        let new = || Lane {
            posts: Arc::new(Semaphore::new(MOST_POSTS_OF_AUTHOR)),
            places: Arc::new(Semaphore::new(PLACES_OF_AUTHOR)),
        };
        self.authors().entry(author).or_insert_with(|| Arc::new(new())).clone()
    }

    /// Forgets a lane that nobody else uses.
    fn forget(&self, author: UserId, lane: Arc<Lane>) {
        let mut authors = self.authors();
        drop(lane);
        if authors.get(&author).is_some_and(|lane| Arc::strong_count(lane) == 1) {
            authors.remove(&author);
        }
    }

    fn authors(&self) -> MutexGuard<'_, HashMap<UserId, Arc<Lane>>> {
        self.authors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// The author's turn to have a post delivered.
    pub(crate) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        let lane = self.lane.as_ref()?;
        lane.places.clone().acquire_owned().await.ok()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        metrics::gauge!("socialgraph_fanout_queue").decrement(1.0);
        if let Some(lane) = self.lane.take() {
            self.lanes.forget(self.author, lane);
        }
    }
}

/// What is being done, so that it is not begun twice. Clones share the same set.
#[derive(Clone)]
pub(crate) struct Underway<T>(Arc<Mutex<HashSet<T>>>);

/// One thing that is being done, until it is dropped.
pub(crate) struct Doing<T: Copy + Eq + Hash> {
    underway: Underway<T>,
    what: T,
}

impl<T: Copy + Eq + Hash> Underway<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    /// Begins something; `None` if it is being done.
    pub(crate) fn begin(&self, what: T) -> Option<Doing<T>> {
        self.lock().insert(what).then(|| Doing { underway: self.clone(), what })
    }

    pub(crate) fn contains(&self, what: T) -> bool {
        self.lock().contains(&what)
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Copy + Eq + Hash> Drop for Doing<T> {
    fn drop(&mut self) {
        self.underway.lock().remove(&self.what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn author(id: i64) -> UserId {
        UserId::new(id).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_author_has_so_many_posts_on_the_way_and_others_as_many() {
        let lanes = Lanes::new();
        let mut tickets = Vec::new();
        for _ in 0..MOST_POSTS_OF_AUTHOR {
            tickets.push(lanes.try_admit(author(1)).unwrap());
        }
        assert!(lanes.try_admit(author(1)).is_none());
        assert!(lanes.admit(author(1), Duration::from_secs(1)).await.is_none());
        let other = lanes.try_admit(author(2)).unwrap();
        let turns = [tickets[0].turn().await, tickets[1].turn().await];
        assert!(timeout(Duration::from_secs(1), tickets[2].turn()).await.is_err());
        assert!(timeout(Duration::from_secs(1), other.turn()).await.is_ok());
        drop(turns);
        assert!(tickets[2].turn().await.is_some());

        drop(tickets.pop());
        assert!(lanes.admit(author(1), Duration::from_secs(1)).await.is_some());
        drop((tickets, other));
        assert!(lanes.authors().is_empty());
        assert_eq!(lanes.all.available_permits(), MOST_POSTS);
    }

    #[tokio::test]
    async fn all_authors_together_have_so_many() {
        let lanes = Lanes::new();
        let all: Vec<_> = (1..=MOST_POSTS as i64).map(|id| lanes.try_admit(author(id)).unwrap()).collect();
        assert!(lanes.try_admit(author(i64::MAX)).is_none());
        assert_eq!(lanes.authors().len(), all.len());
        drop(all);
        assert!(lanes.try_admit(author(i64::MAX)).is_some());
    }

    #[test]
    fn nothing_is_begun_twice() {
        let underway = Underway::new();
        let doing = underway.begin(7).unwrap();
        assert!(underway.contains(7));
        assert!(underway.begin(7).is_none());
        assert!(underway.begin(8).is_some());
        drop(doing);
        assert!(underway.begin(7).is_some());
    }
}
