//! Plain fred, doing what a call needs at least: the same commands and scripts on the same data, and nothing around them.

use std::{collections::BTreeMap, net::SocketAddr};

use fred::{
    bytes::Bytes,
    clients::Client,
    interfaces::ClientLike,
    types::{
        Builder, ClusterHash, CustomCommand, Value,
        config::{Config, ServerConfig},
    },
};
use futures::{FutureExt, future::try_join_all};
use keyspace::{Key, Keyspace, Partition};
use model::{Edge, FeedEntry, Micros, PostId, UserId, Version};
use store::{
    Operation,
    ops::{Apply, Follow, FollowRow, FollowerChange, FollowerRows, RowOutcome, Unfollow},
};

use crate::{
    Result,
    calls::{self, Kind},
};

/// With which keys begin that plain fred has for itself.
pub(crate) const PLAIN: &str = "plain:";

/// One client of the cluster, with fred's usual settings.
#[derive(Clone)]
pub(crate) struct Raw {
    pub(crate) client: Client,
    /// The keys of the service, for reads of its data.
    pub(crate) keys: Keyspace,
    /// Keys of the same form for what is written here.
    own: Keyspace,
}

impl Raw {
    pub(crate) async fn connect(addresses: &[SocketAddr], keys: Keyspace) -> Result<Self> {
        let hosts = addresses.iter().map(|address| (address.ip().to_string(), address.port())).collect();
        let config = Config { server: ServerConfig::new_clustered(hosts), ..Config::default() };
        let client = Builder::from_config(config).build()?;
        client.init().await?;
        let own = Keyspace::new("raw", keys.partitions())?;
        Ok(Self { client, keys, own })
    }

    /// Writes, as plain ZSETs, the long lists that are read here; the service keeps its own in segments.
    pub(crate) async fn prepare(&self) -> Result<()> {
        let mut lists: BTreeMap<Bytes, Vec<Value>> = BTreeMap::new();
        for ((follower, followee), at) in calls::long_lists().zip(1_700_000_000_000_000_i64..) {
            let (follower, followee) = (calls::user(follower)?, calls::user(followee)?);
            for (key, member) in [(self.own.following(follower), followee), (self.own.followers(followee), follower)] {
                lists.entry(key.into_bytes()).or_default().extend([at.into(), member.get().into()]);
            }
        }
        for (key, rows) in lists {
            for rows in rows.chunks(1_000) {
                self.bytes_command("ZADD", key.clone(), rows.to_vec()).await?;
            }
        }
        Ok(())
    }

    /// The commands that a call needs, for the `n`th call.
    pub(crate) async fn call(&self, kind: Kind, n: u64) -> Result<()> {
        match kind {
            Kind::IsFollowing => {
                let (follower, followee) = calls::pair(n)?;
                self.command("ZSCORE", self.keys.following(follower), vec![followee.get().into()]).await?;
            }
            Kind::Follow => {
                let (edge, partition) = self.edge(n)?;
                let rows = vec![FollowRow { followee: edge.followee(), followed_at: None }];
                let follow = Follow {
                    partition,
                    followers: vec![FollowerRows { follower: edge.follower(), rows }],
                    source: String::new(),
                    max_following: 10_000,
                    per_hour: 0,
                    seen: Version(0),
                };
                let committed = self.operation(&follow).await?;
                let change = match committed.outcomes[..] {
                    [RowOutcome::Created { followed_at, version }] => FollowerChange::Present { followed_at, version },
                    [RowOutcome::Existing { followed_at: Some(followed_at) }] => {
                        FollowerChange::Present { followed_at, version: committed.version }
                    }
                    ref other => return Err(format!("a follow became {other:?}").into()),
                };
                self.operation(&Apply::new(vec![(edge, change)])).await?;
            }
            Kind::Unfollow => {
                let (edge, _) = self.edge(n)?;
                let ended = self.operation(&Unfollow { edge, keeps_posts: false, seen: Version(0) }).await?;
                let change = FollowerChange::Absent { removed: ended.removed, version: ended.version };
                self.operation(&Apply::new(vec![(edge, change)])).await?;
            }
            Kind::BatchIsFollowing => {
                let targets = calls::targets(n).map(Value::Integer).collect();
                self.command("ZMSCORE", self.own.following(calls::user(calls::A)?), targets).await?;
            }
            Kind::ListFollowers => {
                let page = ["+inf", "-inf", "BYSCORE", "REV", "LIMIT", "0", "51", "WITHSCORES"].map(Value::from);
                self.command("ZRANGE", self.own.followers(calls::user(calls::C)?), page.into()).await?;
            }
            Kind::BatchGetCounts => {
                let users: Vec<UserId> = calls::counted(n).map(calls::user).collect::<Result<_>>()?;
                let keys = users.iter().flat_map(|&user| [self.keys.following(user), self.keys.followers(user)]);
                try_join_all(keys.map(|key| self.command("ZCARD", key, Vec::new()))).await?;
            }
            Kind::CommonFollows => self.common_follows().await?,
            Kind::PublishPost => self.publish(n).await?,
            Kind::ScrollFeed(reader) => self.scroll(calls::user(reader)?).await?,
        }
        Ok(())
    }

    async fn common_follows(&self) -> Result<()> {
        let range = ["0", "-1", "WITHSCORES"].map(Value::from);
        let a = self.command("ZRANGE", self.own.following(calls::user(calls::A)?), range.into()).await?;
        let members = a.into_array().into_iter().step_by(2).collect();
        self.command("ZMSCORE", self.own.following(calls::user(calls::B)?), members).await?;
        Ok(())
    }

    /// The post and its place in the timeline, the followers, their inboxes.
    async fn publish(&self, n: u64) -> Result<()> {
        let (author, post) = (calls::user(calls::PUBLISHER)?, PostId::new(1 + n as i64)?);
        let now = Value::Integer(Micros::now().get().cast_signed());
        let fields = ["content".into(), Value::Bytes(calls::content()), "published_at".into(), now.clone()];
        let entry = FeedEntry { at: Micros::MIN, post, author }.member();
        let member = |bytes: &[u8]| Value::Bytes(Bytes::copy_from_slice(bytes));
        let post = self.command("HSET", self.own.post(author, post), fields.into());
        let timeline = self.command("ZADD", self.own.posts(author), vec![now.clone(), member(&entry[..8])]);
        try_join_all([post.boxed(), timeline.boxed()]).await?;
        let followers = self.command("ZRANGE", self.own.followers(author), vec![0_i64.into(), (-1_i64).into()]).await?;
        let followers = followers.into_array().into_iter().filter_map(|follower| follower.as_i64());
        let inboxes = followers.map(calls::user).collect::<Result<Vec<_>>>()?;
        let push = |reader| self.command("ZADD", self.own.inbox(reader), vec![now.clone(), member(&entry)]);
        try_join_all(inboxes.into_iter().map(push)).await?;
        Ok(())
    }

    /// A page of 51 of the inbox, and whether its posts are there.
    async fn scroll(&self, reader: UserId) -> Result<()> {
        let page = ["+inf", "(0", "BYSCORE", "REV", "LIMIT", "0", "51", "WITHSCORES"].map(Value::from);
        let entries = self.command("ZRANGE", self.keys.inbox(reader), page.into()).await?.into_array();
        let posts = entries.iter().step_by(2).filter_map(|member| {
            let entry = FeedEntry::of_member(Micros::MIN, member.as_bytes()?)?;
            Some(self.command("EXISTS", self.keys.post(entry.author, entry.post), Vec::new()))
        });
        try_join_all(posts).await?;
        Ok(())
    }

    fn edge(&self, n: u64) -> Result<(Edge, Partition)> {
        let (follower, followee) = calls::edge(n)?;
        Ok((Edge::new(follower, followee)?, self.own.partition(follower)))
    }

    /// A command or script of the service. The lists written here are short, so that no script asks for segments.
    async fn operation<O: Operation>(&self, operation: &O) -> Result<O::Output> {
        let (name, slot, args) = store::command_of(operation, &self.own)?;
        let command = CustomCommand::new_static(name, ClusterHash::Custom(slot.get()), false);
        Ok(operation.answer(self.client.custom(command, args).await?)?)
    }

    /// A command on one key.
    pub(crate) async fn command(&self, name: &'static str, key: Key, args: Vec<Value>) -> Result<Value> {
        self.bytes_command(name, key.into_bytes(), args).await
    }

    /// A command on one key of any name.
    pub(crate) async fn bytes_command(&self, name: &'static str, key: Bytes, mut args: Vec<Value>) -> Result<Value> {
        args.insert(0, Value::Bytes(key));
        let command = CustomCommand::new_static(name, ClusterHash::FirstKey, false);
        Ok(self.client.custom(command, args).await?)
    }
}
