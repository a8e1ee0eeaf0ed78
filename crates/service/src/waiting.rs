use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use tokio::sync::Notify;

/// What a background task is to look at, such as users, each once however often it is said.
pub(crate) struct Waiting<T> {
    wanted: Mutex<BTreeSet<T>>,
    wake: Notify,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self { wanted: Mutex::default(), wake: Notify::new() }
    }
}

impl<T: Ord> Waiting<T> {
    pub(crate) fn add(&self, one: T) {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).insert(one);
        self.wake.notify_one();
    }

    /// All that is wanted, as soon as something is. None is lost if this is given up.
    pub(crate) async fn next(&self) -> BTreeSet<T> {
        loop {
            let wanted = std::mem::take(&mut *self.wanted.lock().unwrap_or_else(PoisonError::into_inner));
            if !wanted.is_empty() {
                return wanted;
            }
            self.wake.notified().await;
        }
    }
}
