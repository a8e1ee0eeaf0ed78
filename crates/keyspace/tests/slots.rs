//! Slots are those that Redis computes, for every key and for every partition.

#![expect(clippy::expect_used, reason = "the helpers of tests are tests")]

use localcluster::{LocalCluster, Options, Topology};
use model::UserId;
use proptest::{collection::vec, prelude::*, test_runner::TestRunner};
use socialgraph_keyspace::{Keyspace, PartitionCount, Slot};

/// The slot of each key that it is given in hexadecimal digits.
const KEY_SLOTS: &str = "
local slots = {}
for number, hex in ipairs(ARGV) do
  local key = hex:gsub('..', function(digits) return string.char(tonumber(digits, 16)) end)
  slots[number] = redis.call('CLUSTER', 'KEYSLOT', key)
end
return slots";

/// Keys of one question.
const KEYS: usize = 500;

struct Redis {
    runtime: tokio::runtime::Runtime,
    cluster: LocalCluster,
}

impl Redis {
    fn start() -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("runtime");
        let topology = Topology::Cluster { primaries: 1, replicas: 0 };
        let options = Options::temporary(topology).expect("temporary directory");
        let cluster = runtime.block_on(LocalCluster::start(options)).expect("start redis");
        Self { runtime, cluster }
    }

    fn slots(&self, keys: &[Vec<u8>]) -> Vec<u16> {
        let hex = keys.iter().map(|key| key.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        let command: Vec<String> = ["EVAL", KEY_SLOTS, "0"].into_iter().map(str::to_owned).chain(hex).collect();
        let reply = self.runtime.block_on(self.cluster.cli(0, &command)).expect("slots");
        reply.lines().map(|slot| slot.parse().expect("a slot")).collect()
    }

    fn assert_agrees(&self, keys: &[Vec<u8>]) {
        for keys in keys.chunks(KEYS) {
            let ours: Vec<u16> = keys.iter().map(|key| Slot::of(key).get()).collect();
            let theirs = self.slots(keys);
            let different = keys.iter().zip(ours.iter().zip(&theirs)).find(|(_, (ours, theirs))| ours != theirs);
            assert_eq!((different, ours.len()), (None, theirs.len()));
        }
    }
}

/// Any bytes, and texts in which braces are frequent.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 0..40), "[{}a:]{0,12}".prop_map(String::into_bytes)]
}

#[test]
fn redis_agrees_on_the_slot_of_every_key() {
    let redis = Redis::start();
    let edge_cases =
        ["", "{", "}", "{}", "{}{a}", "a{}b", "{{a}}", "{a}{b}", "a{b", "}a{b}", "{a}}", "{\0}", "foo{{bar}}zap"];
    redis.assert_agrees(&edge_cases.map(|key| key.as_bytes().to_vec()));
    // A failure prints the keys, made as few and as short as possible.
    TestRunner::new(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })
        .run(&vec(key(), KEYS), |keys| {
            redis.assert_agrees(&keys);
            Ok(())
        })
        .expect("slots agree");
}

#[test]
fn redis_agrees_on_the_slot_of_every_partition() {
    let redis = Redis::start();
    for count in [64, 128, 256, 512, 1_024, 2_048, 4_096] {
        let keys = Keyspace::new("sg", PartitionCount::new(count).expect("count")).expect("name");
        let (mut tags, mut slots) = (Vec::new(), Vec::new());
        for partition in keys.partitions().all() {
            tags.push(keys.hash_tag(partition).into_bytes());
            slots.push(keys.slot(partition).get());
        }
        let theirs: Vec<u16> = tags.chunks(KEYS).flat_map(|tags| redis.slots(tags)).collect();
        assert_eq!(theirs, slots, "{count} partitions");
        redis.assert_agrees(&keys.partitions().all().map(|p| keys.log(p).bytes().to_vec()).collect::<Vec<_>>());
    }
}

/// Every key of a user and of the user's partition has the slot that it says.
#[test]
fn redis_agrees_on_the_slot_of_every_kind_of_key() {
    let redis = Redis::start();
    let keys = Keyspace::new("tenant-7_x", PartitionCount::DEFAULT).expect("name");
    let mut all = vec![keys.format(), keys.instances()];
    for id in (1..=200).chain([i64::MAX, i64::MAX - 1, 1 << 53]) {
        let user = UserId::new(id).expect("id");
        let partition = keys.partition(user);
        let of_user = [keys.following(user), keys.left(user), keys.followers(user), keys.gone(user)];
        let of_partition =
            [keys.log(partition), keys.pending(partition), keys.clock(partition), keys.trimmed(partition)];
        let together: Vec<_> = of_user.into_iter().chain(of_partition).collect();
        assert!(together.iter().all(|key| key.slot() == keys.slot(partition)), "{together:?}");
        all.extend(together);
    }
    let names: Vec<Vec<u8>> = all.iter().map(|key| key.bytes().to_vec()).collect();
    let theirs: Vec<u16> = names.chunks(KEYS).flat_map(|names| redis.slots(names)).collect();
    assert_eq!(theirs, all.iter().map(|key| key.slot().get()).collect::<Vec<_>>());
}
