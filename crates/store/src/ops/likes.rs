//! Who likes which post.
//!
//! A like is committed at the post's author. The user who likes has a note of it, so that none is missed when the user is deleted. The note
//! comes before the like and goes after it, and who changes either looks at both afterwards.

use fred::types::Value;
use keyspace::{Key, Keyspace, LIKED_PARTS, LIKES_PARTS, SlotGroup};
use model::{FeedEntry, Micros, PostId, UserId, Version};

use super::{Operation, commit::version};
use crate::{StoreError, call::Call, script, value};

/// How many who like a post are in its first set: as many as Redis keeps as bare numbers.
const ROOM: i64 = 512;
/// Users of one set that forget a post at a time.
const MOST_LIKERS: i64 = 128;
/// Notes of one part that are read at a time.
const MOST_NOTES: i64 = 16;

/// A post, and a user who likes it, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Like {
    /// Who likes it.
    pub user: UserId,
    /// Who published it.
    pub author: UserId,
    /// Its id.
    pub post: PostId,
}

impl Like {
    fn note(self, keys: &Keyspace) -> Key {
        keys.liked_part_of(self.user, self.post)
    }

    fn member(self) -> Value {
        // Of the entry only the member is used, which has no time.
        let entry = FeedEntry { at: Micros::MIN, post: self.post, author: self.author };
        value::of_bytes(&entry.member())
    }
}

/// Notes a like that is about to be, or is. See `note_like.lua`.
#[derive(Clone, Copy, Debug)]
pub struct NoteLike {
    /// Who likes what.
    pub like: Like,
    /// Whether the like is committed: then the user need not be active, and a note that is there stays.
    pub is_committed: bool,
}

/// What became of a [`NoteLike`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteOutcome {
    /// There is a new note.
    Noted,
    /// There was one.
    Kept,
    /// The user is not active, or deleted if the like is committed.
    Unavailable,
    /// The user blocks the author.
    Blocked,
}

impl Operation for NoteLike {
    type Output = NoteOutcome;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let Like { user, author, .. } = self.like;
        let group = SlotGroup::new(vec![self.like.note(keys), keys.state(user), keys.blocking(user)])?;
        let args = vec![self.like.member(), author.get().into(), i64::from(self.is_committed).into()];
        Ok(Call::script(&script::NOTE_LIKE, group, args))
    }

    fn answer(&self, answer: Value) -> Result<NoteOutcome, StoreError> {
        match value::text(&answer)? {
            "n" => Ok(NoteOutcome::Noted),
            "k" => Ok(NoteOutcome::Kept),
            "u" => Ok(NoteOutcome::Unavailable),
            "b" => Ok(NoteOutcome::Blocked),
            _ => Err(value::unexpected("an outcome", &answer)),
        }
    }
}

/// When a like was noted, which tells its note from other ones; `None`: it is not.
#[derive(Clone, Copy, Debug)]
pub struct FindNote(pub Like);

impl Operation for FindNote {
    type Output = Option<Micros>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("ZSCORE", self.0.note(keys), [self.0.member()]))
    }

    fn answer(&self, answer: Value) -> Result<Option<Micros>, StoreError> {
        value::optional_score(&answer)
    }
}

/// Drops the note of a like that is not there. See `drop_note.lua`.
#[derive(Clone, Copy, Debug)]
pub struct DropNote {
    /// Of which like.
    pub like: Like,
    /// Which note; `None`: any, for there will be no such like.
    pub noted: Option<Micros>,
}

impl Operation for DropNote {
    type Output = ();

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let (key, member) = (self.like.note(keys), self.like.member());
        let Some(noted) = self.noted else { return Ok(Call::command("ZREM", key, [member])) };
        Ok(Call::script(&script::DROP_NOTE, key.into(), vec![member, noted.get().cast_signed().into()]))
    }

    fn answer(&self, _done: Value) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Whether a user is in one of the two sets where those who like a post are looked for.
#[derive(Clone, Copy, Debug)]
pub struct IsLiker {
    /// Who likes what.
    pub like: Like,
    /// Whether to look into the part, or into the set before all parts.
    pub in_part: bool,
}

impl Operation for IsLiker {
    type Output = bool;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let Like { user, author, post } = self.like;
        let key = if self.in_part { keys.likes_part_of(author, post, user) } else { keys.likes(author, post) };
        Ok(Call::command("SISMEMBER", key, [user.get()]))
    }

    fn answer(&self, answer: Value) -> Result<bool, StoreError> {
        Ok(value::number::<u8>(&answer)? == 1)
    }
}

/// Commits a like. See `like.lua`.
#[derive(Clone, Copy, Debug)]
pub struct CommitLike {
    /// Who likes what.
    pub like: Like,
    /// The highest version seen of the author's partition.
    pub seen: Version,
}

/// What became of a [`CommitLike`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LikeOutcome {
    /// Whether it is new, and how things are now.
    Liked(bool, Likes),
    /// There is no such post.
    NoPost,
    /// The author is not active.
    Unavailable,
    /// The author blocks the user.
    Blocked,
}

/// How many like a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Likes {
    /// How many.
    pub count: u64,
    /// The version of the change, or the partition's last one if there was none.
    pub version: Version,
}

impl Operation for CommitLike {
    type Output = LikeOutcome;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let Like { user, author, post } = self.like;
        let mut names = liked_keys(keys, self.like);
        names.extend([keys.state(author), keys.blocking(author)]);
        let args =
            vec![version(self.seen), user.get().into(), author.get().into(), post.get().into(), Value::Integer(ROOM)];
        Ok(Call::script(&script::LIKE, SlotGroup::new(names)?, args))
    }

    fn answer(&self, answer: Value) -> Result<LikeOutcome, StoreError> {
        let (letter, likes) = letter_and_likes(answer)?;
        match value::text(&letter)? {
            "c" => Ok(LikeOutcome::Liked(true, likes)),
            "e" => Ok(LikeOutcome::Liked(false, likes)),
            "n" => Ok(LikeOutcome::NoPost),
            "u" => Ok(LikeOutcome::Unavailable),
            "b" => Ok(LikeOutcome::Blocked),
            _ => Err(value::unexpected("an outcome", &letter)),
        }
    }
}

/// Commits the end of a like. See `unlike.lua`.
#[derive(Clone, Copy, Debug)]
pub struct Unlike {
    /// Who liked what.
    pub like: Like,
    /// The highest version seen of the author's partition.
    pub seen: Version,
}

impl Operation for Unlike {
    /// Whether there was a like, and how things are now.
    type Output = (bool, Likes);

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let Like { user, author, post } = self.like;
        let args = vec![version(self.seen), user.get().into(), author.get().into(), post.get().into()];
        Ok(Call::script(&script::UNLIKE, SlotGroup::new(liked_keys(keys, self.like))?, args))
    }

    fn answer(&self, answer: Value) -> Result<(bool, Likes), StoreError> {
        let (letter, likes) = letter_and_likes(answer)?;
        Ok((value::text(&letter)? == "r", likes))
    }
}

/// What a change of a like reads and writes at the post's author.
fn liked_keys(keys: &Keyspace, Like { user, author, post }: Like) -> Vec<Key> {
    let partition = keys.partition(author);
    vec![
        keys.log(partition),
        keys.clock(partition),
        keys.post(author, post),
        keys.likes(author, post),
        keys.likes_part_of(author, post, user),
    ]
}

fn letter_and_likes(answer: Value) -> Result<(Value, Likes), StoreError> {
    let [letter, version, count] = value::array_of(answer)?;
    Ok((letter, Likes { count: value::number(&count)?, version: Version(value::number(&version)?) }))
}

/// Some of the posts that a user likes, by the user's notes, of one of the [`LIKED_PARTS`] parts.
#[derive(Clone, Copy, Debug)]
pub struct SomeLiked {
    /// Who.
    pub user: UserId,
    /// The number of the part.
    pub part: u8,
}

impl SomeLiked {
    /// One of each part.
    pub fn of(user: UserId) -> impl Iterator<Item = Self> {
        (0..LIKED_PARTS).map(move |part| Self { user, part })
    }
}

impl Operation for SomeLiked {
    /// None if the part is empty.
    type Output = Vec<Like>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("ZRANGE", keys.liked(self.user, self.part), [0, MOST_NOTES - 1]))
    }

    fn answer(&self, answer: Value) -> Result<Vec<Like>, StoreError> {
        let like = |member: &Value| {
            let entry = FeedEntry::of_member(Micros::MIN, value::bytes(member)?);
            let FeedEntry { post, author, .. } = entry.ok_or_else(|| value::unexpected("a post", member))?;
            Ok(Like { user: self.user, author, post })
        };
        value::array(answer)?.iter().map(like).collect()
    }
}

/// Whether a post was ever liked.
#[derive(Clone, Copy, Debug)]
pub struct WasLiked {
    /// Who published it.
    pub author: UserId,
    /// Its id.
    pub post: PostId,
}

impl Operation for WasLiked {
    type Output = bool;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        Ok(Call::command("HEXISTS", keys.post(self.author, self.post), ["likes"]))
    }

    fn answer(&self, answer: Value) -> Result<bool, StoreError> {
        Ok(value::number::<u8>(&answer)? == 1)
    }
}

/// One of the sets of those who like a post: the number of a part, or `None` for the set before all parts.
pub type LikerSet = Option<u16>;

/// Finds some of those who like a post, in some of its sets. See `some_likers.lua`.
#[derive(Clone, Copy, Debug)]
pub struct SomeLikers {
    /// Who published it.
    pub author: UserId,
    /// Its id.
    pub post: PostId,
    /// The first of the sets.
    pub first: LikerSet,
}

impl SomeLikers {
    /// Parts that are looked at together.
    const STEP: u16 = 512;

    /// All there are of a post.
    pub fn of(author: UserId, post: PostId) -> impl Iterator<Item = Self> {
        let parts = (0..LIKES_PARTS).step_by(usize::from(Self::STEP)).map(Some);
        std::iter::once(None).chain(parts).map(move |first| Self { author, post, first })
    }
}

impl Operation for SomeLikers {
    /// Of one set, at most 128; `None` if these sets are empty.
    type Output = Option<(LikerSet, Vec<UserId>)>;

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let &Self { author, post, first } = self;
        let names = match first {
            None => vec![keys.likes(author, post)],
            Some(first) => (first..first + Self::STEP).map(|number| keys.likes_part(author, post, number)).collect(),
        };
        Ok(Call::script(&script::SOME_LIKERS, SlotGroup::new(names)?, vec![Value::Integer(MOST_LIKERS)]))
    }

    fn answer(&self, answer: Value) -> Result<Self::Output, StoreError> {
        let told = value::array(answer)?;
        let Some((number, users)) = told.split_first() else { return Ok(None) };
        let number: u16 = value::number(number)?;
        let set = self.first.map(|first| first + number - 1);
        Ok(Some((set, users.iter().map(value::user).collect::<Result<_, _>>()?)))
    }
}

/// Takes users out of a set of those who like a post that is not there any more.
#[derive(Clone, Debug)]
pub struct ForgetLikers {
    /// Who published it.
    pub author: UserId,
    /// Its id.
    pub post: PostId,
    /// Which set.
    pub set: LikerSet,
    /// Whom, at least one.
    pub users: Vec<UserId>,
}

impl Operation for ForgetLikers {
    type Output = ();

    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError> {
        let key = match self.set {
            None => keys.likes(self.author, self.post),
            Some(number) => keys.likes_part(self.author, self.post, number),
        };
        Ok(Call::command("SREM", key, self.users.iter().map(|user| user.get())))
    }

    fn answer(&self, _removed: Value) -> Result<(), StoreError> {
        Ok(())
    }
}
