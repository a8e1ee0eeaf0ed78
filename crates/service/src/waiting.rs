use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use model::UserId;
use tokio::sync::Notify;

/// Users whom a background task is to look at, each once however often it is said.
#[derive(Default)]
pub(crate) struct Waiting {
    users: Mutex<BTreeSet<UserId>>,
    wake: Notify,
}

impl Waiting {
    pub(crate) fn add(&self, user: UserId) {
        self.users.lock().unwrap_or_else(PoisonError::into_inner).insert(user);
        self.wake.notify_one();
    }

    /// All who wait, as soon as somebody does. None is lost if this is given up.
    pub(crate) async fn next(&self) -> BTreeSet<UserId> {
        loop {
            let users = std::mem::take(&mut *self.users.lock().unwrap_or_else(PoisonError::into_inner));
            if !users.is_empty() {
                return users;
            }
            self.wake.notified().await;
        }
    }
}
