//! Posts of authors who are not followed any more, that a feed keeps.

use std::collections::{HashMap, HashSet};

use futures::join;
use model::{Deadline, FeedEntry, UserId, Version};
use store::{
    StoreError, Traffic,
    ops::{FindDelivery, Kept},
};

use super::named::Shown;
use crate::Graph;

impl Graph {
    /// Those of some entries that are of kept authors, and are not shown now: the author is not active, there is a block between the author
    /// and the reader, or the post was published later, as if then. One round trip if any entry is of such an author.
    pub(super) async fn not_kept(
        &self,
        reader: UserId,
        kept: &[Kept],
        entries: &[FeedEntry],
        deadline: Deadline,
    ) -> Result<HashSet<FeedEntry>, StoreError> {
        let until: HashMap<_, _> = kept.iter().map(|kept| (kept.author, Version(kept.window.until.get()))).collect();
        let entries: Vec<_> = entries.iter().copied().filter(|entry| until.contains_key(&entry.author)).collect();
        if entries.is_empty() {
            return Ok(HashSet::new());
        }
        let authors: HashSet<_> = entries.iter().map(|entry| entry.author).collect();
        let authors: Vec<_> = authors.into_iter().collect();
        let posts: Vec<_> =
            entries.iter().map(|entry| FindDelivery { author: entry.author, post: entry.post }).collect();
        let (shown, posts) = join!(
            self.who_is_shown(&authors, Some(reader), deadline),
            self.inner.store.run_all(&posts, Traffic::Interactive, deadline)
        );
        let shown = shown?;
        let mut hidden = HashSet::new();
        for (entry, post) in entries.into_iter().zip(posts) {
            let is_late = post?.is_some_and(|post| post.version > until[&entry.author]);
            if is_late || shown.get(&entry.author) != Some(&Shown::Yes) {
                hidden.insert(entry);
            }
        }
        Ok(hidden)
    }
}
