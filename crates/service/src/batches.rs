//! Many follows or unfollows of one user.

use std::collections::{HashMap, HashSet};

use keyspace::Partition;
use model::{Deadline, Edge, Micros, SelfReference, UserId, Version};
use store::{
    StoreError, Traffic,
    ops::{
        EndOutcome, FollowRow, FollowerChange, FollowerRows, MOST_ROWS, Probe, RowOutcome, Unfollow, UnfollowMany,
        UnfollowedMany,
    },
};

use crate::{Graph, ServiceError, edges::count_noop, graph::Inner, times::follow_times};

/// What became of the rows of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch<T> {
    /// An outcome for each row, in the order given. After `Unavailable` and `Deadline` the row may be written all the same.
    pub rows: Vec<Result<T, ServiceError>>,
    /// Names the writes.
    pub consistency_token: String,
    /// Whether lists of followers do not show all of it yet.
    pub followers_pending: bool,
}

/// A row of a batch of follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowedRow {
    /// Whether the row made the edge.
    pub created: bool,
    /// Since when it is there.
    pub followed_at: Micros,
}

/// A row of a batch of unfollows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnfollowedRow {
    /// Whether the row ended a follow.
    pub removed: bool,
}

impl Graph {
    /// Makes `follower` follow each of 1 to 1,000 others, in their order. One round trip for each 64 of them, one more for those that
    /// were followed before and lie in segments, and one for the lists of followers.
    ///
    /// Fails as a whole only if nothing is known of any row.
    pub async fn batch_follow(
        &self,
        follower: UserId,
        followees: &[UserId],
        source: String,
        deadline: Deadline,
    ) -> Result<Batch<FollowedRow>, ServiceError> {
        // Second halves come after all first ones: the relay of this instance leaves them alone meanwhile.
        let _running = self.inner.running.begin();
        let mut work = Work::new(&self.inner, follower);
        let mut open = distinct(follower, followees);
        while !open.is_empty() {
            open = work.follow(open, &source, deadline).await?;
        }
        Ok(work.finish(followees, |row| FollowedRow { created: false, ..row }, deadline).await)
    }

    /// Makes `follower` follow none of 1 to 1,000 others. One round trip to find them, two where they are in segments; one or two
    /// to end all; and one for the lists of followers.
    ///
    /// Fails as a whole only if nothing is known of any row.
    pub async fn batch_unfollow(
        &self,
        follower: UserId,
        followees: &[UserId],
        deadline: Deadline,
    ) -> Result<Batch<UnfollowedRow>, ServiceError> {
        let _running = self.inner.running.begin();
        let mut work = Work::new(&self.inner, follower);
        let open = distinct(follower, followees);
        if !open.is_empty() {
            work.unfollow(open, deadline).await?;
        }
        Ok(work.finish(followees, |_| UnfollowedRow { removed: false }, deadline).await)
    }
}

/// The edge to each followee once, in the order of their first rows. There is none to the follower.
fn distinct(follower: UserId, followees: &[UserId]) -> Vec<Edge> {
    let mut met = HashSet::with_capacity(followees.len());
    let edges = followees.iter().filter_map(|&followee| Edge::new(follower, followee).ok());
    edges.filter(|edge| met.insert(edge.followee())).collect()
}

/// A batch that is being written.
struct Work<'a, T> {
    inner: &'a Inner,
    follower: UserId,
    partition: Partition,
    /// What became of the edge to each followee.
    outcomes: HashMap<UserId, Result<T, ServiceError>>,
    /// What lists of followers are to show.
    changes: Vec<(Edge, FollowerChange)>,
    /// The log entries of the changes.
    versions: Vec<Version>,
}

impl<'a, T: Copy> Work<'a, T> {
    fn new(inner: &'a Inner, follower: UserId) -> Self {
        let partition = inner.store.keys().partition(follower);
        Self { inner, follower, partition, outcomes: HashMap::new(), changes: Vec::new(), versions: Vec::new() }
    }

    fn seen(&self) -> Version {
        self.inner.seen.get(self.partition)
    }

    /// Notes an error of several edges.
    fn fail(&mut self, edges: impl IntoIterator<Item = Edge>, error: &ServiceError) {
        self.outcomes.extend(edges.into_iter().map(|edge| (edge.followee(), Err(error.clone()))));
    }

    /// Since when some are followed. One round trip; two where edges are in segments.
    async fn times(&self, edges: &[Edge], deadline: Deadline) -> Result<Vec<Option<Micros>>, StoreError> {
        let followees = edges.iter().map(|edge| edge.followee()).collect();
        let probe = [Probe { follower: self.follower, followees }];
        let times = follow_times(&self.inner.store, &probe, Traffic::Interactive, deadline).await?;
        Ok(times.into_iter().flatten().collect())
    }

    /// The second half, and the answer. `again` makes the outcome of a repeated row of that of the first.
    async fn finish(self, followees: &[UserId], again: impl Fn(T) -> T, deadline: Deadline) -> Batch<T> {
        let Self { inner, follower, partition, mut outcomes, changes, versions } = self;
        let applied = if changes.is_empty() { Ok(Vec::new()) } else { inner.apply_all(changes, deadline).await };
        let is_applied = applied.is_ok();
        for refused in applied.into_iter().flatten() {
            outcomes.insert(refused.edge.followee(), Err(refused.refusal.into()));
        }
        if is_applied {
            versions.iter().for_each(|&version| inner.settler.settle(partition, version));
        }
        let mut met = HashSet::with_capacity(followees.len());
        let row = |&followee: &UserId| match outcomes.get(&followee) {
            _ if followee == follower => Err(SelfReference.into()),
            Some(outcome) if met.insert(followee) => outcome.clone(),
            Some(outcome) => outcome.clone().map(&again),
            None => Err(ServiceError::Internal("a row has no outcome".to_owned())),
        };
        let rows = followees.iter().map(row).collect();
        let consistency_token = inner.write_token(partition, inner.seen.get(partition), is_applied);
        Batch { rows, consistency_token, followers_pending: !is_applied }
    }
}

impl Work<'_, FollowedRow> {
    /// Commits follows, one script after the other, so that the first are within the limit. Gives those whose edge was there and was
    /// gone when it was looked for.
    async fn follow(&mut self, open: Vec<Edge>, source: &str, deadline: Deadline) -> Result<Vec<Edge>, ServiceError> {
        let mut in_segments = Vec::new();
        for (number, edges) in open.chunks(MOST_ROWS).enumerate() {
            if let Err(error) = self.commit_follows(edges, source, &mut in_segments, deadline).await {
                if self.outcomes.is_empty() && in_segments.is_empty() {
                    return Err(error);
                }
                self.fail(open[number * MOST_ROWS..].iter().copied(), &error);
                break;
            }
        }
        Ok(self.find_times(in_segments, deadline).await)
    }

    async fn commit_follows(
        &mut self,
        edges: &[Edge],
        source: &str,
        in_segments: &mut Vec<Edge>,
        deadline: Deadline,
    ) -> Result<(), ServiceError> {
        let rows = edges.iter().map(|edge| FollowRow { followee: edge.followee(), followed_at: None }).collect();
        let rows = FollowerRows { follower: self.follower, rows };
        let follow = self.inner.follow_commit(self.partition, rows, source.to_owned());
        let committed = self.inner.store.run(&follow, Traffic::Interactive, deadline).await?;
        self.inner.seen.raise(self.partition, committed.version);
        let mut is_any_new = false;
        for (&edge, outcome) in edges.iter().zip(committed.outcomes) {
            let row = match outcome {
                RowOutcome::Created { followed_at, version } => {
                    is_any_new = true;
                    self.changes.push((edge, FollowerChange::Present { followed_at, version }));
                    Ok(FollowedRow { created: true, followed_at })
                }
                RowOutcome::Existing { followed_at: Some(followed_at) } => {
                    self.exists(edge, followed_at, committed.version);
                    continue;
                }
                RowOutcome::Existing { followed_at: None } => {
                    in_segments.push(edge);
                    continue;
                }
                refused @ (RowOutcome::Superseded
                | RowOutcome::OverLimit
                | RowOutcome::Unavailable
                | RowOutcome::Blocked
                | RowOutcome::TooMany { .. }) => Err(self.inner.refusal(refused)),
            };
            self.outcomes.insert(edge.followee(), row);
        }
        if is_any_new {
            self.versions.push(committed.version);
        }
        Ok(())
    }

    /// An edge that was there is applied again, which heals a half edge.
    fn exists(&mut self, edge: Edge, followed_at: Micros, version: Version) {
        self.changes.push((edge, FollowerChange::Present { followed_at, version }));
        self.outcomes.insert(edge.followee(), Ok(FollowedRow { created: false, followed_at }));
        count_noop("follow", edge);
    }

    /// Gives those that are gone.
    async fn find_times(&mut self, edges: Vec<Edge>, deadline: Deadline) -> Vec<Edge> {
        if edges.is_empty() {
            return edges;
        }
        let times = match self.times(&edges, deadline).await {
            Ok(times) => times,
            Err(error) => {
                self.fail(edges, &error.into());
                return Vec::new();
            }
        };
        let version = self.seen();
        let mut gone = Vec::new();
        for (edge, time) in edges.into_iter().zip(times) {
            match time {
                Some(followed_at) => self.exists(edge, followed_at, version),
                None => gone.push(edge),
            }
        }
        gone
    }
}

impl Work<'_, UnfollowedRow> {
    /// Commits ends of follows, all scripts at once: each may end first.
    async fn unfollow(&mut self, open: Vec<Edge>, deadline: Deadline) -> Result<(), ServiceError> {
        let times = self.times(&open, deadline).await?;
        let rows: Vec<_> = open.iter().map(|edge| edge.followee()).zip(times).collect();
        let (follower, seen) = (self.follower, self.seen());
        let ends = rows.chunks(MOST_ROWS).map(|rows| UnfollowMany { follower, rows: rows.to_vec(), seen });
        let ends: Vec<_> = ends.collect();
        let committed = self.inner.store.run_all(&ends, Traffic::Interactive, deadline).await;
        let is_any_written = committed.iter().any(Result::is_ok);
        let mut missed = Vec::new();
        for (edges, committed) in open.chunks(MOST_ROWS).zip(committed) {
            match committed {
                Ok(ended) => missed.extend(self.ended(edges, ended)),
                Err(error) if !is_any_written => return Err(error.into()),
                Err(error) => self.fail(edges.iter().copied(), &error.into()),
            }
        }
        for edge in missed {
            self.unfollow_one(edge, deadline).await;
        }
        Ok(())
    }

    /// Notes what a script ended, and gives what it did not find where it was told to look.
    fn ended(&mut self, edges: &[Edge], ended: UnfollowedMany) -> Vec<Edge> {
        if let Some(version) = ended.version {
            self.inner.seen.raise(self.partition, version);
            self.versions.push(version);
        }
        let mut missed = Vec::new();
        for (&edge, outcome) in edges.iter().zip(ended.outcomes) {
            match outcome {
                EndOutcome::Ended { removed, version } => self.end(edge, removed, version, ended.has_inbox),
                EndOutcome::Missed => missed.push(edge),
            }
        }
        missed
    }

    /// Somebody followed anew between the look and the end: the edge is searched for.
    async fn unfollow_one(&mut self, edge: Edge, deadline: Deadline) {
        let commit = Unfollow { edge, keeps_posts: false, seen: self.seen() };
        match self.inner.store.run(&commit, Traffic::Interactive, deadline).await {
            Ok(ended) => {
                self.inner.seen.raise(self.partition, ended.version);
                self.versions.push(ended.version);
                self.end(edge, ended.removed, ended.version, ended.has_inbox);
            }
            Err(error) => self.fail([edge], &error.into()),
        }
    }

    fn end(&mut self, edge: Edge, removed: Option<Micros>, version: Version, has_inbox: bool) {
        self.changes.push((edge, FollowerChange::Absent { removed, version }));
        self.outcomes.insert(edge.followee(), Ok(UnfollowedRow { removed: removed.is_some() }));
        if removed.is_none() {
            count_noop("unfollow", edge);
        } else if has_inbox {
            self.inner.purger.purge(edge.follower(), edge.followee());
        }
    }
}
