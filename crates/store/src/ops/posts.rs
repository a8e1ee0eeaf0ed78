//! Posts and the timelines of their authors.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use fred::types::Value;
use keyspace::{Keyspace, List, SlotGroup};
use model::{FeedEntry, Micros, PostId, UserId, Version, limits::MAX_CLOCK_SKEW};

use super::{Operation, commit::version, deletion::Duty, inbox::inbox_segments};
use crate::{StoreError, call::Call, script, value};

/// How long it is remembered what a request made, and which posts were deleted: 24 hours, in seconds.
const IDS_KEPT_SECONDS: i64 = 24 * 3600;
/// What the names of attributes begin with among the fields of a post.
const ATTRIBUTE: char = '.';

/// Commits a post. See `publish.lua`.
#[derive(Clone, Debug)]
pub struct Publish {
    /// Who publishes.
    pub author: UserId,
    /// The post's id.
    pub post: PostId,
    /// Whether the request names the post's id, so that no other post is meant.
    pub is_given: bool,
    /// Names the call, unlike any other: a made id may be that of another call's post.
    pub call: u64,
    /// Names the request; empty for none.
    pub request_id: String,
    /// When; `None` for now.
    pub published_at: Option<Micros>,
    /// Tells this content and these attributes from others.
    pub fingerprint: u128,
    /// The content.
    pub content: Bytes,
    /// The attributes.
    pub attributes: BTreeMap<String, String>,
    /// Most entries of an inbox.
    pub inbox_cap: u32,
    /// For how long the delivery to followers is the caller's to do.
    pub patience: Duration,
    /// With more followers than this an author's posts are turned from pushed to pulled.
    pub pull_above: u64,
    /// With fewer they are turned back.
    pub push_below: u64,
    /// The highest version seen of the author's partition.
    pub seen: Version,
}

/// What became of a [`Publish`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishOutcome {
    /// The post is new.
    Created(Published),
    /// The same post, or the post of the same request, was there.
    Existing(Published),
    /// The request id was used for another content.
    RequestIdReused,
    /// The post id was used for another content, or its post was deleted lately.
    PostIdReused,
    /// The time is too far in the future.
    Future,
    /// The author is not active.
    Unavailable,
}

/// A post in its author's timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// The post's id.
    pub post: PostId,
    /// When it was published.
    pub published_at: Micros,
    /// The version of the change.
    pub version: Version,
    /// How many followers the author had.
    pub audience: u64,
    /// Whether readers pull it.
    pub is_pulled: bool,
    /// Whether it may not have reached them yet.
    pub is_pending: bool,
}

impl Operation for Publish {
    type Output = PublishOutcome;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let (author, partition) = (self.author, keys.partition(self.author));
        let has_request = !self.request_id.is_empty();
        let mut names = vec![
            keys.log(partition),
            keys.pending(partition),
            keys.clock(partition),
            keys.posts(author),
            keys.posts_parts(author),
            keys.followers(author),
            keys.list_parts(List::Followers, author),
            keys.post(author, self.post),
            if has_request { keys.request(author, &self.request_id) } else { keys.posts(author) },
            keys.inbox(author),
            keys.feed(author),
            keys.state(author),
            keys.erased(author),
            keys.delivery(author),
            keys.operations(partition),
        ];
        names.extend(inbox_segments(keys, author, self.inbox_cap));
        // Of the entry only the member is used, which has no time.
        let entry = FeedEntry { at: Micros::MIN, post: self.post, author };
        let mut args = vec![
            version(self.seen),
            i64::from(has_request).into(),
            i64::from(self.is_given).into(),
            author.get().into(),
            self.post.get().into(),
            value::of_bytes(&self.post.get().to_be_bytes()),
            value::of_bytes(&entry.member()),
            self.published_at.map_or(0, |at| at.get().cast_signed()).into(),
            value::of_micros(MAX_CLOCK_SKEW),
            format!("{:032x}", self.fingerprint).into(),
            self.inbox_cap.into(),
            IDS_KEPT_SECONDS.into(),
            value::of_micros(self.patience),
            format!("{:016x}", self.call).into(),
            self.pull_above.cast_signed().into(),
            self.push_below.cast_signed().into(),
            Duty::Delivery(author).to_string().into(),
            "content".into(),
            Value::Bytes(self.content.clone()),
        ];
        for (name, text) in &self.attributes {
            args.extend([format!("{ATTRIBUTE}{name}").into(), text.as_str().into()]);
        }
        Ok(Call::script(&script::PUBLISH, SlotGroup::new(names)?, args))
    }

    fn answer(&self, answer: Value) -> Result<PublishOutcome, StoreError> {
        let [letter, version, published_at, audience, is_pulled, post, is_pending] = value::array_of(answer)?;
        let published = || {
            Ok(Published {
                post: post_id(&post)?,
                published_at: value::score(&published_at)?,
                version: Version(value::number(&version)?),
                audience: value::number(&audience)?,
                is_pulled: value::number::<u8>(&is_pulled)? == 1,
                is_pending: value::number::<u8>(&is_pending)? == 1,
            })
        };
        match value::text(&letter)? {
            "c" => published().map(PublishOutcome::Created),
            "e" => published().map(PublishOutcome::Existing),
            "r" => Ok(PublishOutcome::RequestIdReused),
            "p" => Ok(PublishOutcome::PostIdReused),
            "f" => Ok(PublishOutcome::Future),
            "u" => Ok(PublishOutcome::Unavailable),
            _ => Err(value::unexpected("an outcome", &letter)),
        }
    }
}

/// A post as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPost {
    /// The content.
    pub content: Bytes,
    /// The attributes.
    pub attributes: BTreeMap<String, String>,
    /// When it was published.
    pub published_at: Micros,
    /// How many like it.
    pub likes: u64,
    /// Whether the viewer does.
    pub is_liked: bool,
}

/// A post by its author and id, if it is there. For a viewer see `viewed_post.lua`.
#[derive(Clone, Copy, Debug)]
pub struct FetchPost {
    /// Who published it.
    pub author: UserId,
    /// Its id.
    pub post: PostId,
    /// Who looks, if it is somebody in particular.
    pub viewer: Option<UserId>,
}

impl Operation for FetchPost {
    type Output = Option<StoredPost>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let &Self { author, post, viewer } = self;
        let key = keys.post(author, post);
        let Some(viewer) = viewer else { return Ok(Call::command("HGETALL", key, [0_i64; 0])) };
        let names = vec![key, keys.likes(author, post), keys.likes_part_of(author, post, viewer)];
        Ok(Call::script(&script::VIEWED_POST, SlotGroup::new(names)?, vec![viewer.get().into()]))
    }

    fn answer(&self, answer: Value) -> Result<Option<StoredPost>, StoreError> {
        let (fields, is_liked) = match self.viewer {
            Some(_) => {
                let [fields, is_liked] = value::array_of(answer)?;
                (fields, value::number::<u8>(&is_liked)? == 1)
            }
            None => (answer, false),
        };
        let fields = value::pairs(fields)?;
        let mut post = StoredPost {
            content: Bytes::new(),
            attributes: BTreeMap::new(),
            published_at: Micros::MIN,
            likes: 0,
            is_liked,
        };
        let is_there = !fields.is_empty();
        for [name, field] in fields {
            match value::text(&name)? {
                "content" => post.content = value::into_bytes(field)?,
                "published_at" => post.published_at = value::score(&field)?,
                "likes" => post.likes = value::number(&field)?,
                name => {
                    if let Some(name) = name.strip_prefix(ATTRIBUTE) {
                        post.attributes.insert(name.to_owned(), value::text(&field)?.to_owned());
                    }
                }
            }
        }
        Ok(is_there.then_some(post))
    }
}

/// Whether a post is there.
#[derive(Clone, Copy, Debug)]
pub struct HasPost {
    /// Who published it.
    pub author: UserId,
    /// Its id.
    pub post: PostId,
}

impl Operation for HasPost {
    type Output = bool;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("EXISTS", keys.post(self.author, self.post), [0_i64; 0]))
    }

    fn answer(&self, answer: Value) -> Result<bool, StoreError> {
        Ok(value::number::<u8>(&answer)? == 1)
    }
}

/// Commits the end of a post. See `delete_post.lua`.
#[derive(Clone, Copy, Debug)]
pub struct DeletePost {
    /// Who published it.
    pub author: UserId,
    /// Its id.
    pub post: PostId,
    /// The highest version seen of the author's partition.
    pub seen: Version,
}

impl Operation for DeletePost {
    /// Whether it was there; and the version of the change, or the partition's last one.
    type Output = (bool, Version);

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let (author, partition) = (self.author, keys.partition(self.author));
        let group = SlotGroup::new(vec![
            keys.log(partition),
            keys.pending(partition),
            keys.clock(partition),
            keys.posts(author),
            keys.posts_parts(author),
            keys.post(author, self.post),
            keys.erased(author),
            keys.operations(partition),
        ])?;
        let args = vec![
            version(self.seen),
            author.get().into(),
            self.post.get().into(),
            value::of_bytes(&self.post.get().to_be_bytes()),
            IDS_KEPT_SECONDS.into(),
            Duty::Likes(author, self.post).to_string().into(),
        ];
        Ok(Call::script(&script::DELETE_POST, group, args))
    }

    fn answer(&self, answer: Value) -> Result<(bool, Version), StoreError> {
        let [letter, version] = value::array_of(answer)?;
        Ok((value::text(&letter)? == "d", Version(value::number(&version)?)))
    }
}

fn post_id(value: &Value) -> Result<PostId, StoreError> {
    PostId::new(value::number(value)?).map_err(|_| value::unexpected("a post id", value))
}
