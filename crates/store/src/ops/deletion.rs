//! The end of users.

use std::fmt;

use fred::types::Value;
use keyspace::{Key, Keyspace, List, Partition, Shard, SlotGroup};
use model::{FeedEntry, PostId, UserId, Version};

use super::{
    Operation,
    commit::version,
    inbox::inbox_segments,
    lists::{following_keys, list_keys},
    states::{UserOperation, operation},
};
use crate::{StoreError, call::Call, script, value};

/// How long a shard is remembered as closed: as long as removals are. 1 hour, in seconds.
const CLOSED_SECONDS: i64 = 3600;
/// Most operations that are told of one partition.
const MOST_OPERATIONS: i64 = 64;

/// Commits the end of a user. See `delete_user.lua`.
#[derive(Clone, Copy, Debug)]
pub struct DeleteUser {
    /// Who.
    pub user: UserId,
    /// The highest version seen of the user's partition.
    pub seen: Version,
}

impl Operation for DeleteUser {
    type Output = UserOperation;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let (user, partition) = (self.user, keys.partition(self.user));
        let mut names = vec![keys.log(partition), keys.clock(partition), keys.operations(partition), keys.state(user)];
        names.extend(list_keys(keys, List::Following, user));
        names.extend(list_keys(keys, List::Followers, user));
        names.extend([keys.posts(user), keys.posts_parts(user), keys.aside(user), keys.hidden(user)]);
        let args = vec![version(self.seen), user.get().into()];
        Ok(Call::script(&script::DELETE_USER, SlotGroup::new(names)?, args))
    }

    fn answer(&self, answer: Value) -> Result<UserOperation, StoreError> {
        operation(answer)?.ok_or_else(|| StoreError::Refused("a deletion became no operation".to_owned()))
    }
}

/// What is to be done about a user behind the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Duty {
    /// An operation about the user: a deletion, or moves of edges.
    User(UserId),
    /// The user's followers are to be told how the user's posts reach them.
    Delivery(UserId),
    /// Those who liked the author's deleted post are to forget it.
    Likes(UserId, PostId),
}

impl Duty {
    /// About whom.
    pub fn user(self) -> UserId {
        let (Self::User(user) | Self::Delivery(user) | Self::Likes(user, _)) = self;
        user
    }

    fn parse(text: &str) -> Option<Self> {
        let user = |id: &str| UserId::new(id.parse().ok()?).ok();
        if let Some(id) = text.strip_prefix(TURN) {
            return user(id).map(Self::Delivery);
        }
        match text.strip_prefix(LIKES) {
            Some(name) => {
                let (author, post) = name.split_once(':')?;
                Some(Self::Likes(user(author)?, PostId::new(post.parse().ok()?).ok()?))
            }
            None => user(text).map(Self::User),
        }
    }
}

/// What the names of turns begin with in `operations`; those of operations about users are the ids alone.
const TURN: &str = "turn:";
/// And those of likes of deleted posts.
const LIKES: &str = "likes:";

impl fmt::Display for Duty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(user) => write!(f, "{user}"),
            Self::Delivery(user) => write!(f, "{TURN}{user}"),
            Self::Likes(author, post) => write!(f, "{LIKES}{author}:{post}"),
        }
    }
}

/// What is to be done in a partition, the oldest first, at most 64.
#[derive(Clone, Copy, Debug)]
pub struct Unfinished(pub Partition);

impl Operation for Unfinished {
    type Output = Vec<Duty>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("ZRANGE", keys.operations(self.0), [0, MOST_OPERATIONS - 1]))
    }

    fn answer(&self, answer: Value) -> Result<Vec<Duty>, StoreError> {
        let duty = |name: &Value| Duty::parse(value::text(name)?).ok_or_else(|| value::unexpected("a duty", name));
        value::array(answer)?.iter().map(duty).collect()
    }
}

/// Takes a piece of work, or keeps it. See `claim.lua`.
#[derive(Clone, Debug)]
pub struct ClaimOperation {
    /// What is to be done.
    pub duty: Duty,
    /// Who works.
    pub worker: String,
    /// For how many milliseconds others leave it alone.
    pub millis: u64,
}

impl Operation for ClaimOperation {
    /// Whether nobody else has it.
    type Output = bool;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let key = match self.duty {
            Duty::User(user) => keys.state_worker(user),
            Duty::Delivery(user) => keys.delivery_worker(user),
            Duty::Likes(author, post) => keys.likes_worker(author, post),
        };
        let args = vec![self.worker.as_str().into(), Value::Integer(self.millis.cast_signed())];
        Ok(Call::script(&script::CLAIM, key.into(), args))
    }

    fn answer(&self, answer: Value) -> Result<bool, StoreError> {
        Ok(value::number::<u8>(&answer)? == 1)
    }
}

/// Strikes a piece of work off those of its partition.
#[derive(Clone, Copy, Debug)]
pub struct EndDuty(pub Duty);

impl Operation for EndDuty {
    type Output = ();

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let partition = keys.partition(self.0.user());
        Ok(Call::command("ZREM", keys.operations(partition), [self.0.to_string()]))
    }

    fn answer(&self, _removed: Value) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Removes 1 to 64 posts of one author. See `erase_posts.lua`.
#[derive(Clone, Debug)]
pub struct ErasePosts {
    /// Whose.
    pub author: UserId,
    /// Which.
    pub posts: Vec<FeedEntry>,
}

impl Operation for ErasePosts {
    type Output = ();

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let mut names = vec![keys.posts(self.author), keys.posts_parts(self.author)];
        names.extend(self.posts.iter().map(|entry| keys.post(self.author, entry.post)));
        let args = self
            .posts
            .iter()
            .flat_map(|entry| [entry.at.get().cast_signed().into(), value::of_bytes(&entry.post.get().to_be_bytes())]);
        Ok(Call::script(&script::ERASE_POSTS, SlotGroup::new(names)?, args.collect()))
    }

    fn answer(&self, _ok: Value) -> Result<(), StoreError> {
        Ok(())
    }
}

/// How many shards a list of followers has.
#[derive(Clone, Copy, Debug)]
pub struct CountShards(pub UserId);

impl Operation for CountShards {
    /// `None`: none was ever begun.
    type Output = Option<u32>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("HLEN", keys.shards(self.0), [0_i64; 0]))
    }

    fn answer(&self, answer: Value) -> Result<Option<u32>, StoreError> {
        // Three fields tell who moves segments: see spread.lua.
        Ok(value::number::<u32>(&answer)?.checked_sub(3))
    }
}

/// Removes a shard of a deleted user. See `close_shard.lua`.
#[derive(Clone, Copy, Debug)]
pub struct CloseShard {
    /// Whose.
    pub user: UserId,
    /// Which.
    pub shard: Shard,
}

impl Operation for CloseShard {
    /// Whether there is more to remove.
    type Output = bool;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let (user, shard) = (self.user, self.shard);
        let names = vec![
            keys.shard(user, shard),
            keys.shard_parts(user, shard),
            keys.shard_facts(user, shard),
            keys.shard_gone(user, shard),
        ];
        Ok(Call::script(&script::CLOSE_SHARD, SlotGroup::new(names)?, vec![CLOSED_SECONDS.into()]))
    }

    fn answer(&self, answer: Value) -> Result<bool, StoreError> {
        Ok(value::number::<u8>(&answer)? == 1)
    }
}

/// Removes what is left of a deleted user whose lists are empty. See `end_deletion.lua`.
#[derive(Clone, Copy, Debug)]
pub struct EndDeletion {
    /// Who.
    pub user: UserId,
    /// Most entries of an inbox.
    pub inbox_cap: u32,
}

impl Operation for EndDeletion {
    /// Whether the lists are empty. If not, nothing was done.
    type Output = bool;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let user = self.user;
        let [following, following_parts, following_ids] = following_keys(keys, user);
        let mut names: Vec<Key> = vec![keys.operations(keys.partition(user)), keys.state(user)];
        names.extend([following, keys.followers(user), keys.posts(user), following_parts, keys.posts_parts(user)]);
        names.extend([keys.aside(user), keys.hidden(user)]);
        names.extend([following_ids, keys.list_parts(List::Followers, user), keys.shards(user)]);
        names.extend([
            keys.left(user),
            keys.gone(user),
            keys.aside_marks(user),
            keys.dismissed(user),
            keys.blocking(user),
            keys.muting(user),
            keys.mute_ends(user),
            keys.kept(user),
            keys.kept_since(user),
            keys.rate(user),
            keys.erased(user),
            keys.inbox(user),
            keys.feed(user),
            keys.state_worker(user),
            keys.delivery(user),
            keys.delivery_worker(user),
        ]);
        names.extend(inbox_segments(keys, user, self.inbox_cap));
        Ok(Call::script(&script::END_DELETION, SlotGroup::new(names)?, vec![user.get().into()]))
    }

    fn answer(&self, answer: Value) -> Result<bool, StoreError> {
        Ok(value::number::<u8>(&answer)? == 1)
    }
}
