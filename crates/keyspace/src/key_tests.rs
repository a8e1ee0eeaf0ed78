use model::PostId;

use super::*;

#[test]
fn golden_keys() {
    let keys = Keyspace::new("sg", PartitionCount::DEFAULT).unwrap();
    let user = UserId::new(42).unwrap();
    let partition = keys.partition(user);
    let (shard, post) = (Shard::parse("*88800000").unwrap(), PostId::new(7).unwrap());
    let names = [
        keys.following(user),
        keys.list_parts(List::Following, user),
        keys.following_ids(user),
        keys.following(user).segment("1z141z3"),
        keys.left(user),
        keys.dismissed(user),
        keys.aside(user),
        keys.kept(user),
        keys.kept_since(user),
        keys.aside_marks(user),
        keys.hidden(user),
        keys.blocking(user),
        keys.muting(user),
        keys.mute_ends(user),
        keys.rate(user),
        keys.followers(user),
        keys.list_parts(List::Followers, user),
        keys.gone(user),
        keys.shards(user),
        keys.shard(user, shard),
        keys.shard_parts(user, shard),
        keys.shard_gone(user, shard),
        keys.shard_facts(user, shard),
        keys.posts(user),
        keys.posts_parts(user),
        keys.post(user, post),
        keys.likes(user, post),
        keys.likes_part(user, post, 4_095),
        keys.likes_part_of(user, post, user),
        keys.likes_worker(user, post),
        keys.liked(user, 15),
        keys.liked_part_of(user, post),
        keys.request(user, "r{1}"),
        keys.delivery(user),
        keys.delivery_worker(user),
        keys.erased(user),
        keys.inbox(user),
        keys.inbox_segment(user, 3),
        keys.feed(user),
        keys.log(partition),
        keys.pending(partition),
        keys.clock(partition),
        keys.trimmed(partition),
        keys.trial(partition, "5a"),
        keys.format(),
        keys.instances(),
        keys.converter(),
    ];
    let golden = [
        "sg:{0x1}:following:42",
        "sg:{0x1}:following:42:parts",
        "sg:{0x1}:following:42:ids",
        "sg:{0x1}:following:42:1z141z3",
        "sg:{0x1}:left:42",
        "sg:{0x1}:dismissed:42",
        "sg:{0x1}:aside:42",
        "sg:{0x1}:kept:42",
        "sg:{0x1}:kept_since:42",
        "sg:{0x1}:aside:42:marks",
        "sg:{0x1}:hidden:42",
        "sg:{0x1}:blocking:42",
        "sg:{0x1}:muting:42",
        "sg:{0x1}:mute_ends:42",
        "sg:{0x1}:rate:42",
        "sg:{0x1}:followers:42",
        "sg:{0x1}:followers:42:parts",
        "sg:{0x1}:gone:42",
        "sg:{0x1}:followers:42:shards",
        "sg:{0x1}:shard:42:*88800000",
        "sg:{0x1}:shard:42:*88800000:parts",
        "sg:{0x1}:shard:42:*88800000:gone",
        "sg:{0x1}:shard:42:*88800000:facts",
        "sg:{0x1}:posts:42",
        "sg:{0x1}:posts:42:parts",
        "sg:{0x1}:post:42:7",
        "sg:{0x1}:likes:42:7",
        "sg:{0x1}:likes:42:7:4095",
        "sg:{0x1}:likes:42:7:2599",
        "sg:{0x1}:likes:42:7:worker",
        "sg:{0x1}:liked:42:15",
        "sg:{0x1}:liked:42:3",
        "sg:{0x1}:request:42:r{1}",
        "sg:{0x1}:delivery:42",
        "sg:{0x1}:delivery:42:worker",
        "sg:{0x1}:erased:42",
        "sg:{0x1}:inbox:42",
        "sg:{0x1}:inbox:42:3",
        "sg:{0x1}:feed:42",
        "sg:{0x1}:log",
        "sg:{0x1}:pending",
        "sg:{0x1}:clock",
        "sg:{0x1}:trimmed",
        "sg:{0x1}:trial:5a",
        "sg:{000}:format",
        "sg:{000}:instances",
        "sg:{000}:converter",
    ];
    assert!(names[..names.len() - 3].iter().all(|key| key.slot() == keys.slot(partition)));
    assert_eq!(names.map(|key| key.to_string()), golden);
}

#[test]
fn names_are_checked() {
    for name in ["", "Sg", "s{g}", "s:g", "s g", "ü", &"a".repeat(33)] {
        assert_eq!(Keyspace::new(name, PartitionCount::DEFAULT).unwrap_err(), InvalidName(name.to_owned()));
    }
    for name in ["sg", "a", "tenant-7_x", &"a".repeat(32)] {
        assert!(Keyspace::new(name, PartitionCount::DEFAULT).is_ok());
    }
}

#[test]
fn imports_are_spread_over_the_partitions_by_their_ids() {
    let keys = Keyspace::new("sg", PartitionCount::DEFAULT).unwrap();
    let import = |id: &str| keys.import(&ImportId::new(id).unwrap());
    assert_eq!(import("edges.1").to_string(), "sg:{0x8}:import:edges.1");
    let slots: std::collections::HashSet<_> =
        (0..100).map(|number| import(&format!("edges.{number}")).slot()).collect();
    assert!(slots.len() > 80, "{}", slots.len());
}
