use std::time::Duration;
use std::{
    collections::{BTreeMap, BTreeSet},
    future::ready,
};

use futures::{StreamExt, join, stream};
use keyspace::Partition;
use model::{Deadline, Edge, FeedEntry, Micros, UserId, UserState, Version};
use store::{
    Store, StoreError, Traffic,
    ops::{
        Due, DueChange, FindState, FollowerChange, LogChange, OldestPending, Place, Probe, Timeline, TrimLog,
        Unfinished,
    },
};
use tasks::Tasks;
use tokio::time::{MissedTickBehavior, interval};

use crate::{
    GraphSettings,
    blocks::Blocker,
    fan_out::FanOut,
    followers::Followers,
    lease::Share,
    operations::Operations,
    running::{Look, Running},
    settle::settle,
    times::follow_times,
};

/// How long one sweep's calls may take each.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// Partitions that are replayed at a time.
const SIDE_BY_SIDE: usize = 32;
/// In how many sweeps every log is trimmed once.
const TRIM_SWEEPS: usize = 32;
/// In how many sweeps every partition is looked at for unfinished operations once.
const RESUME_SWEEPS: usize = 8;

/// Finishes writes whose second half was not applied: because the process died, or because Redis did not answer. Clones do the same work.
#[derive(Clone)]
pub(crate) struct Relay {
    pub(crate) store: Store,
    pub(crate) settings: GraphSettings,
    pub(crate) running: Running,
    pub(crate) followers: Followers,
    pub(crate) fan_out: FanOut,
    pub(crate) operations: Operations,
    pub(crate) blocker: Blocker,
}

impl Relay {
    /// Starts the work of an instance, by its name.
    pub(crate) fn start(self, instance: &str, tasks: &Tasks) -> Self {
        let share = Share::new(instance.to_owned(), self.store.keys().partitions());
        tasks.spawn("relay", self.clone().run(share, tasks.clone()));
        self
    }

    async fn run(self, mut share: Share, tasks: Tasks) {
        let mut ticks = interval(self.settings.relay_interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let token = tasks.token().clone();
        let mut has_more = false;
        for sweep in 0.. {
            tokio::select! {
                _ = ticks.tick(), if !has_more => {}
                () = token.cancelled() => break,
                () = ready(()), if has_more => {}
            }
            tokio::select! {
                more = self.sweep(&mut share, sweep) => has_more = more,
                () = token.cancelled() => break,
            }
        }
        if let Err(error) = share.resign(&self.store, Deadline::after(Duration::from_secs(1))).await {
            tracing::info!(%error, "lease not given back; it expires by itself");
        }
    }

    /// Looks at all partitions once. Gives whether some have more to be replayed at once.
    async fn sweep(&self, share: &mut Share, sweep: usize) -> bool {
        if let Err(error) = share.renew(&self.store, &self.settings, Deadline::after(TIME_LIMIT)).await {
            tracing::warn!(%error, "lease not renewed");
        }
        let look = self.running.look();
        let due = self.overdue(share.partitions(), &look).await;
        let replays = due.into_iter().map(|partition| self.replay_named(partition, &look));
        let mut replays = stream::iter(replays).buffer_unordered(SIDE_BY_SIDE);
        let mut has_more = false;
        while let Some((partition, result)) = replays.next().await {
            match result {
                Ok(more) => has_more |= more,
                Err(error) => tracing::warn!(%partition, %error, "changes not replayed; they stay pending"),
            }
        }
        let to_trim: Vec<_> =
            share.partitions().iter().copied().skip(sweep % TRIM_SWEEPS).step_by(TRIM_SWEEPS).collect();
        self.trim(&to_trim).await;
        let to_resume: Vec<_> =
            share.partitions().iter().copied().skip(sweep % RESUME_SWEEPS).step_by(RESUME_SWEEPS).collect();
        self.resume_operations(&to_resume).await;
        has_more
    }

    /// Has operations gone on with whose instance died.
    async fn resume_operations(&self, partitions: &[Partition]) {
        let reads: Vec<_> = partitions.iter().copied().map(Unfinished).collect();
        for users in self.store.run_all(&reads, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await {
            match users {
                Ok(duties) => duties.into_iter().for_each(|duty| self.operations.begin(duty)),
                Err(error) => tracing::debug!(%error, "unfinished operations not read"),
            }
        }
    }

    /// The partitions with a change that has been pending for too long. Also tells how far behind the oldest one is.
    async fn overdue(&self, partitions: &[Partition], look: &Look) -> Vec<Partition> {
        let reads: Vec<_> = partitions.iter().copied().map(OldestPending).collect();
        let oldest = self.store.run_all(&reads, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await;
        let now = Micros::now().get();
        let ages = partitions.iter().zip(oldest).filter_map(|(&partition, oldest)| match oldest {
            Ok(version) => Some((partition, now.saturating_sub(version?.0))),
            Err(error) => {
                tracing::debug!(%partition, %error, "pending changes not read");
                None
            }
        });
        let ages: Vec<_> = ages.collect();
        let lag = ages.iter().map(|(_, age)| *age).max().unwrap_or(0);
        metrics::gauge!("socialgraph_relay_lag_seconds").set(lag as f64 / 1e6);
        let min_age = self.min_age(look);
        ages.into_iter().filter(|(_, age)| *age >= min_age).map(|(partition, _)| partition).collect()
    }

    async fn replay_named(&self, partition: Partition, look: &Look) -> (Partition, Result<bool, StoreError>) {
        (partition, self.replay(partition, look).await)
    }

    /// Applies and settles the oldest changes that are due in a partition, and has posts delivered. One batch, so that no
    /// partition keeps the others waiting. Gives whether there may be more.
    async fn replay(&self, partition: Partition, look: &Look) -> Result<bool, StoreError> {
        let due = Due { partition, min_age: self.min_age(look) };
        let entries = self.store.run(&due, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await?;
        self.finish(partition, entries).await
    }

    /// Applies and settles changes of a partition, and has posts delivered. Gives whether any was settled.
    pub(crate) async fn finish(&self, partition: Partition, mut entries: Vec<DueChange>) -> Result<bool, StoreError> {
        for entry in entries.iter().filter(|entry| entry.changes.is_empty()) {
            tracing::error!(%partition, version = %entry.version, "a pending change is not in the log");
        }
        let changes = self.still_true(&entries).await?;
        self.apply(changes).await?;
        self.end_follows_of_blocked(&entries).await?;
        let underway = self.deliver(partition, &entries).await?;
        entries.retain(|entry| !underway.contains(&entry.version));
        let is_any_settled = !entries.is_empty();
        settle(&self.store, entries.iter().map(|entry| (partition, entry.version))).await;
        Ok(is_any_settled)
    }

    /// The changes that are to be applied: those of which the follower's partition still says what the change says.
    ///
    /// An addition that was undone since would come back. A removal that did not happen, because its commit failed half-way,
    /// would leave a half edge; as an edge never gets the score of a removed one again, its score tells.
    async fn still_true(&self, entries: &[DueChange]) -> Result<Vec<(Edge, FollowerChange)>, StoreError> {
        let mut by_follower: BTreeMap<UserId, Vec<(Edge, FollowerChange)>> = BTreeMap::new();
        for change in entries.iter().flat_map(|entry| &entry.changes) {
            if let LogChange::Edge(edge, change) = *change {
                by_follower.entry(edge.follower()).or_default().push((edge, change));
            }
        }
        let probes: Vec<_> = by_follower
            .iter()
            .map(|(&follower, changes)| Probe {
                follower,
                followees: changes.iter().map(|(edge, _)| edge.followee()).collect(),
            })
            .collect();
        let states: Vec<_> = by_follower.keys().copied().map(FindState).collect();
        let deadline = Deadline::after(TIME_LIMIT);
        let (truths, states) = join!(
            follow_times(&self.store, &probes, Traffic::Bulk, deadline),
            self.store.run_all(&states, Traffic::Bulk, deadline)
        );
        let mut replayed = Vec::new();
        for ((changes, truths), state) in by_follower.into_values().zip(truths?).zip(states) {
            let is_active = state? == UserState::Active;
            let truths = changes.into_iter().zip(truths);
            replayed.extend(truths.filter(|&((_, change), truth)| is_true(change, truth, is_active)));
        }
        Ok(replayed.into_iter().map(|(change, _)| change).collect())
    }

    async fn apply(&self, changes: Vec<(Edge, FollowerChange)>) -> Result<(), StoreError> {
        for (_, change) in &changes {
            let kind = match change {
                FollowerChange::Present { .. } => "follow",
                FollowerChange::Absent { .. } => "unfollow",
            };
            metrics::counter!("socialgraph_relay_replayed_total", "kind" => kind).increment(1);
        }
        // What was refused is withdrawn.
        self.followers.apply(changes, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await.map(|_refused| ())
    }

    async fn end_follows_of_blocked(&self, entries: &[DueChange]) -> Result<(), StoreError> {
        for change in entries.iter().flat_map(|entry| &entry.changes) {
            if let LogChange::Blocked { user, blocked, since } = *change {
                metrics::counter!("socialgraph_relay_replayed_total", "kind" => "block").increment(1);
                let deadline = Deadline::after(TIME_LIMIT);
                self.blocker.end_follow_of_blocked(user, blocked, since, Traffic::Bulk, deadline).await?;
            }
        }
        Ok(())
    }

    /// Has posts delivered, those that are in their author's timeline: a commit may have failed half-way. Gives their versions;
    /// they are settled once they are delivered.
    async fn deliver(&self, partition: Partition, entries: &[DueChange]) -> Result<BTreeSet<Version>, StoreError> {
        let posts = entries.iter().flat_map(|entry| entry.changes.iter().map(|change| (entry.version, change)));
        let posts: Vec<(Version, FeedEntry)> = posts
            .filter_map(|(version, change)| match *change {
                LogChange::Post(post) => Some((version, post)),
                LogChange::Edge(..)
                | LogChange::Deleted(_)
                | LogChange::State(..)
                | LogChange::Blocked { .. }
                | LogChange::Other => None,
            })
            .collect();
        let reads: Vec<_> = posts
            .iter()
            .map(|(_, post)| Timeline { author: post.author, from: Some(Place::At(*post)), limit: 1, reader: None })
            .collect();
        let found = self.store.run_all(&reads, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await;
        let mut underway = BTreeSet::new();
        for ((version, post), found) in posts.into_iter().zip(found) {
            if found?.entries.first() == Some(&post) {
                self.fan_out.resume(partition, version, post);
                underway.insert(version);
            }
        }
        Ok(underway)
    }

    async fn trim(&self, partitions: &[Partition]) {
        let (retention, patience) = (self.settings.changes_retention, self.settings.fan_out_patience());
        let trims: Vec<_> = partitions.iter().map(|&partition| TrimLog { partition, retention, patience }).collect();
        let results = self.store.run_all(&trims, Traffic::Bulk, Deadline::after(TIME_LIMIT)).await;
        if let Some(error) = results.into_iter().find_map(Result::err) {
            tracing::debug!(%error, "log not trimmed");
        }
    }

    /// How old a change is at least, in microseconds, that nobody here is still at work on.
    fn min_age(&self, look: &Look) -> u64 {
        self.settings.relay_min_age.max(look.longest()).as_micros() as u64
    }
}

/// Whether a change may be replayed, given since when the follower follows the followee, and whether the follower is active: who is not
/// is in nobody's list, and comes back into all when they are active again.
fn is_true(change: FollowerChange, truth: Option<Micros>, is_active: bool) -> bool {
    match change {
        FollowerChange::Present { followed_at, .. } => is_active && truth == Some(followed_at),
        FollowerChange::Absent { removed, .. } => removed.is_none() || truth != removed,
    }
}
