//! Many follows or unfollows of one user.

use std::collections::{HashMap, HashSet};

use keyspace::Partition;
use model::{Deadline, Edge, Micros, SelfReference, UserId, Version};
use store::{
    Traffic,
    ops::{
        EndOutcome, Follow, FollowRow, FollowerChange, FollowerRows, Probe, RowOutcome, Unfollow, UnfollowMany,
        UnfollowedMany,
    },
};

use crate::{Graph, ServiceError, edges::count_noop, graph::Inner, times::follow_times};

/// Rows of one script.
const MOST_ROWS: usize = 64;

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
        let outcomes = std::mem::take(&mut work.followed);
        let again = |row: FollowedRow| FollowedRow { created: false, ..row };
        work.finish(followees, outcomes, again, deadline).await
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
        let outcomes = std::mem::take(&mut work.unfollowed);
        work.finish(followees, outcomes, |_| UnfollowedRow { removed: false }, deadline).await
    }
}

/// Each followee once, in the order of their first rows, but for the follower.
fn distinct(follower: UserId, followees: &[UserId]) -> Vec<UserId> {
    let mut met = HashSet::with_capacity(followees.len());
    followees.iter().copied().filter(|&followee| followee != follower && met.insert(followee)).collect()
}

/// A batch that is being written.
struct Work<'a> {
    inner: &'a Inner,
    follower: UserId,
    partition: Partition,
    followed: HashMap<UserId, Result<FollowedRow, ServiceError>>,
    unfollowed: HashMap<UserId, Result<UnfollowedRow, ServiceError>>,
    /// What lists of followers are to show.
    changes: Vec<(Edge, FollowerChange)>,
    /// The log entries of the changes.
    versions: Vec<Version>,
}

impl<'a> Work<'a> {
    fn new(inner: &'a Inner, follower: UserId) -> Self {
        let partition = inner.store.keys().partition(follower);
        let (changes, versions) = (Vec::new(), Vec::new());
        Self { inner, follower, partition, followed: HashMap::new(), unfollowed: HashMap::new(), changes, versions }
    }

    fn seen(&self) -> Version {
        self.inner.seen.get(self.partition)
    }

    /// Notes a change of an edge that is not one of the follower with themselves.
    fn change(&mut self, followee: UserId, change: FollowerChange) {
        if let Ok(edge) = Edge::new(self.follower, followee) {
            self.changes.push((edge, change));
        }
    }

    /// Commits follows, one script after the other, so that the first are within the limit. Gives those whose edge was there and was
    /// gone when it was looked for.
    async fn follow(
        &mut self,
        open: Vec<UserId>,
        source: &str,
        deadline: Deadline,
    ) -> Result<Vec<UserId>, ServiceError> {
        let mut in_segments = Vec::new();
        for (number, followees) in open.chunks(MOST_ROWS).enumerate() {
            if let Err(error) = self.commit_follows(followees, source, &mut in_segments, deadline).await {
                let failed = &open[number * MOST_ROWS..];
                if self.followed.is_empty() && in_segments.is_empty() {
                    return Err(error);
                }
                self.followed.extend(failed.iter().map(|&followee| (followee, Err(error.clone()))));
                break;
            }
        }
        self.find_times(in_segments, deadline).await
    }

    async fn commit_follows(
        &mut self,
        followees: &[UserId],
        source: &str,
        in_segments: &mut Vec<UserId>,
        deadline: Deadline,
    ) -> Result<(), ServiceError> {
        let max = self.inner.settings.max_following;
        let rows = followees.iter().map(|&followee| FollowRow { followee, followed_at: None }).collect();
        let follow = Follow {
            partition: self.partition,
            followers: vec![FollowerRows { follower: self.follower, rows }],
            source: source.to_owned(),
            max_following: max,
            seen: self.seen(),
        };
        let committed = self.inner.store.run(&follow, Traffic::Interactive, deadline).await?;
        self.inner.seen.raise(self.partition, committed.version);
        let mut is_any_new = false;
        for (&followee, outcome) in followees.iter().zip(committed.outcomes) {
            let row = match outcome {
                RowOutcome::Created { followed_at, version } => {
                    is_any_new = true;
                    self.change(followee, FollowerChange::Present { followed_at, version });
                    Ok(FollowedRow { created: true, followed_at })
                }
                RowOutcome::Existing { followed_at: Some(followed_at) } => {
                    self.exists(followee, followed_at, committed.version);
                    continue;
                }
                RowOutcome::Existing { followed_at: None } => {
                    in_segments.push(followee);
                    continue;
                }
                RowOutcome::OverLimit => Err(ServiceError::FollowLimit { max }),
                RowOutcome::Unavailable => Err(ServiceError::UserUnavailable),
                RowOutcome::Superseded => Err(ServiceError::Internal("a follow from now is superseded".to_owned())),
            };
            self.followed.insert(followee, row);
        }
        if is_any_new {
            self.versions.push(committed.version);
        }
        Ok(())
    }

    /// An edge that was there is applied again, which heals a half edge.
    fn exists(&mut self, followee: UserId, followed_at: Micros, version: Version) {
        self.change(followee, FollowerChange::Present { followed_at, version });
        self.followed.insert(followee, Ok(FollowedRow { created: false, followed_at }));
        if let Ok(edge) = Edge::new(self.follower, followee) {
            count_noop("follow", edge);
        }
    }

    async fn find_times(&mut self, followees: Vec<UserId>, deadline: Deadline) -> Result<Vec<UserId>, ServiceError> {
        if followees.is_empty() {
            return Ok(Vec::new());
        }
        let probe = [Probe { follower: self.follower, followees }];
        let times = follow_times(&self.inner.store, &probe, Traffic::Interactive, deadline).await;
        let [Probe { followees, .. }] = probe;
        let times = match times {
            Ok(times) => times.into_iter().flatten(),
            Err(error) => {
                let error = ServiceError::from(error);
                self.followed.extend(followees.into_iter().map(|followee| (followee, Err(error.clone()))));
                return Ok(Vec::new());
            }
        };
        let version = self.seen();
        let mut gone = Vec::new();
        for (followee, time) in followees.into_iter().zip(times) {
            match time {
                Some(followed_at) => self.exists(followee, followed_at, version),
                None => gone.push(followee),
            }
        }
        Ok(gone)
    }

    /// Commits ends of follows, all scripts at once: each may end first.
    async fn unfollow(&mut self, open: Vec<UserId>, deadline: Deadline) -> Result<(), ServiceError> {
        let inner = self.inner;
        let probe = [Probe { follower: self.follower, followees: open }];
        let times = follow_times(&inner.store, &probe, Traffic::Interactive, deadline).await?;
        let [Probe { followees, .. }] = probe;
        let rows: Vec<_> = followees.into_iter().zip(times.into_iter().flatten()).collect();
        let ends = rows.chunks(MOST_ROWS).map(|rows| UnfollowMany {
            follower: self.follower,
            rows: rows.to_vec(),
            seen: self.seen(),
        });
        let ends: Vec<_> = ends.collect();
        let committed = inner.store.run_all(&ends, Traffic::Interactive, deadline).await;
        if let Some(Err(error)) = committed.iter().find(|_| committed.iter().all(Result::is_err)) {
            return Err(error.clone().into());
        }
        let mut missed = Vec::new();
        for (end, committed) in ends.iter().zip(committed) {
            match committed {
                Ok(ended) => missed.extend(self.ended(&end.rows, ended)),
                Err(error) => {
                    let error = ServiceError::from(error);
                    self.unfollowed.extend(end.rows.iter().map(|&(followee, _)| (followee, Err(error.clone()))));
                }
            }
        }
        for followee in missed {
            self.unfollow_one(followee, deadline).await;
        }
        Ok(())
    }

    /// Notes what a script ended, and gives whom it did not find where it was told to look.
    fn ended(&mut self, rows: &[(UserId, Option<Micros>)], ended: UnfollowedMany) -> Vec<UserId> {
        if let Some(version) = ended.version {
            self.inner.seen.raise(self.partition, version);
            self.versions.push(version);
        }
        let mut missed = Vec::new();
        for (&(followee, _), outcome) in rows.iter().zip(ended.outcomes) {
            match outcome {
                EndOutcome::Ended { removed, version } => self.end(followee, removed, version, ended.has_inbox),
                EndOutcome::Missed => missed.push(followee),
            }
        }
        missed
    }

    /// Somebody followed anew between the look and the end: the edge is searched for.
    async fn unfollow_one(&mut self, followee: UserId, deadline: Deadline) {
        let Ok(edge) = Edge::new(self.follower, followee) else { return };
        let commit = Unfollow { edge, seen: self.seen() };
        match self.inner.store.run(&commit, Traffic::Interactive, deadline).await {
            Ok(ended) => {
                self.inner.seen.raise(self.partition, ended.version);
                self.versions.push(ended.version);
                self.end(followee, ended.removed, ended.version, ended.has_inbox);
            }
            Err(error) => drop(self.unfollowed.insert(followee, Err(error.into()))),
        }
    }

    fn end(&mut self, followee: UserId, removed: Option<Micros>, version: Version, has_inbox: bool) {
        self.change(followee, FollowerChange::Absent { removed, version });
        self.unfollowed.insert(followee, Ok(UnfollowedRow { removed: removed.is_some() }));
        if removed.is_some() && has_inbox {
            self.inner.purger.purge(self.follower, followee);
        }
        if removed.is_none()
            && let Ok(edge) = Edge::new(self.follower, followee)
        {
            count_noop("unfollow", edge);
        }
    }

    /// The second half, and the answer. `again` makes the outcome of a repeated row of that of the first.
    async fn finish<T: Copy>(
        self,
        followees: &[UserId],
        mut outcomes: HashMap<UserId, Result<T, ServiceError>>,
        again: impl Fn(T) -> T,
        deadline: Deadline,
    ) -> Result<Batch<T>, ServiceError> {
        let Self { inner, follower, partition, changes, versions, .. } = self;
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
        Ok(Batch { rows, consistency_token, followers_pending: !is_applied })
    }
}
