//! What the log tells after a position, and when it no longer can.

use std::time::Duration;

use keyspace::Partition;
use model::Version;
use store::ops::{LogPart, ReadLog, Settle, TrimLog};

use crate::support::{World, edge, on_each_backend, user};

/// All entries of the log.
async fn versions(world: &World, partition: Partition) -> Vec<Version> {
    let answer = world.redis("XRANGE", &world.store.keys().log(partition), &["-", "+"]).await;
    let ids = answer.lines().filter_map(|line| line.strip_suffix("-0"));
    ids.map(|id| Version(id.parse().unwrap())).collect()
}

/// Asserts what a reader at each position that there ever was is told: what comes next, unless something is missing before it.
async fn check(world: &World, partition: Partition, ever: &[Version]) {
    let there = versions(world, partition).await;
    let gone = ever.len() - there.len();
    assert_eq!(there, ever[gone..]);
    for read in 0..=ever.len() {
        let after = if read == 0 { Version(0) } else { ever[read - 1] };
        let told = world.run(ReadLog { partition, after }).await;
        if read < gone {
            assert_eq!(told, LogPart::Trimmed, "{read} of {} read, {gone} gone", ever.len());
            continue;
        }
        let LogPart::Entries(entries) = told else {
            // Only what is old enough to be trimmed any time may be called so before it is.
            assert!(read < ever.len() && read == gone, "{read} of {} read, {gone} gone", ever.len());
            continue;
        };
        let told: Vec<_> = entries.iter().map(|entry| entry.version).collect();
        assert_eq!(told, ever[read..ever.len().min(read + ReadLog::MOST_ENTRIES)]);
    }
}

#[test]
fn a_reader_is_told_whenever_something_is_missing() {
    on_each_backend(async |world| {
        let partition = world.store.keys().partition(user(1));
        let trim = TrimLog { partition, retention: Duration::ZERO, patience: Duration::ZERO };
        let mut ever = Vec::new();
        check(world, partition, &ever).await;
        for round in 0..4 {
            for followee in 0..90 {
                world.commit_new(edge(1, 2 + 90 * round + followee), None).await;
            }
            let known = ever.last().copied().unwrap_or_default();
            let new: Vec<_> = versions(world, partition).await.into_iter().filter(|&version| version > known).collect();
            ever.extend(&new);
            check(world, partition, &ever).await;
            world.run(Settle { partition, versions: new }).await;
            world.run(trim).await;
            check(world, partition, &ever).await;
        }
        let there = versions(world, partition).await.len();
        assert!(there < ever.len(), "something was trimmed");
    });
}
