//! Puts the edges of users who are not active aside, and brings them back.
//!
//! Both lists of the user stay as they are: they tell what there is to be brought back. What moves is the other end: the user leaves the
//! followees' lists of followers, and the follows of others lie aside at the followers. Of an edge both of whose users are not active the
//! follower's end says nothing until the follower is active again; then it is set right by what the followee's partition tells.
//!
//! Users may become active and inactive while edges are moved. So each end remembers for which version of the state it was moved last,
//! and a late move for an older one does nothing.

use std::{collections::HashMap, fmt, sync::Arc};

use keyspace::{List, by_partition};
use model::{Edge, Entry, Micros, Order, UserId, UserState, Version, Window};
use store::{
    Store, StoreError, Traffic,
    ops::{EndMove, FindPlace, FollowerChange, MOST_ROWS, Move, MoveEdges, ReadAside, SaveMove, Saved, UserOperation},
};

use crate::{
    followers::Followers,
    lists::{MOST_ENTRIES, Slice, Walk},
    operations::{Chunk, limit},
    versions::SeenVersions,
};

/// Moves edges.
pub(crate) struct Mover {
    store: Store,
    followers: Followers,
    seen: Arc<SeenVersions>,
    inbox_cap: u32,
}

/// Where the moves of a user's edges are: in which list, and after which entry of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Following(Option<Entry>),
    Aside(Option<Entry>),
    Followers(Option<Entry>),
    End,
}

impl Mover {
    pub(crate) fn new(store: Store, followers: Followers, seen: Arc<SeenVersions>, inbox_cap: u32) -> Self {
        // Shown from the start.
        count_moved(0);
        Self { store, followers, seen, inbox_cap }
    }

    /// Moves some more edges of a user.
    pub(crate) async fn chunk(&self, user: UserId, operation: UserOperation) -> Result<Chunk, StoreError> {
        let place = self.store.run(&FindPlace(user), Traffic::Bulk, limit()).await?;
        let place = Place::parse(&place).ok_or_else(|| StoreError::Refused(format!("unknown place {place:?}")))?;
        let (moved, next) = match place {
            Place::Following(after) => {
                let Slice { entries, next } = self.slice(List::Following, user, after).await?;
                self.move_follows(user, operation, &entries, false).await?;
                (entries.len(), next.map_or(Place::Aside(None), |next| Place::Following(Some(next))))
            }
            Place::Aside(after) => {
                let aside = ReadAside { user, after, limit: MOST_ENTRIES };
                let entries = self.store.run(&aside, Traffic::Bulk, limit()).await?;
                self.move_follows(user, operation, &entries, true).await?;
                let next = entries.last().filter(|_| entries.len() == MOST_ENTRIES);
                (entries.len(), next.map_or(Place::Followers(None), |&next| Place::Aside(Some(next))))
            }
            Place::Followers(after) => {
                let Slice { entries, next } = self.slice(List::Followers, user, after).await?;
                let moves = entries.iter().filter_map(|entry| {
                    let edge = Edge::new(entry.user, user).ok()?;
                    let is_active = operation.state == UserState::Active;
                    Some(Move { edge, followed_at: entry.at, is_active, version: operation.version })
                });
                self.move_edges(moves.collect()).await?;
                (entries.len(), next.map_or(Place::End, |next| Place::Followers(Some(next))))
            }
            Place::End => (0, Place::End),
        };
        count_moved(moved);
        let ends_following = matches!((place, next), (Place::Aside(_), Place::Followers(_)));
        let save = SaveMove { user, version: operation.version, place: next.to_string(), moved, ends_following };
        match self.store.run(&save, Traffic::Bulk, limit()).await? {
            Saved::Kept if next == Place::End => self.end(user, operation).await,
            Saved::Kept | Saved::Again | Saved::Superseded => Ok(Chunk::Done),
        }
    }

    async fn end(&self, user: UserId, operation: UserOperation) -> Result<Chunk, StoreError> {
        let end = EndMove { user, version: operation.version, inbox_cap: self.inbox_cap };
        if !self.store.run(&end, Traffic::Bulk, limit()).await? {
            return Ok(Chunk::Done);
        }
        metrics::counter!("socialgraph_operations_done_total").increment(1);
        tracing::info!(%user, state = operation.state.name(), "edges moved");
        Ok(Chunk::Last)
    }

    async fn slice(&self, list: List, user: UserId, after: Option<Entry>) -> Result<Slice, StoreError> {
        let walk = Walk { list, user, order: Order::NewestFirst, window: Window::ALL };
        walk.slice(&self.store, after, MOST_ENTRIES, limit()).await
    }

    /// Shows the user in the lists of those whom they follow, or hides them there. Whom the user follows is put aside or brought back
    /// as the followees' partitions tell, since nobody did that while the user was not active.
    async fn move_follows(
        &self,
        user: UserId,
        operation: UserOperation,
        entries: &[Entry],
        are_aside: bool,
    ) -> Result<(), StoreError> {
        let version = operation.version;
        let edges = entries.iter().filter_map(|entry| Some((Edge::new(user, entry.user).ok()?, entry.at)));
        let edges: Vec<(Edge, Micros)> = edges.collect();
        if operation.state != UserState::Active {
            let hide = |&(edge, followed_at): &_| (edge, FollowerChange::Hidden { followed_at, version });
            return self
                .followers
                .apply(edges.iter().map(hide).collect(), Traffic::Bulk, limit())
                .await
                .map(|_none| ());
        }
        let show = |&(edge, followed_at): &_| (edge, FollowerChange::Shown { followed_at, version });
        let shown = self.followers.show(edges.iter().map(show).collect(), Traffic::Bulk, limit()).await?;
        let shown: HashMap<Edge, _> = shown.into_iter().map(|shown| (shown.edge, shown)).collect();
        let moves = edges.into_iter().filter_map(|(edge, followed_at)| {
            // Of most followees the state never changed.
            let (is_active, version) =
                shown.get(&edge).map_or((true, Version(0)), |shown| (shown.is_active, shown.version));
            (is_active == are_aside).then_some(Move { edge, followed_at, is_active, version })
        });
        self.move_edges(moves.collect()).await
    }

    async fn move_edges(&self, moves: Vec<Move>) -> Result<(), StoreError> {
        let keys = self.store.keys();
        let batches =
            by_partition(keys.partitions(), moves, MOST_ROWS, |moved: &Move| keys.partition(moved.edge.follower()));
        let operations: Vec<_> = batches
            .into_iter()
            .map(|batch| MoveEdges::new(batch.partition, batch.items, self.seen.get(batch.partition)))
            .collect();
        let results = self.store.run_all(&operations, Traffic::Bulk, limit()).await;
        for (operation, result) in operations.iter().zip(results) {
            if let Some(version) = result? {
                self.seen.raise(operation.partition, version);
            }
        }
        Ok(())
    }
}

impl Place {
    /// Reads what [`Display`](fmt::Display) wrote; of an empty text the beginning.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let list = words.next()?;
        let after = match words.next() {
            None => None,
            Some(at) => {
                let user = UserId::new(words.next()?.parse().ok()?).ok()?;
                Some(Entry { at: Micros::new(at.parse().ok()?).ok()?, user })
            }
        };
        match list {
            "" | "following" => Some(Self::Following(after)),
            "aside" => Some(Self::Aside(after)),
            "followers" => Some(Self::Followers(after)),
            "end" => Some(Self::End),
            _ => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (list, after) = match self {
            Self::Following(after) => ("following", *after),
            Self::Aside(after) => ("aside", *after),
            Self::Followers(after) => ("followers", *after),
            Self::End => ("end", None),
        };
        f.write_str(list)?;
        after.map_or(Ok(()), |Entry { at, user }| write!(f, " {} {user}", at.get()))
    }
}

fn count_moved(number: usize) {
    metrics::counter!("socialgraph_edges_moved_total").increment(number as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        let after = Some(Entry { at: Micros::new(1_700_000_000_000_000).unwrap(), user: UserId::new(7).unwrap() });
        for place in [
            Place::Following(None),
            Place::Following(after),
            Place::Aside(None),
            Place::Aside(after),
            Place::Followers(after),
            Place::End,
        ] {
            assert_eq!(Place::parse(&place.to_string()), Some(place));
        }
        assert_eq!(Place::parse(""), Some(Place::Following(None)));
        for other in ["x", "aside 5", "aside 0 7", "aside 5 0", "aside five 7"] {
            assert_eq!(Place::parse(other), None, "{other}");
        }
    }
}
