use std::time::Duration;

use model::{Deadline, UserId};
use store::{Store, StoreError, Traffic, ops::Purge};
use tasks::Tasks;
use tokio::sync::mpsc::{self, Receiver, Sender};

/// Most purges that wait. More are not done.
const QUEUE: usize = 4_096;
/// How long a purge may take.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Takes the posts of authors who are not followed any more out of inboxes, off the request path. Reads leave such posts out
/// anyway, so that a purge that is never done costs memory until the posts sink below the floor, and nothing else.
#[derive(Clone)]
pub(crate) struct Purger {
    queue: Sender<Purge>,
    inbox_cap: u32,
}

impl Purger {
    pub(crate) fn start(store: Store, inbox_cap: u32, tasks: &Tasks) -> Self {
        let (queue, receiver) = mpsc::channel(QUEUE);
        tasks.spawn("purger", run(store, receiver, tasks.clone()));
        Self { queue, inbox_cap }
    }

    /// The reader does not follow the author any more.
    pub(crate) fn purge(&self, reader: UserId, author: UserId) {
        let _not_done = self.queue.try_send(Purge { reader, author, cap: self.inbox_cap });
    }
}

async fn run(store: Store, mut queue: Receiver<Purge>, tasks: Tasks) {
    let token = tasks.token();
    while let Some(Some(purge)) = token.run_until_cancelled(queue.recv()).await {
        if let Err(error) = whole(&store, purge).await {
            tracing::debug!(reader = %purge.reader, author = %purge.author, %error, "inbox not purged");
        }
    }
    // If every graph is gone, the task stays until it is told to end.
    token.cancelled().await;
}

async fn whole(store: &Store, purge: Purge) -> Result<(), StoreError> {
    let deadline = Deadline::after(TIME_LIMIT);
    while store.run(&purge, Traffic::Bulk, deadline).await? {}
    Ok(())
}
