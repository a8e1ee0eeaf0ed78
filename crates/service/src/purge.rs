use std::time::Duration;

use model::{Deadline, FeedEntry, UserId};
use store::{
    Store, StoreError, Traffic,
    ops::{Forget, Purge},
};
use tasks::Tasks;
use tokio::sync::mpsc::{self, Receiver, Sender};

/// Most purges that wait. More are not done.
const QUEUE: usize = 4_096;
/// How long a purge may take.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Most entries of one [`Forget`].
const MOST_ENTRIES: usize = 64;

/// Takes posts of authors who are not followed any more, and posts that are not there, out of inboxes, off the request path. Reads leave
/// them out anyway, so that a purge that is never done costs memory until the entries sink below the floor, and nothing else.
#[derive(Clone)]
pub(crate) struct Purger {
    store: Store,
    queue: Sender<Job>,
    inbox_cap: u32,
}

impl Purger {
    pub(crate) fn start(store: Store, inbox_cap: u32, tasks: &Tasks) -> Self {
        let (queue, receiver) = mpsc::channel(QUEUE);
        tasks.spawn("purger", run(store.clone(), receiver, tasks.clone()));
        Self { store, queue, inbox_cap }
    }

    /// The reader does not follow the author any more.
    pub(crate) fn purge(&self, reader: UserId, author: UserId) {
        let _not_done = self.queue.try_send(Job::Purge(Purge { reader, author, cap: self.inbox_cap }));
    }

    /// The same at once. If that fails, later.
    pub(crate) async fn purge_now(&self, reader: UserId, author: UserId, deadline: Deadline) {
        let purge = Purge { reader, author, cap: self.inbox_cap };
        if whole(&self.store, purge, Traffic::Interactive, deadline).await.is_err() {
            self.purge(reader, author);
        }
    }

    /// The posts of entries of a reader's inbox are not there.
    pub(crate) fn forget(&self, reader: UserId, entries: &[FeedEntry]) {
        for entries in entries.chunks(MOST_ENTRIES) {
            let forget = Forget { reader, entries: entries.to_vec(), cap: self.inbox_cap };
            let _not_done = self.queue.try_send(Job::Forget(forget));
        }
    }
}

enum Job {
    Purge(Purge),
    Forget(Forget),
}

async fn run(store: Store, mut queue: Receiver<Job>, tasks: Tasks) {
    let token = tasks.token();
    while let Some(Some(job)) = token.run_until_cancelled(queue.recv()).await {
        let (reader, done) = match job {
            Job::Purge(purge) => (purge.reader, whole(&store, purge, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await),
            Job::Forget(forget) => {
                (forget.reader, store.run(&forget, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await)
            }
        };
        if let Err(error) = done {
            tracing::debug!(%reader, %error, "inbox not purged");
        }
    }
    // If every graph is gone, the task stays until it is told to end.
    token.cancelled().await;
}

async fn whole(store: &Store, purge: Purge, traffic: Traffic, deadline: Deadline) -> Result<(), StoreError> {
    while store.run(&purge, traffic, deadline).await? {}
    Ok(())
}
