//! Removes what there is of deleted users, piece by piece, off the request path.
//!
//! Nothing is added to a deleted user, so that what is left only gets less, and any instance can go on from what it finds: the commit of
//! the deletion names the work, and nothing else is kept of how far it is.

use std::sync::Arc;

use keyspace::{List, Shard};
use model::{Edge, Entry, Micros, Order, UserId, Version, Window};
use store::{
    Store, StoreError, Traffic,
    ops::{
        CloseShard, CountShards, EndDeletion, ErasePosts, FollowerChange, MOST_ROWS, Purge, ReadAside, ReadHidden,
        Timeline, WasLiked, WithdrawnRow,
    },
};

use crate::{
    followers::Followers,
    likes::{end_some_likes, forget_some_likers},
    lists::{MOST_ENTRIES, Slice, Walk},
    operations::{Chunk, limit},
    settle::settle,
    versions::SeenVersions,
    withdraw::withdraw,
};

/// What is counted as removed.
const EDGE: &str = "edge";
const POST: &str = "post";
const LIKE: &str = "like";
const KINDS: [&str; 3] = [EDGE, POST, LIKE];

/// Removes deleted users.
pub(crate) struct Deleter {
    store: Store,
    followers: Followers,
    seen: Arc<SeenVersions>,
    inbox_cap: u32,
}

/// What is being removed. Posts go before followers, so that no delivery of one begins anew when its readers are gone.
#[derive(Clone, Copy)]
pub(crate) enum Stage {
    Following,
    Aside,
    Likes,
    Posts,
    /// After whom the walk goes on, and whether it has met somebody: then there is another one.
    Followers {
        after: Option<Entry>,
        has_met: bool,
    },
    Hidden,
    Rest,
}

impl Deleter {
    pub(crate) fn new(store: Store, followers: Followers, seen: Arc<SeenVersions>, inbox_cap: u32) -> Self {
        // Shown from the start.
        KINDS.into_iter().for_each(|kind| count_removed(kind, 0));
        Self { store, followers, seen, inbox_cap }
    }

    /// Removes some more of a deleted user.
    pub(crate) async fn chunk(&self, user: UserId, stage: &mut Stage) -> Result<Chunk, StoreError> {
        *stage = match *stage {
            Stage::Following => match self.slice(List::Following, user, None).await?.entries {
                entries if entries.is_empty() => Stage::Aside,
                entries => {
                    self.end_follows(user, &entries).await?;
                    Stage::Following
                }
            },
            Stage::Aside => {
                let aside = ReadAside { user, after: None, limit: MOST_ENTRIES };
                match self.store.run(&aside, Traffic::Bulk, limit()).await? {
                    entries if entries.is_empty() => Stage::Likes,
                    entries => {
                        self.end_follows(user, &entries).await?;
                        Stage::Aside
                    }
                }
            }
            Stage::Likes => match end_some_likes(&self.store, &self.seen, user).await? {
                0 => Stage::Posts,
                ended => {
                    count_removed(LIKE, ended);
                    Stage::Likes
                }
            },
            Stage::Posts if self.erase_posts(user).await? => Stage::Posts,
            Stage::Posts => Stage::Followers { after: None, has_met: false },
            Stage::Followers { after, has_met } => {
                let Slice { entries, next } = self.slice(List::Followers, user, after).await?;
                let has_met = has_met || !entries.is_empty();
                self.end_followers(user, edges_to(user, &entries)).await?;
                match next {
                    None if !has_met => Stage::Hidden,
                    None => Stage::Followers { after: None, has_met: false },
                    next => Stage::Followers { after: next, has_met },
                }
            }
            Stage::Hidden => {
                let hidden = ReadHidden { user, limit: MOST_ENTRIES };
                match self.store.run(&hidden, Traffic::Bulk, limit()).await? {
                    entries if entries.is_empty() => Stage::Rest,
                    entries => {
                        self.end_followers(user, edges_to(user, &entries)).await?;
                        Stage::Hidden
                    }
                }
            }
            Stage::Rest if self.end(user).await? => return Ok(Chunk::Last),
            Stage::Rest => Stage::Following,
        };
        Ok(Chunk::Done)
    }

    async fn slice(&self, list: List, user: UserId, after: Option<Entry>) -> Result<Slice, StoreError> {
        let walk = Walk { list, user, order: Order::NewestFirst, window: Window::ALL };
        walk.slice(&self.store, after, MOST_ENTRIES, limit()).await
    }

    /// Whom the user follows.
    async fn end_follows(&self, user: UserId, entries: &[Entry]) -> Result<(), StoreError> {
        let edges: Vec<_> = entries.iter().filter_map(|entry| scored_edge(user, entry.user, entry.at)).collect();
        let ended = edges.len();
        // One after the other: all are of one list.
        for edges in edges.chunks(MOST_ROWS) {
            let edges = edges.iter().copied();
            let withdrawals = withdraw(&self.store, &self.seen, edges, Traffic::Bulk, limit()).await?;
            self.followers.apply(withdrawals.changes().collect(), Traffic::Bulk, limit()).await?;
            settle(&self.store, withdrawals.committed.into_iter()).await;
        }
        count_removed(EDGE, ended);
        Ok(())
    }

    /// Removes some posts, or some of what others have of them. Gives whether there were any.
    async fn erase_posts(&self, author: UserId) -> Result<bool, StoreError> {
        let timeline = Timeline { author, from: None, limit: MOST_ROWS, reader: None };
        let posts = self.store.run(&timeline, Traffic::Bulk, limit()).await?.entries;
        if posts.is_empty() {
            return Ok(false);
        }
        let questions: Vec<_> = posts.iter().map(|entry| WasLiked { author, post: entry.post }).collect();
        for (entry, was_liked) in posts.iter().zip(self.store.run_all(&questions, Traffic::Bulk, limit()).await) {
            if was_liked? && forget_some_likers(&self.store, author, entry.post).await? {
                return Ok(true);
            }
        }
        let erased = posts.len();
        self.store.run(&ErasePosts { author, posts }, Traffic::Bulk, limit()).await?;
        count_removed(POST, erased);
        Ok(true)
    }

    /// Those who follow the user. An edge that its follower does not have is a half one, and goes as well.
    async fn end_followers(&self, user: UserId, edges: Vec<(Edge, Micros)>) -> Result<(), StoreError> {
        let ended = edges.len();
        let withdrawals = withdraw(&self.store, &self.seen, edges, Traffic::Bulk, limit()).await?;
        self.purge(user, &withdrawals.rows).await?;
        let changes: Vec<_> = withdrawals
            .rows
            .iter()
            .map(|row| {
                let version = row.version.unwrap_or(Version(0));
                (row.edge, FollowerChange::Absent { removed: Some(row.followed_at), version })
            })
            .collect();
        // One after the other: all are of one list, and other calls to its partition come in between.
        for changes in changes.chunks(MOST_ROWS) {
            self.followers.apply(changes.to_vec(), Traffic::Bulk, limit()).await?;
        }
        settle(&self.store, withdrawals.committed.into_iter()).await;
        count_removed(EDGE, ended);
        Ok(())
    }

    /// Takes the user's posts out of the inboxes of those who followed them.
    async fn purge(&self, author: UserId, rows: &[WithdrawnRow]) -> Result<(), StoreError> {
        let with_inbox = rows.iter().filter(|row| row.has_inbox);
        let mut purges: Vec<_> =
            with_inbox.map(|row| Purge { reader: row.edge.follower(), author, cap: self.inbox_cap }).collect();
        while !purges.is_empty() {
            let mut left = Vec::new();
            let results = self.store.run_all(&purges, Traffic::Bulk, limit()).await;
            for (purge, has_more) in purges.into_iter().zip(results) {
                if has_more? {
                    left.push(purge);
                }
            }
            purges = left;
        }
        Ok(())
    }

    /// What is left of a user whose lists are empty. Gives whether that was so.
    async fn end(&self, user: UserId) -> Result<bool, StoreError> {
        if let Some(shards) = self.store.run(&CountShards(user), Traffic::Bulk, limit()).await? {
            // Into one more a segment may have been copied, and not handed over.
            for number in 1..=shards + 1 {
                let close = CloseShard { user, shard: Shard::numbered(user, number) };
                while self.store.run(&close, Traffic::Bulk, limit()).await? {}
            }
        }
        let is_ended = self.store.run(&EndDeletion { user, inbox_cap: self.inbox_cap }, Traffic::Bulk, limit()).await?;
        if is_ended {
            metrics::counter!("socialgraph_operations_done_total").increment(1);
            tracing::info!(%user, "deleted user removed");
        }
        Ok(is_ended)
    }
}

/// Nobody follows themselves, so that every entry of a list is an edge.
fn scored_edge(follower: UserId, followee: UserId, at: Micros) -> Option<(Edge, Micros)> {
    Edge::new(follower, followee).ok().map(|edge| (edge, at))
}

fn edges_to(followee: UserId, followers: &[Entry]) -> Vec<(Edge, Micros)> {
    followers.iter().filter_map(|entry| scored_edge(entry.user, followee, entry.at)).collect()
}

fn count_removed(kind: &'static str, number: usize) {
    metrics::counter!("socialgraph_deletion_removed_total", "kind" => kind).increment(number as u64);
}
