//! The pure parts of a call, without a server: keys, plans, tokens, and the order of what two lists share.

use std::{cmp::Reverse, hint::black_box, time::Duration};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use keyspace::{Key, Keyspace, Partition, PartitionCount, SlotGroup, by_partition};
use model::{Entry, Micros, TokenKey, TokenKind, UserId};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::SliceRandom};

/// Rows of one chunk of an import.
const CHUNK: usize = 32_768;
/// Rows of one script.
const SCRIPT_ROWS: usize = 64;
/// Entries of a list that is searched for common follows.
const LIST: usize = 2_500;

fn user(id: i64) -> UserId {
    UserId::new(id).unwrap_or(UserId::MIN)
}

fn at(micros: u64) -> Micros {
    Micros::new(micros).unwrap_or(Micros::MIN)
}

/// `count` users whose ids have the length of real ones.
fn users(count: usize) -> Vec<UserId> {
    let mut random = StdRng::seed_from_u64(1);
    (0..count).map(|_| user(random.random_range(1..=90_000_000))).collect()
}

fn keyspace() -> Option<Keyspace> {
    Keyspace::new("sg", PartitionCount::DEFAULT).ok()
}

fn keys(criterion: &mut Criterion) {
    let Some(keys) = keyspace() else { return };
    let ids = users(1_000);
    let mut group = criterion.benchmark_group("keys");
    group.throughput(Throughput::Elements(ids.len() as u64));
    group.bench_function("partition of an id", |bench| {
        bench.iter(|| ids.iter().map(|&id| usize::from(keys.partition(id).get())).sum::<usize>());
    });
    group.bench_function("key of a list", |bench| {
        bench.iter(|| ids.iter().map(|&id| keys.following(black_box(id)).bytes().len()).sum::<usize>());
    });
    group.finish();

    let mut group = criterion.benchmark_group("slot groups");
    for rows in [1, SCRIPT_ROWS] {
        let of_commit = || -> Vec<Key> {
            let home = keys.partition(user(1));
            let own = (0..rows).flat_map(|_| [keys.following(user(1)), keys.left(user(1))]);
            [keys.log(home), keys.pending(home), keys.clock(home)].into_iter().chain(own).collect()
        };
        group.throughput(Throughput::Elements(2 * rows as u64 + 3));
        group.bench_function(format!("{rows} rows"), |bench| {
            bench.iter_batched(of_commit, SlotGroup::new, BatchSize::SmallInput);
        });
    }
    group.finish();
}

fn plans(criterion: &mut Criterion) {
    let Some(keys) = keyspace() else { return };
    let rows = users(CHUNK);
    let home = |&id: &UserId| -> Partition { keys.partition(id) };
    let mut group = criterion.benchmark_group("plans");
    group.throughput(Throughput::Elements(CHUNK as u64));
    group.bench_function("32,768 rows by partition", |bench| {
        bench.iter(|| by_partition(keys.partitions(), rows.iter().copied(), SCRIPT_ROWS, home));
    });
    group.finish();
}

fn tokens(criterion: &mut Criterion) {
    let key = TokenKey::new([7; 16]);
    let bound_to = [42, 1, 1, Micros::MAX.get().cast_signed()];
    let last = Entry { at: at(1_700_000_000_000_000), user: user(81_234_567) };
    let token = key.seal_page(TokenKind::ListFollowers, &bound_to, last);
    let mut group = criterion.benchmark_group("page tokens");
    group.bench_function("seal", |bench| {
        bench.iter(|| key.seal_page(TokenKind::ListFollowers, black_box(&bound_to), black_box(last)));
    });
    group.bench_function("open", |bench| {
        bench.iter(|| key.open_page(TokenKind::ListFollowers, black_box(&bound_to), black_box(&token)));
    });
    group.finish();
}

/// What CommonFollows does with the answers of Redis: keeps the entries that the other list has, and orders them. Times
/// that are equal are ordered by members, as after an import without times of its own.
fn intersection(criterion: &mut Criterion) {
    let ids = users(LIST);
    let mut group = criterion.benchmark_group("intersection");
    group.throughput(Throughput::Elements(LIST as u64));
    for (name, times) in [("2,500 entries of different times", LIST as u64), ("2,500 entries of 10 times", 10)] {
        let mut random = StdRng::seed_from_u64(2);
        let mut list: Vec<Entry> =
            (0_u64..).zip(&ids).map(|(n, &user)| Entry { at: at(1_700_000_000_000_000 + n % times), user }).collect();
        list.shuffle(&mut random);
        let others: Vec<Option<Micros>> =
            list.iter().map(|entry| random.random_bool(0.25).then_some(entry.at)).collect();
        group.bench_function(name, |bench| {
            bench.iter(|| {
                let matches = list.iter().zip(&others).filter_map(|(&entry, &other)| Some((entry, other?)));
                let mut found: Vec<(Entry, Micros)> = matches.collect();
                found.sort_unstable_by_key(|&(entry, _)| Reverse(entry));
                found
            });
        });
    }
    group.finish();
}

fn quick() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(30)
        .without_plots()
}

criterion_group! { name = benches; config = quick(); targets = keys, plans, tokens, intersection }
criterion_main!(benches);
